// SPDX-License-Identifier: Apache-2.0
// Copies tensors from wherever they lie to where they are needed. Outside of collectives, this is the only place that
// stages data. A function with a device works after everything the device was given, and is done on return.
#pragma once

#include "device/tensor.h"

#include <span>
#include <vector>

namespace mdist {

/// Makes a view of a caller's tensor, placed where its address says. Throws INVALID_ARGUMENT naming `what` if the
/// tensor says that it lies on a GPU and its address says otherwise. `asking` is the GPU that memory of no particular
/// GPU counts for, see place_of().
Tensor view_of(const mdist_tensor_t &tensor, const char *what, const Memory &owner = {}, int32_t asking = 0);

/// The GPU that this memory belongs to exclusively; -1 if the host can access it.
int32_t gpu_of(const void *data);
/// Throws INVALID_ARGUMENT naming `what` for GPU memory, in calls that accept only host memory.
void need_on_host(const void *data, const char *what);
/// Like checked_shape(); also, the memory must be the host's, if there is any.
Shape checked_on_host(const mdist_tensor_t &tensor, const char *what);

/// Where a caller's tensor lies. Throws as view_of() does.
Place checked_place(const mdist_tensor_t &tensor, const char *what, int32_t asking = 0);

/// Copies the tensor's elements to memory of `device`.
void copy_to(Device &device, void *to, const Tensor &from);
/// Copies elements to memory anywhere; it must be the same memory, or not overlap. Done on return, unless both lie on
/// GPUs and `device` is one.
void copy_elements(Device &device, const Tensor &to, const Tensor &from);
/// Copies the tensor to new memory of `device`.
Tensor copied_to(Device &device, const Tensor &tensor);
/// The tensor itself if it lies on `device`, otherwise a copy there.
Tensor brought_to(Device &device, const Tensor &tensor);
/// What a replica on `device` can use: the tensor itself if it lies on the host or on `device`, otherwise a copy on
/// `device`.
Tensor usable_on(Device &device, const Tensor &tensor);
/// Copies to new memory of the place where the tensor lies; makes zeros there if its data is NULL. Waits for no other
/// work.
Tensor copied(const mdist_tensor_t &tensor, const char *what);
/// The same within a step: on the host, or in `device`'s memory, in order but not necessarily done on return.
Tensor copied_in_turn(Device &device, const mdist_tensor_t &tensor, const char *what);

/// The tensor itself if it lies on the host, otherwise a copy. The copy comes after the work of `device` if it lies
/// there.
Tensor host_copy(const Device &device, const Tensor &tensor);
/// The tensor itself if it lies on the host, otherwise a copy. Waits for the GPU's copy, but for no other work.
Tensor to_host(const Tensor &tensor);
std::vector<Tensor> to_host(std::span<const Tensor> tensors);

} // namespace mdist
