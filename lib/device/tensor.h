// SPDX-License-Identifier: Apache-2.0
// Tensor: a dense array that shares ownership of its memory. Copying a Tensor copies the reference, not the elements.
//
// Rows are the slices along the first dimension. `rows(begin, end)` is a view into the same memory. Whoever fills a
// tensor does so before handing it on; after that its elements never change, so any thread may read it.
#pragma once

#include "device/device.h"
#include "util/dtype.h"
#include "util/shape.h"

#include <mdist/tensor.h>

namespace mdist {

class Tensor {
  public:
    Tensor() = default;

    /// Allocates a tensor on `device`; its content is undefined.
    static Tensor allocate(Device &device, int32_t dtype, const Shape &shape);
    static Tensor zeros(Device &device, int32_t dtype, const Shape &shape);
    /// Copies a caller's host tensor to `device`; makes zeros if its data is NULL. Throws INVALID_ARGUMENT naming
    /// `what`.
    static Tensor copy_of(Device &device, const mdist_tensor_t &tensor, const char *what);
    /// Makes a view of memory that `owner` keeps alive. `owner` may be empty; then the caller keeps the memory alive.
    static Tensor view(void *data, int32_t dtype, const Shape &shape, Memory owner, Place place = {});

    bool defined() const { return dtype_ != 0; }
    int32_t dtype() const { return dtype_; }
    const Shape &shape() const { return shape_; }
    void *data() const { return data_; }
    uint64_t elements() const { return elements_; }
    std::size_t bytes() const { return elements_ * dtype_size(dtype_); }
    const Memory &owner() const { return owner_; }
    const Place &place() const { return place_; }
    bool on_host() const { return place_.on_host(); }

    /// Rows [begin, end) along the first dimension, which the tensor must have.
    Tensor rows(uint64_t begin, uint64_t end) const;
    /// Row `index`, without the first dimension.
    Tensor row(uint64_t index) const;

    /// The tensor as callers see it, with its place. All zero for an undefined tensor.
    mdist_tensor_t describe() const;
    mdist_buffer_t buffer() const { return {data_, elements_, dtype_, 0}; }

  private:
    // The long shape comes last, so that all that a call asks of a tensor lies in one line of the cache or two.
    Memory owner_;
    void *data_ = nullptr;
    uint64_t elements_ = 0;
    Place place_;
    int32_t dtype_ = 0;
    Shape shape_;
};

} // namespace mdist
