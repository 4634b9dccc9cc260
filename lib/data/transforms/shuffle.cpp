// SPDX-License-Identifier: Apache-2.0
// Random order, through a buffer.
#include "data/random.h"
#include "data/transforms.h"
#include "util/failure.h"
#include "util/text.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace mdist {
namespace {

class Shuffle final : public Transform {
  public:
    Shuffle(Source source, uint64_t buffer_size, uint64_t seed, bool reshuffle)
        : Transform(source, source->spec()),
          // More than there are: should this come to stand over an endless source, it would fill for ever.
          buffer_size_(std::min(buffer_size, std::max<uint64_t>(source->size().value_or(UINT64_MAX), 1))),
          seed_(seed),
          reshuffle_(reshuffle),
          iterators_(std::make_shared<std::atomic<uint64_t>>(0)) {}

    std::unique_ptr<Stream> open(const Iteration &iteration) const override;
    std::shared_ptr<const Dataset> with_sources(const Sources &sources) const override {
        auto other = std::make_shared<Shuffle>(sources[0], buffer_size_, seed_, reshuffle_);
        other->iterators_ = iterators_;
        return other;
    }
    Traits traits() const override {
        return {.text = text("shuffle(", buffer_size_, ", seed ", seed_, reshuffle_ ? ")" : ", every time alike)"),
                .role = Traits::Role::kShuffle,
                .keeps_batch_size = true};
    }
    std::optional<uint64_t> size() const override { return source().size(); }
    uint64_t buffer_size() const { return buffer_size_; }
    Random order(uint64_t iterator, uint64_t epoch) const {
        return reshuffle_ ? Random{seed_, iterator, epoch} : Random{seed_, 0, 0};
    }

  private:
    uint64_t buffer_size_;
    uint64_t seed_;
    bool reshuffle_;
    // Counted when an iterator is made, in the caller's thread; epochs within it are counted by the stream. So the
    // numbers do not depend on how far a prefetching thread happened to get.
    std::shared_ptr<std::atomic<uint64_t>> iterators_;
};

class ShuffleStream final : public Stream {
  public:
    ShuffleStream(std::shared_ptr<const Shuffle> dataset, uint64_t iterator, const Iteration &iteration)
        : Stream(iteration),
          dataset_(std::move(dataset)),
          upstream_(dataset_->source().open(iteration)),
          iterator_(iterator),
          random_(dataset_->order(iterator, 0)) {}

  private:
    bool produce(Element &out) override {
        fill();
        if (filled_ == 0) return false;
        buffer_[random_.below(filled_)].swap(buffer_[filled_ - 1]);
        --filled_;
        // What the caller had in `out` goes to the free place: mostly another row of the same block, so that no
        // reference is counted. The next fill overwrites it.
        out.swap(buffer_[filled_]);
        if (drained_) buffer_.resize(filled_);
        return true;
    }

    void fill() {
        while (!drained_ && filled_ < dataset_->buffer_size()) {
            if (filled_ == buffer_.size()) buffer_.emplace_back();
            if (upstream_->next(buffer_[filled_]))
                ++filled_;
            else
                drained_ = true;
        }
    }

    void rewind() override {
        upstream_->restart();
        random_ = dataset_->order(iterator_, ++epoch_);
        filled_ = 0;
        drained_ = false;
    }

    std::shared_ptr<const Shuffle> dataset_;
    std::unique_ptr<Stream> upstream_;
    uint64_t iterator_;
    uint64_t epoch_ = 0;
    Random random_;
    std::vector<Element> buffer_; // the first filled_ are in stock
    std::size_t filled_ = 0;
    bool drained_ = false; // upstream has ended
};

std::unique_ptr<Stream> Shuffle::open(const Iteration &iteration) const {
    return std::make_unique<ShuffleStream>(self(*this), iterators_->fetch_add(1, std::memory_order_relaxed), iteration);
}

} // namespace

std::shared_ptr<Dataset> make_shuffle(Source source, uint64_t buffer_size, uint64_t seed, bool reshuffle) {
    if (buffer_size == 0) throw invalid("a shuffle buffer of 0 elements; it needs 1 or more (1 keeps the order)");
    return std::make_shared<Shuffle>(std::move(source), buffer_size, seed, reshuffle);
}

} // namespace mdist
