// SPDX-License-Identifier: Apache-2.0
// Element: what travels through a pipeline. Three words, however many components it has: a shared block and a row.
//
// A block holds one tensor per component. An element is either all of a block, or one row of each of its tensors. So
// the rows of arrays in memory share one block, a buffer of a million of them stays small, rows that lie next to each
// other are found by comparing numbers, and overwriting an element by another of its block touches no reference count.
// Blocks never change; elements may be read from any thread, and keep their memory alive.
#pragma once

#include "device/tensor.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace mdist {

/// Rows of each replica of a job in one step, by id.
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
    /// All of a block made of these.
    explicit Element(std::vector<Tensor> tensors);
    explicit Element(Tensor tensor);
    /// What one replica gets of a batch that all workers see, which so know everybody's rows of it.
    Element(std::vector<Tensor> tensors, std::shared_ptr<const StepRows> step_rows);

    /// Becomes row `row` of every tensor of `block`.
    void set_row(const std::shared_ptr<const Block> &block, uint64_t row) {
        if (block_ != block) block_ = block;
        row_ = row;
    }

    /// Becomes row `row` of `whole`, which is no row itself.
    void set_row_of(const Element &whole, uint64_t row) { set_row(whole.block_, row); }

    /// Between rows of one block, which is usual, it is no more than two numbers that change places.
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
    /// The component as a tensor of its own.
    Tensor tensor(std::size_t component) const {
        return is_row() ? part(component).tensor.row(row_) : part(component).tensor;
    }

    /// Null where the element was not made with them.
    std::shared_ptr<const StepRows> step_rows() const { return block_ && !is_row() ? block_->step_rows() : nullptr; }

    /// Which row it is, if it is one.
    uint64_t row() const { return row_; }
    /// Whether this is the row `distance` after the row `other` in the same memory.
    bool follows(const Element &other, uint64_t distance) const {
        return is_row() && other.is_row() && block_ == other.block_ && row_ == other.row_ + distance;
    }
    /// Whether that alone says that all components have equal shapes.
    bool same_rows(const Element &other) const { return is_row() && other.is_row() && block_ == other.block_; }

  private:
    static constexpr uint64_t kWhole = UINT64_MAX;

    const Block::Part &part(std::size_t component) const { return block_->part(component); }

    std::shared_ptr<const Block> block_;
    uint64_t row_ = kWhole;
};

} // namespace mdist
