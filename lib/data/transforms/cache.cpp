// SPDX-License-Identifier: Apache-2.0
// Elements kept in memory by the first run through them that comes to its end, for all later ones.
#include "data/transforms.h"
#include "util/failure.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace mdist {
namespace {

using Elements = std::vector<Element>;

class Cache final : public Transform {
  public:
    explicit Cache(const Source &source) : Transform(source, source->spec()) {}

    std::unique_ptr<Stream> open(const Iteration &iteration) const override;
    std::shared_ptr<const Dataset> with_sources(const Sources &sources) const override {
        return std::make_shared<Cache>(sources[0]);
    }
    Traits traits() const override { return {.text = "cache", .keeps_batch_size = true}; }
    std::optional<uint64_t> size() const override { return source().size(); }

    /// Null until some run has come to its end.
    std::shared_ptr<const Elements> kept() const {
        const std::lock_guard lock(mutex_);
        return kept_;
    }
    /// Of several that came to their ends at one time, the first's elements stay.
    void keep(const std::shared_ptr<const Elements> &all) const {
        const std::lock_guard lock(mutex_);
        if (kept_ == nullptr) kept_ = all;
    }

  private:
    mutable std::mutex mutex_;
    mutable std::shared_ptr<const Elements> kept_;
};

class CacheStream final : public Stream {
  public:
    CacheStream(std::shared_ptr<const Cache> dataset, const Iteration &iteration)
        : Stream(iteration), dataset_(std::move(dataset)), stop_(iteration.stop), series_(iteration.series) {
        const std::size_t before = shuffles();
        // Also if nobody will read it: shuffles below count iterators.
        upstream_ = dataset_->source().open(iteration);
        shuffled_ = shuffles() != before;
        use_kept();
    }

  private:
    bool produce(Element &out) override {
        if (kept_ != nullptr) {
            if (at_ == kept_->size()) return false;
            out = (*kept_)[at_++];
            return true;
        }
        if (upstream_->next(out)) return own_.push_back(out), true;
        if (stop_ == nullptr || !stop_->requested())
            dataset_->keep(ours_ = std::make_shared<const Elements>(std::exchange(own_, {})));
        return false;
    }
    uint64_t leap(uint64_t count, Element &scratch) override {
        if (kept_ == nullptr) return Stream::leap(count, scratch); // they are to be kept
        const uint64_t done = std::min<uint64_t>(count, kept_->size() - at_);
        at_ += static_cast<std::size_t>(done);
        return done;
    }

    void rewind() override {
        own_.clear();
        at_ = 0;
        if (kept_ == nullptr) use_kept();
        if (kept_ == nullptr) upstream_->restart();
    }

    /// What another iteration has kept is in an order of its own where a shuffle is below: one that was restored does
    /// without it, and what follows it can't be told to one that will be.
    void use_kept() {
        kept_ = dataset_->kept();
        if (!shuffled_ || kept_ == ours_) return;
        if (series_->restored())
            kept_ = ours_;
        else
            series_->refuse(inexact());
    }
    static Failure inexact() {
        return Failure(MDIST_ERR_FAILED_PRECONDITION,
                       "the iterator gives elements that another one has shuffled and mdist_dataset_cache has kept; to "
                       "save iterators, put the cache before mdist_dataset_shuffle")
            .reason("unordered");
    }
    std::size_t shuffles() const { return series_ == nullptr ? 0 : series_->numbers().size(); }

    std::shared_ptr<const Cache> dataset_;
    std::shared_ptr<const Stop> stop_; // an end on its account is none
    std::shared_ptr<Series> series_;
    std::unique_ptr<Stream> upstream_;
    bool shuffled_ = false; // anew in each iteration
    std::shared_ptr<const Elements> kept_;
    std::size_t at_ = 0;                   // in kept_
    Elements own_;                         // of a run without kept_
    std::shared_ptr<const Elements> ours_; // of one that came to its end
};

std::unique_ptr<Stream> Cache::open(const Iteration &iteration) const {
    return std::make_unique<CacheStream>(self(*this), iteration);
}

} // namespace

std::shared_ptr<Dataset> make_cache(const Source &source) {
    return std::make_shared<Cache>(source);
}

} // namespace mdist
