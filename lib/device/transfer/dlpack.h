// SPDX-License-Identifier: Apache-2.0
// DLPack: converts between Tensor and the structs in which other libraries describe tensors.
//
// The structs are restated here; DLPack has frozen them. The last two are the ones that mdist/dlpack.h names, so they
// carry DLPack's own names. Pure functions, any thread.
#pragma once

#include "device/tensor.h"

#include <mdist/dlpack.h>

#include <cstddef>
#include <cstdint>

namespace mdist {

struct DlDevice {
    int32_t type;
    int32_t id;
};

struct DlDataType {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
};

struct DlTensor {
    void *data;
    DlDevice device;
    int32_t ndim;
    DlDataType dtype;
    int64_t *shape;
    int64_t *strides; // in elements; NULL: dense and row-major
    uint64_t byte_offset;
};

struct DlVersion {
    uint32_t major;
    uint32_t minor;
};

} // namespace mdist

struct DLManagedTensor {
    mdist::DlTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(DLManagedTensor *self);
};

struct DLManagedTensorVersioned {
    mdist::DlVersion version;
    void *manager_ctx;
    void (*deleter)(DLManagedTensorVersioned *self);
    uint64_t flags;
    mdist::DlTensor dl_tensor;
};

namespace mdist {

constexpr DlVersion kDlVersion = {1, 0};
constexpr uint64_t kDlReadOnly = 1;

/// Throws UNSUPPORTED unless this version has its fields where the structs above declare them.
void check_dl_version(const DlVersion &version);

/// Makes a view of the described memory, which `owner` keeps alive. Throws UNSUPPORTED (with a reason) for what a
/// Tensor cannot be, and INVALID_ARGUMENT for what no tensor can be.
Tensor tensor_from_dl(const DlTensor &described, Memory owner);

/// Describes the elements of a dense tensor in the order of memory, with their order. Throws as tensor_from_dl().
mdist_buffer_t buffer_from_dl(const DlTensor &described);

/// The arrays that a DlTensor points to.
struct DlDimensions {
    int64_t shape[MDIST_MAX_RANK];
    int64_t strides[MDIST_MAX_RANK];
};

/// Describes a defined tensor, with explicit strides. Its data is NULL if it is empty. Fills `dimensions`, which must
/// live as long as the description.
DlTensor describe_dl(const Tensor &tensor, DlDimensions &dimensions);

static_assert(sizeof(void *) == 8);
static_assert(sizeof(DlTensor) == 48 && offsetof(DlTensor, device) == 8 && offsetof(DlTensor, ndim) == 16 &&
              offsetof(DlTensor, dtype) == 20 && offsetof(DlTensor, shape) == 24 && offsetof(DlTensor, strides) == 32 &&
              offsetof(DlTensor, byte_offset) == 40);
static_assert(sizeof(DlDevice) == 8 && offsetof(DlDevice, id) == 4);
static_assert(sizeof(DlDataType) == 4 && offsetof(DlDataType, bits) == 1 && offsetof(DlDataType, lanes) == 2);
static_assert(sizeof(DlVersion) == 8 && offsetof(DlVersion, minor) == 4);
static_assert(sizeof(DLManagedTensor) == 64 && offsetof(DLManagedTensor, manager_ctx) == 48 &&
              offsetof(DLManagedTensor, deleter) == 56);
static_assert(sizeof(DLManagedTensorVersioned) == 80 && offsetof(DLManagedTensorVersioned, manager_ctx) == 8 &&
              offsetof(DLManagedTensorVersioned, deleter) == 16 && offsetof(DLManagedTensorVersioned, flags) == 24 &&
              offsetof(DLManagedTensorVersioned, dl_tensor) == 32);

} // namespace mdist
