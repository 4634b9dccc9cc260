// SPDX-License-Identifier: Apache-2.0
#include "device/transfer/dlpack.h"

#include "device/gpu/loader.h"
#include "device/transfer/transfer.h"
#include "util/failure.h"
#include "util/order.h"
#include "util/text.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace mdist {
namespace {

constexpr int32_t kCpu = 1;
constexpr int32_t kCuda = 2;
constexpr int32_t kCudaHost = 3; // page-locked memory of the host

constexpr const char *kCodeNames[] = {"int", "uint", "float", "opaque handle", "bfloat", "complex", "bool"};

struct Counterpart {
    int32_t dtype;
    uint8_t code;
    uint8_t bits;
};

constexpr Counterpart kCounterparts[] = {
    {MDIST_FLOAT32, 2, 32}, {MDIST_FLOAT64, 2, 64}, {MDIST_FLOAT16, 2, 16}, {MDIST_BFLOAT16, 4, 16},
    {MDIST_INT8, 0, 8},     {MDIST_UINT8, 1, 8},    {MDIST_INT32, 0, 32},   {MDIST_UINT32, 1, 32},
    {MDIST_INT64, 0, 64},   {MDIST_UINT64, 1, 64},
    {MDIST_INT16, 0, 16},   {MDIST_UINT16, 1, 16},  {MDIST_BOOL, 6, 8},
};

Failure unsupported(const char *reason, std::string message) {
    return Failure(MDIST_ERR_UNSUPPORTED, std::move(message)).reason(reason);
}

/// Where the memory lies. If it is said to be CUDA's, it must be memory of that GPU.
Place place_from(const DlDevice &device, void *data) {
    if (device.type == kCpu || device.type == kCudaHost) return {};
    if (device.type != kCuda)
        throw unsupported("dlpack_device",
                          text("the tensor lies on DLPack device type ", device.type, ", id ", device.id,
                               "; only types 1 (CPU), 2 (CUDA) and 3 (CUDA's page-locked) are supported. Copy the "
                               "tensor to one of these first"));
    if (gpu_support().count == 0)
        throw unsupported("dlpack_device", text("the tensor lies on DLPack device type 2 (CUDA), id ", device.id,
                                                ", but this process has no GPU: ", gpu_support().reason));
    mdist_tensor_t said = {};
    said.data = data;
    said.device_kind = MDIST_DEVICE_GPU;
    said.device_index = device.id;
    return checked_place(said, "the tensor");
}

int32_t dtype_from(const DlDataType &type) {
    if (type.lanes != 1)
        throw unsupported("dlpack_dtype", text("the tensor's elements have ", type.lanes,
                                               " lanes; only 1 is supported. Give vectors a dimension of their own"));
    for (const Counterpart &one : kCounterparts)
        if (one.code == type.code && one.bits == type.bits) return one.dtype;
    throw unsupported(
        "dlpack_dtype",
        text("the tensor's elements are of DLPack type code ", type.code,
             type.code < std::size(kCodeNames) ? text(" (", kCodeNames[type.code], ")") : std::string(), " with ",
             type.bits, " bits, which matches no MDIST_ type; convert or reinterpret them first"));
}

Shape shape_from(const DlTensor &described) {
    const int32_t rank = described.ndim;
    if (rank < 0) throw invalid(text("the tensor has ndim ", rank));
    if (rank > MDIST_MAX_RANK)
        throw unsupported("dlpack_rank",
                          text("the tensor has ", rank, " dimensions; ", MDIST_MAX_RANK, " is the maximum"));
    if (rank != 0 && described.shape == nullptr) throw invalid(text("the tensor has ndim ", rank, " and shape NULL"));
    Shape shape;
    shape.rank = rank;
    for (int32_t i = 0; i < rank; ++i) {
        if (described.shape[i] < 0)
            throw invalid(text("dimension ", i, " of the tensor is ", described.shape[i], "; it must not be negative"));
        shape.dims[i] = static_cast<uint64_t>(described.shape[i]);
    }
    return shape;
}

/// Fills in the strides of a dense, row-major tensor whose bytes fit into memory.
void fill_strides(const Shape &shape, int64_t *strides) {
    int64_t stride = 1;
    for (int32_t i = shape.rank; i-- > 0;) {
        strides[i] = stride;
        stride *= static_cast<int64_t>(std::max<uint64_t>(shape.dims[i], 1));
    }
}

std::string list(const int64_t *numbers, int32_t count) {
    std::string out = "[";
    for (int32_t i = 0; i < count; ++i) out += text(i == 0 ? "" : ", ", numbers[i]);
    return out + "]";
}

void check_strides(const int64_t *strides, const Shape &shape) {
    if (strides == nullptr || shape.elements() == 0) return;
    int64_t dense[MDIST_MAX_RANK];
    fill_strides(shape, dense);
    for (int32_t i = 0; i < shape.rank; ++i)
        if (shape.dims[i] != 1 && strides[i] != dense[i])
            throw unsupported(
                "dlpack_strides",
                text("the tensor of shape ", shape.text(), " has strides ", list(strides, shape.rank),
                     "; a dense row-major tensor has strides ", list(dense, shape.rank), ". Make it contiguous first"));
}

void *data_from(const DlTensor &described, const Shape &shape, std::size_t bytes) {
    if (described.data == nullptr) {
        if (bytes != 0) throw invalid(text("the tensor of shape ", shape.text(), " has data NULL"));
        return nullptr;
    }
    uint64_t end = 0;
    if (__builtin_add_overflow(reinterpret_cast<uintptr_t>(described.data), described.byte_offset, &end) ||
        __builtin_add_overflow(end, bytes, &end))
        throw invalid(
            text("byte_offset is ", described.byte_offset, ", which leads past the end of the address space"));
    return static_cast<char *>(described.data) + described.byte_offset;
}

} // namespace

void check_dl_version(const DlVersion &version) {
    if (version.major != kDlVersion.major)
        throw unsupported("dlpack_version", text("the tensor uses DLPack ", version.major, ".", version.minor,
                                                 "; this version of the library supports ", kDlVersion.major, ".x"));
}

Tensor tensor_from_dl(const DlTensor &described, Memory owner) {
    const int32_t dtype = dtype_from(described.dtype);
    const Shape shape = shape_from(described);
    const std::size_t bytes = checked_bytes(shape, dtype, "the tensor");
    check_strides(described.strides, shape);
    void *const data = data_from(described, shape, bytes);
    return Tensor::view(data, dtype, shape, std::move(owner), place_from(described.device, data));
}

mdist_buffer_t buffer_from_dl(const DlTensor &described) {
    const int32_t dtype = dtype_from(described.dtype);
    const Shape shape = shape_from(described);
    const std::size_t bytes = checked_bytes(shape, dtype, "the tensor");
    const std::optional<int32_t> order = order_of(shape, described.strides);
    if (!order)
        throw unsupported("dlpack_strides", text("the tensor of shape ", shape.text(), " has strides ",
                                                 list(described.strides, shape.rank),
                                                 ", which leave gaps or share memory. Make it contiguous first"));
    void *const data = data_from(described, shape, bytes);
    place_from(described.device, data);
    return {data, shape.elements(), dtype, *order};
}

DlTensor describe_dl(const Tensor &tensor, DlDimensions &dimensions) {
    const Shape &shape = tensor.shape();
    std::copy(shape.dims, shape.dims + shape.rank, dimensions.shape);
    fill_strides(shape, dimensions.strides);
    const auto *same = std::find_if(std::begin(kCounterparts), std::end(kCounterparts),
                                    [&](const Counterpart &one) { return one.dtype == tensor.dtype(); });
    DlTensor out = {};
    out.data = tensor.elements() == 0 ? nullptr : tensor.data(); // DLPack asks for this
    out.device = tensor.on_host() ? DlDevice{kCpu, 0} : DlDevice{kCuda, tensor.place().index};
    out.ndim = shape.rank;
    out.dtype = {same->code, same->bits, 1};
    out.shape = dimensions.shape;
    out.strides = dimensions.strides;
    return out;
}

} // namespace mdist
