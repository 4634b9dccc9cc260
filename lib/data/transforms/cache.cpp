// SPDX-License-Identifier: Apache-2.0
// Elements kept in memory by the first run through them that comes to its end, for all later ones.
#include "data/transforms.h"

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
    void keep(Elements elements) const {
        auto all = std::make_shared<const Elements>(std::move(elements));
        const std::lock_guard lock(mutex_);
        if (kept_ == nullptr) kept_ = std::move(all);
    }

  private:
    mutable std::mutex mutex_;
    mutable std::shared_ptr<const Elements> kept_;
};

class CacheStream final : public Stream {
  public:
    CacheStream(std::shared_ptr<const Cache> dataset, const Iteration &iteration)
        : Stream(iteration),
          dataset_(std::move(dataset)),
          stop_(iteration.stop),
          // Also if nobody will read it: shuffles below count iterators.
          upstream_(dataset_->source().open(iteration)),
          kept_(dataset_->kept()) {}

  private:
    bool produce(Element &out) override {
        if (kept_ != nullptr) {
            if (at_ == kept_->size()) return false;
            out = (*kept_)[at_++];
            return true;
        }
        if (upstream_->next(out)) return own_.push_back(out), true;
        if (stop_ == nullptr || !stop_->requested()) dataset_->keep(std::exchange(own_, {}));
        return false;
    }

    void rewind() override {
        own_.clear();
        at_ = 0;
        kept_ = dataset_->kept();
        if (kept_ == nullptr) upstream_->restart();
    }

    std::shared_ptr<const Cache> dataset_;
    std::shared_ptr<const Stop> stop_; // an end on its account is none
    std::unique_ptr<Stream> upstream_;
    std::shared_ptr<const Elements> kept_;
    std::size_t at_ = 0; // in kept_
    Elements own_;       // of a run without kept_
};

std::unique_ptr<Stream> Cache::open(const Iteration &iteration) const {
    return std::make_unique<CacheStream>(self(*this), iteration);
}

} // namespace

std::shared_ptr<Dataset> make_cache(const Source &source) {
    return std::make_shared<Cache>(source);
}

} // namespace mdist
