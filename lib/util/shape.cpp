// SPDX-License-Identifier: Apache-2.0
#include "util/shape.h"

#include "util/dtype.h"
#include "util/failure.h"
#include "util/text.h"

#include <algorithm>

namespace mdist {

uint64_t Shape::elements() const {
    uint64_t product = 1;
    for (int32_t i = 0; i < rank; ++i) product *= dims[i];
    return product;
}

uint64_t Shape::row_elements() const {
    return without_first().elements();
}

Shape Shape::without_first() const {
    Shape shape;
    shape.rank = std::max(rank - 1, 0);
    std::copy(dims + 1, dims + MDIST_MAX_RANK, shape.dims);
    return shape;
}

Shape Shape::with_first(uint64_t rows) const {
    if (rank == MDIST_MAX_RANK)
        throw invalid(mdist::text("shape ", text(), " has ", rank, " dimensions already, the maximum"));
    Shape shape;
    shape.rank = rank + 1;
    shape.dims[0] = rows;
    std::copy(dims, dims + rank, shape.dims + 1);
    return shape;
}

std::string Shape::text() const {
    std::string out = "[";
    for (int32_t i = 0; i < rank; ++i) out += mdist::text(i == 0 ? "" : ", ", dims[i]);
    return out + "]";
}

std::size_t checked_bytes(const Shape &shape, int32_t dtype, const char *what) {
    check_dtype(dtype, what);
    uint64_t bytes = dtype_size(dtype);
    bool overflow = false;
    bool empty = false;
    for (int32_t i = 0; i < shape.rank; ++i) {
        empty |= shape.dims[i] == 0;
        overflow |= __builtin_mul_overflow(bytes, std::max<uint64_t>(shape.dims[i], 1), &bytes);
    }
    // An empty tensor must not overflow either, since counting rows multiplies its other dimensions.
    if (overflow || bytes > PTRDIFF_MAX)
        throw invalid(
            text(what, " of shape ", shape.text(), " and ", dtype_name(dtype), " is larger than memory can be"));
    return empty ? 0 : bytes;
}

Shape checked_shape(const mdist_tensor_t &tensor, const char *what) {
    if (tensor.rank < 0 || tensor.rank > MDIST_MAX_RANK)
        throw invalid(text(what, " has rank ", tensor.rank, "; 0 to ", MDIST_MAX_RANK, " are allowed"));
    const bool host = tensor.device_kind == MDIST_DEVICE_CPU && tensor.device_index == 0;
    if (!host && (tensor.device_kind != MDIST_DEVICE_GPU || tensor.device_index < 0))
        throw invalid(
            text(what, " lies on device kind ", tensor.device_kind, ", index ", tensor.device_index,
                 "; use MDIST_DEVICE_CPU (0) with index 0, or MDIST_DEVICE_GPU (1) with an index of 0 or more"));
    Shape shape;
    shape.rank = tensor.rank;
    std::copy(tensor.shape, tensor.shape + tensor.rank, shape.dims);
    checked_bytes(shape, tensor.dtype, what);
    return shape;
}

Shape checked_filled(const mdist_tensor_t &tensor, const char *what) {
    const Shape shape = checked_shape(tensor, what);
    if (tensor.data == nullptr && shape.elements() != 0)
        throw invalid(text(what, " of shape ", shape.text(), " has data NULL"));
    return shape;
}

} // namespace mdist
