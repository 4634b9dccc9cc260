// SPDX-License-Identifier: Apache-2.0
// Tensor: a dense array that shares ownership of its memory. Copying a Tensor copies the reference, not the elements.
//
// Rows are the slices along the first dimension; `rows(begin, end)` is a view into the same memory. Elements never
// change after whoever filled a tensor has handed it on, so tensors may be read from any thread.
#pragma once

#include "device/device.h"
#include "util/shape.h"

#include <mdist/tensor.h>

namespace mdist {

class Tensor {
  public:
    Tensor() = default;

    /// Memory of `device`, content undefined.
    static Tensor allocate(Device &device, int32_t dtype, const Shape &shape);
    static Tensor zeros(Device &device, int32_t dtype, const Shape &shape);
    /// A copy of a caller's host tensor on `device`; zeros if its data is NULL. Throws INVALID_ARGUMENT naming `what`.
    static Tensor copy_of(Device &device, const mdist_tensor_t &tensor, const char *what);
    /// A view of memory that `owner` keeps alive (may be empty: then the caller vouches for it).
    static Tensor view(void *data, int32_t dtype, const Shape &shape, Memory owner, Place place = {});

    bool defined() const { return dtype_ != 0; }
    int32_t dtype() const { return dtype_; }
    const Shape &shape() const { return shape_; }
    void *data() const { return data_; }
    uint64_t elements() const { return elements_; }
    std::size_t bytes() const;
    const Memory &owner() const { return owner_; }
    const Place &place() const { return place_; }
    bool on_host() const { return place_.on_host(); }
    /// Itself, or a copy in memory of the host; waits for the GPU.
    Tensor to_host() const;

    /// Rows [begin, end) along the first dimension (there is one).
    Tensor rows(uint64_t begin, uint64_t end) const;
    /// Row `index`, without the first dimension.
    Tensor row(uint64_t index) const;

    /// As a caller sees it, with its place. All-zero for an undefined tensor.
    mdist_tensor_t describe() const;
    mdist_buffer_t buffer() const;

  private:
    Memory owner_;
    void *data_ = nullptr;
    int32_t dtype_ = 0;
    uint64_t elements_ = 0;
    Shape shape_;
    Place place_;
};

} // namespace mdist
