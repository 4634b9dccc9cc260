// SPDX-License-Identifier: Apache-2.0
// Compares the tests' own declarations of DLPack with its header, if that is installed. Headers up to 0.8 have only the
// first layout.
#pragma once

#include "dlpack_support.h"

#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#define SAME(theirs, ours) _Static_assert((theirs) == (ours), "unlike dlpack.h")
SAME(sizeof(DLTensor), sizeof(DlTensor));
SAME(offsetof(DLTensor, data), offsetof(DlTensor, data));
SAME(offsetof(DLTensor, device.device_type), offsetof(DlTensor, device_type));
SAME(offsetof(DLTensor, device.device_id), offsetof(DlTensor, device_id));
SAME(offsetof(DLTensor, ndim), offsetof(DlTensor, ndim));
SAME(offsetof(DLTensor, dtype.code), offsetof(DlTensor, code));
SAME(offsetof(DLTensor, dtype.bits), offsetof(DlTensor, bits));
SAME(offsetof(DLTensor, dtype.lanes), offsetof(DlTensor, lanes));
SAME(offsetof(DLTensor, shape), offsetof(DlTensor, shape));
SAME(offsetof(DLTensor, strides), offsetof(DlTensor, strides));
SAME(offsetof(DLTensor, byte_offset), offsetof(DlTensor, byte_offset));
SAME(sizeof(struct DLManagedTensor), sizeof(DlLegacy));
SAME(offsetof(struct DLManagedTensor, dl_tensor), offsetof(DlLegacy, tensor));
SAME(offsetof(struct DLManagedTensor, manager_ctx), offsetof(DlLegacy, manager_ctx));
SAME(offsetof(struct DLManagedTensor, deleter), offsetof(DlLegacy, deleter));
SAME(kDLCPU, 1);
SAME(kDLCUDA, 2);
SAME(kDLCUDAHost, 3);
SAME(kDLInt, 0);
SAME(kDLUInt, 1);
SAME(kDLFloat, 2);
SAME(kDLBfloat, 4);
#if defined(DLPACK_MAJOR_VERSION) && DLPACK_MAJOR_VERSION >= 1
SAME(DLPACK_FLAG_BITMASK_READ_ONLY, 1);
SAME(sizeof(struct DLManagedTensorVersioned), sizeof(DlVersioned));
SAME(offsetof(struct DLManagedTensorVersioned, version.minor), offsetof(DlVersioned, minor));
SAME(offsetof(struct DLManagedTensorVersioned, manager_ctx), offsetof(DlVersioned, manager_ctx));
SAME(offsetof(struct DLManagedTensorVersioned, deleter), offsetof(DlVersioned, deleter));
SAME(offsetof(struct DLManagedTensorVersioned, flags), offsetof(DlVersioned, flags));
SAME(offsetof(struct DLManagedTensorVersioned, dl_tensor), offsetof(DlVersioned, tensor));
#endif
#endif
