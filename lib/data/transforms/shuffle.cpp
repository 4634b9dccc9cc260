// SPDX-License-Identifier: Apache-2.0
// shuffle: gives elements in random order, through a buffer.
#include "data/random.h"
#include "data/transforms.h"
#include "util/failure.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

/// The orders that one iteration takes, epoch by epoch.
class Orders {
  public:
    /// The first order each time.
    explicit Orders(uint64_t seed) : seed_(seed) {}
    Orders(uint64_t seed, uint64_t iterator) : seed_(seed), iterator_(iterator), reshuffle_(true) {}

    Random next() { return Random{seed_, iterator_, reshuffle_ ? epoch_++ : 0}; }

  private:
    uint64_t seed_;
    uint64_t iterator_ = 0;
    uint64_t epoch_ = 0;
    bool reshuffle_ = false;
};

class Shuffle final : public Transform {
  public:
    Shuffle(Source source, uint64_t buffer_size, uint64_t seed, bool reshuffle)
        : Transform(source, source->spec()),
          // The buffer is no larger than the source. If this shuffle is later put over an endless source, a larger one
          // would fill forever.
          buffer_size_(std::min(buffer_size, std::max<uint64_t>(source->size().value_or(UINT64_MAX), 1))),
          seed_(seed),
          reshuffle_(reshuffle) {}

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
    /// Returns the orders of an iteration, one for each of its epochs.
    Orders orders(const Iteration &iteration) const {
        if (!reshuffle_ || iteration.alike) return Orders(seed_);
        return {seed_, iteration.series != nullptr ? iteration.series->next(iterators_) : iterators_->fetch_add(1)};
    }

  private:
    uint64_t buffer_size_;
    uint64_t seed_;
    bool reshuffle_;
    // Counts iterators when they are made, in the caller's thread. The stream counts the epochs within an iterator. So
    // the numbers do not depend on how far a prefetching thread happened to get.
    std::shared_ptr<Counter> iterators_ = std::make_shared<Counter>(0);
};

class ShuffleStream final : public Stream {
  public:
    ShuffleStream(std::shared_ptr<const Shuffle> dataset, std::unique_ptr<Stream> upstream, Orders orders,
                  const Iteration &iteration)
        : Stream(iteration),
          dataset_(std::move(dataset)),
          upstream_(std::move(upstream)),
          orders_(orders),
          random_(orders_.next()) {}

  private:
    bool produce(Element &out) override {
        fill();
        if (filled_ == 0) return false;
        buffer_[random_.below(filled_)].swap(buffer_[filled_ - 1]);
        --filled_;
        // The caller's old element in `out` goes to the free place, where the next fill overwrites it. It is mostly
        // another row of the same block, so no reference is counted.
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
        random_ = orders_.next();
        filled_ = 0;
        drained_ = false;
    }

    std::shared_ptr<const Shuffle> dataset_;
    std::unique_ptr<Stream> upstream_;
    Orders orders_;
    Random random_;
    std::vector<Element> buffer_; // the first filled_ hold elements
    std::size_t filled_ = 0;
    bool drained_ = false; // upstream has ended
};

std::unique_ptr<Stream> Shuffle::open(const Iteration &iteration) const {
    const Orders order = orders(iteration); // before the streams below: a saved position counts from here down
    return std::make_unique<ShuffleStream>(self(*this), source().open(iteration), order, iteration);
}

} // namespace

std::shared_ptr<Dataset> make_shuffle(Source source, uint64_t buffer_size, uint64_t seed, bool reshuffle) {
    if (buffer_size == 0) throw invalid("buffer_size is 0; it must be 1 or more (1 keeps the order)");
    return std::make_shared<Shuffle>(std::move(source), buffer_size, seed, reshuffle);
}

} // namespace mdist
