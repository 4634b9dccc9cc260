// SPDX-License-Identifier: Apache-2.0
// cache: the first run that reaches the end keeps all elements in memory, for all later runs. Which run that is depends
// on how far a prefetching thread above gets. So all runs are told to give the same elements in the same order, and the
// dataset's elements depend on no thread's speed.
#include "data/transforms.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace mdist {
namespace {

using Elements = std::vector<Element>;

class Cache final : public Streamed<Cache, class CacheStream, Transform> {
  public:
    explicit Cache(const Source &source) : Streamed(source, source->spec()) {}

    std::shared_ptr<const Dataset> with_sources(const Sources &sources) const override {
        return std::make_shared<Cache>(sources[0]);
    }
    Traits traits() const override { return {.text = "cache", .keeps_batch_size = true}; }
    std::optional<uint64_t> size() const override { return source().size(); }

    /// Returns the kept elements; null until some run has reached the end.
    std::shared_ptr<const Elements> kept() const {
        const std::lock_guard lock(mutex_);
        return kept_;
    }
    /// Keeps `all`. If several runs reach the end, the elements of the first stay.
    void keep(const std::shared_ptr<const Elements> &all) const {
        const std::lock_guard lock(mutex_);
        if (kept_ == nullptr) kept_ = all;
    }

  private:
    mutable std::mutex mutex_;
    mutable std::shared_ptr<const Elements> kept_;
};

/// Describes `iteration` to the streams that a cache keeps.
Iteration alike(Iteration iteration) {
    iteration.alike = true;
    return iteration;
}

class CacheStream final : public Stream {
  public:
    CacheStream(std::shared_ptr<const Cache> dataset, const Iteration &iteration)
        : Stream(iteration),
          dataset_(std::move(dataset)),
          stop_(iteration.stop),
          upstream_(dataset_->source().open(alike(iteration))),
          kept_(dataset_->kept()) {}

  private:
    bool produce(Element &out) override {
        if (kept_ != nullptr) {
            if (at_ == kept_->size()) return false;
            out = (*kept_)[at_++];
            return true;
        }
        if (upstream_->next(out)) return own_.push_back(out), true;
        if (stop_ == nullptr || !stop_->requested())
            dataset_->keep(std::make_shared<const Elements>(std::exchange(own_, {})));
        return false;
    }
    uint64_t leap(uint64_t count, Element &scratch) override {
        if (kept_ == nullptr) return Stream::leap(count, scratch); // the elements must be made, to be kept
        const uint64_t done = std::min<uint64_t>(count, kept_->size() - at_);
        at_ += static_cast<std::size_t>(done);
        return done;
    }

    void rewind() override {
        own_.clear();
        at_ = 0;
        if (kept_ == nullptr) kept_ = dataset_->kept();
        if (kept_ == nullptr) upstream_->restart();
    }

    std::shared_ptr<const Cache> dataset_;
    std::shared_ptr<const Stop> stop_; // upstream may end only because of this; that is not the real end
    std::unique_ptr<Stream> upstream_;
    std::shared_ptr<const Elements> kept_;
    std::size_t at_ = 0; // index in kept_
    Elements own_;       // elements of this run so far, if it has no kept_
};

} // namespace

std::shared_ptr<Dataset> make_cache(const Source &source) {
    return std::make_shared<Cache>(source);
}

} // namespace mdist
