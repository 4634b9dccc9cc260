// SPDX-License-Identifier: Apache-2.0
#include "device/tensor.h"

#include "util/failure.h"

#include <utility>

namespace mdist {

Tensor Tensor::view(void *data, int32_t dtype, const Shape &shape, Memory owner, Place place) {
    Tensor tensor;
    tensor.owner_ = std::move(owner);
    tensor.data_ = data;
    tensor.dtype_ = dtype;
    tensor.elements_ = shape.elements();
    tensor.shape_ = shape;
    tensor.place_ = place;
    return tensor;
}

Tensor Tensor::allocate(Device &device, int32_t dtype, const Shape &shape) {
    Memory memory = device.allocate(checked_bytes(shape, dtype, "tensor"));
    void *data = memory.get();
    return view(data, dtype, shape, std::move(memory), device.place());
}

Tensor Tensor::zeros(Device &device, int32_t dtype, const Shape &shape) {
    Tensor tensor = allocate(device, dtype, shape);
    device.zero(tensor.data(), tensor.bytes());
    return tensor;
}

Tensor Tensor::copy_of(Device &device, const mdist_tensor_t &tensor, const char *what) {
    const Shape shape = checked_shape(tensor, what);
    if (tensor.data == nullptr) return zeros(device, tensor.dtype, shape);
    Tensor copy = allocate(device, tensor.dtype, shape);
    device.copy_in(copy.data(), tensor.data, copy.bytes());
    return copy;
}

Tensor Tensor::rows(uint64_t begin, uint64_t end) const {
    Shape shape = shape_;
    const uint64_t row_elements = shape.row_elements();
    shape.dims[0] = end - begin;
    return view(static_cast<char *>(data_) + begin * row_elements * dtype_size(dtype_), dtype_, shape, owner_, place_);
}

Tensor Tensor::row(uint64_t index) const {
    const Tensor one = rows(index, index + 1);
    return view(one.data_, dtype_, shape_.without_first(), owner_, place_);
}

mdist_tensor_t Tensor::describe() const {
    mdist_tensor_t out = {};
    out.data = data_;
    out.dtype = dtype_;
    out.rank = shape_.rank;
    out.device_kind = place_.kind;
    out.device_index = place_.index;
    for (int32_t i = 0; i < shape_.rank; ++i) out.shape[i] = shape_.dims[i];
    return out;
}

} // namespace mdist
