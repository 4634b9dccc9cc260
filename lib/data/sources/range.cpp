// SPDX-License-Identifier: Apache-2.0
// Datasets of equally spaced numbers.
#include "data/sources.h"
#include "util/failure.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

class Range final : public Streamed<Range, class RangeStream, Dataset> {
  public:
    Range(int64_t start, int64_t step, uint64_t count)
        : Streamed({Spec{MDIST_INT64, Shape()}}), start_(start), step_(step), count_(count) {}

    Traits traits() const override {
        return {.text = text("range(", count_, " numbers from ", start_, ", step ", step_, ")")};
    }
    std::optional<uint64_t> size() const override { return count_; }
    bool borrows() const override { return false; }
    /// Computes with unsigned numbers, which wrap around: the signed product might not fit although the sum does.
    int64_t at(uint64_t index) const {
        return static_cast<int64_t>(static_cast<uint64_t>(start_) + index * static_cast<uint64_t>(step_));
    }

  private:
    int64_t start_;
    int64_t step_;
    uint64_t count_;
};

class RangeStream final : public Stream {
  public:
    RangeStream(std::shared_ptr<const Range> dataset, const Iteration &iteration)
        : Stream(iteration), dataset_(std::move(dataset)), count_(*dataset_->size()) {}

  private:
    // The numbers are rows of blocks. So consecutive ones need no memory of their own, and no copy each.
    static constexpr uint64_t kBlock = 512;

    bool produce(Element &out) override {
        if (next_ == count_) return false;
        const uint64_t row = next_ % kBlock;
        if (block_ == nullptr || next_ - row != block_begin_) block_ = make_block(block_begin_ = next_ - row);
        out.set_row(block_, row);
        ++next_;
        return true;
    }
    bool leave_out(uint64_t count, Element &scratch) override { return leap(count, scratch) == count; }
    uint64_t leap(uint64_t count, Element &) override {
        const uint64_t done = std::min(count, count_ - next_);
        next_ += done;
        return done;
    }

    std::shared_ptr<const Block> make_block(uint64_t begin) const {
        Shape shape;
        shape.rank = 1;
        shape.dims[0] = std::min(kBlock, count_ - begin);
        Tensor numbers = Tensor::allocate(*host(), MDIST_INT64, shape);
        auto *to = static_cast<int64_t *>(numbers.data());
        for (uint64_t i = 0; i < shape.dims[0]; ++i) to[i] = dataset_->at(begin + i);
        return std::make_shared<const Block>(std::move(numbers));
    }

    void rewind() override { next_ = 0; }

    std::shared_ptr<const Range> dataset_;
    uint64_t count_;
    uint64_t next_ = 0;
    std::shared_ptr<const Block> block_;
    uint64_t block_begin_ = 0; // the number of its first row
};

uint64_t distance(int64_t low, int64_t high) {
    return static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
}

} // namespace

std::shared_ptr<Dataset> make_range(int64_t start, int64_t stop, int64_t step) {
    if (step == 0) throw invalid("a range with step 0 has no end; step must be other than 0");
    const uint64_t way =
        step > 0 ? (start < stop ? distance(start, stop) : 0) : (stop < start ? distance(stop, start) : 0);
    const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
    return std::make_shared<Range>(start, step, way / stride + (way % stride != 0 ? 1 : 0));
}

} // namespace mdist
