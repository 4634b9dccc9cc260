// SPDX-License-Identifier: Apache-2.0
// Random order, through a buffer.
#include "data/random.h"
#include "data/transforms.h"
#include "util/failure.h"
#include "util/text.h"

#include <algorithm>
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
    Random order(uint64_t iterator, uint64_t epoch) const {
        return reshuffle_ ? Random{seed_, iterator, epoch} : Random{seed_, 0, 0};
    }
    uint64_t number_in(const Iteration &iteration) const {
        if (!reshuffle_) return 0;
        return iteration.series != nullptr ? iteration.series->next(iterators_) : iterators_->fetch_add(1);
    }

  private:
    uint64_t buffer_size_;
    uint64_t seed_;
    bool reshuffle_;
    // Counted when an iterator is made, in the caller's thread; epochs within it are counted by the stream. So the
    // numbers do not depend on how far a prefetching thread happened to get.
    std::shared_ptr<Counter> iterators_ = std::make_shared<Counter>(0);
};

class ShuffleStream final : public Stream {
  public:
    ShuffleStream(std::shared_ptr<const Shuffle> dataset, std::unique_ptr<Stream> upstream, uint64_t iterator,
                  const Iteration &iteration)
        : Stream(iteration),
          dataset_(std::move(dataset)),
          upstream_(std::move(upstream)),
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

/// The same, of rows of one block: their numbers alone are stirred, by the same draws.
class ShuffleRowsStream final : public Stream {
  public:
    ShuffleRowsStream(std::shared_ptr<const Shuffle> dataset, std::unique_ptr<Stream> upstream, uint64_t iterator,
                      const Iteration &iteration)
        : Stream(iteration),
          dataset_(std::move(dataset)),
          upstream_(std::move(upstream)),
          block_(upstream_->block()),
          iterator_(iterator),
          random_(dataset_->order(iterator, 0)) {}

  private:
    static constexpr std::size_t kChunk = 256;

    bool produce(Element &out) override {
        uint64_t row = 0;
        if (produce_rows(&row, 1) == 0) return false;
        out.set_row(block_, row);
        return true;
    }
    std::shared_ptr<const Block> block() const override { return block_; }
    std::size_t produce_rows(uint64_t *rows, std::size_t most) override {
        fill();
        std::size_t count = 0;
        while (count < most && !drained_) count += exchange(rows + count, most - count);
        for (; count < most && !buffer_.empty(); buffer_.pop_back())
            rows[count++] = std::exchange(buffer_[random_.below(buffer_.size())], buffer_.back());
        return count;
    }

    uint64_t leap(uint64_t count, Element &) override {
        uint64_t rows[kChunk], done = 0;
        for (std::size_t here = 1; here != 0 && done < count; done += here)
            here = produce_rows(rows, static_cast<std::size_t>(std::min<uint64_t>(kChunk, count - done)));
        return done;
    }

    /// Rows from upstream. Small ones are fetched to the processor's cache in the order in which they lie, where they
    /// stay until they are drawn from a small buffer: fetched then, each would be waited for.
    std::size_t take(uint64_t *rows, std::size_t most) {
        constexpr std::size_t kSmallRow = 64, kSmallBuffer = 256 << 10;
        const std::size_t count = upstream_->next_rows(rows, most);
        for (std::size_t component = 0; component < block_->count(); ++component) {
            const Block::Part &part = block_->part(component);
            const char *array = static_cast<const char *>(part.tensor.data());
            if (part.row_bytes > kSmallRow ||
                dataset_->buffer_size() > kSmallBuffer / std::max<std::size_t>(part.row_bytes, 1))
                continue;
            for (std::size_t i = 0; i < count; ++i) __builtin_prefetch(array + rows[i] * part.row_bytes);
        }
        return count;
    }

    void fill() {
        while (!drained_ && buffer_.size() < dataset_->buffer_size()) {
            const std::size_t filled = buffer_.size();
            buffer_.resize(filled + std::min<uint64_t>(kChunk, dataset_->buffer_size() - filled));
            const std::size_t count = take(&buffer_[filled], buffer_.size() - filled);
            buffer_.resize(filled + count);
            drained_ = count == 0;
        }
    }

    /// From a full buffer, into which one comes for each that goes.
    std::size_t exchange(uint64_t *rows, std::size_t most) {
        uint64_t fresh[kChunk];
        const std::size_t count = take(fresh, std::min(most, kChunk));
        Random random = random_; // in registers, as nothing else can change it
        const std::size_t size = buffer_.size();
        for (std::size_t i = 0; i < count; ++i) {
            rows[i] = std::exchange(buffer_[random.below(size)], buffer_[size - 1]);
            buffer_[size - 1] = fresh[i];
        }
        random_ = random;
        drained_ = count == 0;
        return count;
    }

    void rewind() override {
        upstream_->restart();
        random_ = dataset_->order(iterator_, ++epoch_);
        buffer_.clear();
        drained_ = false;
    }

    std::shared_ptr<const Shuffle> dataset_;
    std::unique_ptr<Stream> upstream_;
    std::shared_ptr<const Block> block_;
    uint64_t iterator_;
    uint64_t epoch_ = 0;
    Random random_;
    std::vector<uint64_t> buffer_;
    bool drained_ = false; // upstream has ended
};

std::unique_ptr<Stream> Shuffle::open(const Iteration &iteration) const {
    const uint64_t iterator = number_in(iteration);
    std::unique_ptr<Stream> upstream = source().open(iteration);
    if (upstream->block() != nullptr)
        return std::make_unique<ShuffleRowsStream>(self(*this), std::move(upstream), iterator, iteration);
    return std::make_unique<ShuffleStream>(self(*this), std::move(upstream), iterator, iteration);
}

} // namespace

std::shared_ptr<Dataset> make_shuffle(Source source, uint64_t buffer_size, uint64_t seed, bool reshuffle) {
    if (buffer_size == 0) throw invalid("a shuffle buffer of 0 elements; it needs 1 or more (1 keeps the order)");
    return std::make_shared<Shuffle>(std::move(source), buffer_size, seed, reshuffle);
}

} // namespace mdist
