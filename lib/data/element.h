// SPDX-License-Identifier: Apache-2.0
// Element: one element of a dataset on its way through the transforms. It is a shared block and a row number: three
// words, however many components it has.
//
// A block holds one tensor per component. An element is either a whole block, or one row of each of its tensors.
// Therefore:
// - the rows of arrays in memory share one block, and a buffer of a million of them stays small;
// - comparing numbers finds rows that lie next to each other;
// - overwriting an element with another of the same block touches no reference count.
// Blocks never change. Any thread may read an element. An element keeps its memory alive.
#pragma once

#include "device/tensor.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace mdist {

/// The rows of each replica of a job in one step, by id.
using StepRows = std::vector<uint64_t>;

class Block {
  public:
    struct Part {
        Tensor tensor;
        Shape row_shape;       // meaningless for a scalar
        std::size_t row_bytes; // likewise
    };

    explicit Block(std::vector<Tensor> tensors, std::shared_ptr<const StepRows> step_rows = nullptr);
    explicit Block(Tensor tensor) { add(std::move(tensor)); }

    std::size_t count() const { return parts_.size(); }
    const Part &part(std::size_t component) const { return parts_[component]; }
    const std::shared_ptr<const StepRows> &step_rows() const { return step_rows_; }

  private:
    void add(Tensor tensor);

    std::vector<Part> parts_;
    std::shared_ptr<const StepRows> step_rows_ = nullptr;
};

class Element {
  public:
    Element() = default;
    /// Becomes the whole of a new block of `tensors`.
    explicit Element(std::vector<Tensor> tensors);
    explicit Element(Tensor tensor);
    /// The part of a batch that one replica gets. All workers see the batch, so they know the rows of every replica.
    Element(std::vector<Tensor> tensors, std::shared_ptr<const StepRows> step_rows);

    /// Becomes row `row` of every tensor of `block`.
    void set_row(const std::shared_ptr<const Block> &block, uint64_t row) {
        if (block_ != block) block_ = block;
        row_ = row;
    }

    /// Becomes row `row` of `whole`, which must not be a row itself.
    void set_row_of(const Element &whole, uint64_t row) { set_row(whole.block_, row); }

    /// Swaps the two. Between rows of one block, the usual case, this only swaps two numbers.
    void swap(Element &other) noexcept {
        if (block_ != other.block_) block_.swap(other.block_);
        std::swap(row_, other.row_);
    }

    bool is_row() const { return row_ != kWhole; }
    std::size_t count() const { return block_ ? block_->count() : 0; }
    const Shape &shape(std::size_t component) const {
        return is_row() ? part(component).row_shape : part(component).tensor.shape();
    }
    int32_t dtype(std::size_t component) const { return part(component).tensor.dtype(); }
    const char *data(std::size_t component) const {
        const Block::Part &from = part(component);
        const char *begin = static_cast<const char *>(from.tensor.data());
        return is_row() ? begin + row_ * from.row_bytes : begin;
    }
    std::size_t bytes(std::size_t component) const {
        return is_row() ? part(component).row_bytes : part(component).tensor.bytes();
    }
    /// Returns the component as a tensor of its own.
    Tensor tensor(std::size_t component) const {
        return is_row() ? part(component).tensor.row(row_) : part(component).tensor;
    }

    /// Null if the element was not made with them.
    std::shared_ptr<const StepRows> step_rows() const { return block_ && !is_row() ? block_->step_rows() : nullptr; }

    /// Returns which row it is, if it is one.
    uint64_t row() const { return row_; }
    /// Tells whether this row lies `distance` rows after the row `other` in the same block.
    bool follows(const Element &other, uint64_t distance) const {
        return is_row() && other.is_row() && block_ == other.block_ && row_ == other.row_ + distance;
    }
    /// Tells whether both are rows of one block, so that all their components have equal shapes.
    bool same_rows(const Element &other) const { return is_row() && other.is_row() && block_ == other.block_; }

  private:
    static constexpr uint64_t kWhole = UINT64_MAX;

    const Block::Part &part(std::size_t component) const { return block_->part(component); }

    std::shared_ptr<const Block> block_;
    uint64_t row_ = kWhole;
};

} // namespace mdist
