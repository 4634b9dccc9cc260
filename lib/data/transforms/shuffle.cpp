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

/// The same for rows of one block. It shuffles only their numbers, by the same draws.
class ShuffleRowsStream final : public Stream {
  public:
    ShuffleRowsStream(std::shared_ptr<const Shuffle> dataset, std::unique_ptr<Stream> upstream, Orders orders,
                      const Iteration &iteration)
        : Stream(iteration),
          dataset_(std::move(dataset)),
          upstream_(std::move(upstream)),
          block_(upstream_->block()),
          orders_(orders),
          random_(orders_.next()) {}

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

    /// Takes row numbers from upstream. If rows and buffer are small, it prefetches the rows into the processor's
    /// cache, in the order in which they lie. They stay there until they are drawn. Fetched only then, each would cost
    /// a wait.
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

    /// Draws from a full buffer. One row comes in for each that goes out.
    std::size_t exchange(uint64_t *rows, std::size_t most) {
        uint64_t fresh[kChunk];
        const std::size_t count = take(fresh, std::min(most, kChunk));
        Random random = random_; // a local copy stays in registers: nothing else can change it
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
        random_ = orders_.next();
        buffer_.clear();
        drained_ = false;
    }

    std::shared_ptr<const Shuffle> dataset_;
    std::unique_ptr<Stream> upstream_;
    std::shared_ptr<const Block> block_;
    Orders orders_;
    Random random_;
    std::vector<uint64_t> buffer_;
    bool drained_ = false; // upstream has ended
};

std::unique_ptr<Stream> Shuffle::open(const Iteration &iteration) const {
    const Orders order = orders(iteration); // before the streams below: a saved position counts from here down
    std::unique_ptr<Stream> upstream = source().open(iteration);
    if (upstream->block() != nullptr)
        return std::make_unique<ShuffleRowsStream>(self(*this), std::move(upstream), order, iteration);
    return std::make_unique<ShuffleStream>(self(*this), std::move(upstream), order, iteration);
}

} // namespace

std::shared_ptr<Dataset> make_shuffle(Source source, uint64_t buffer_size, uint64_t seed, bool reshuffle) {
    if (buffer_size == 0) throw invalid("buffer_size is 0; it must be 1 or more (1 keeps the order)");
    return std::make_shared<Shuffle>(std::move(source), buffer_size, seed, reshuffle);
}

} // namespace mdist
