// SPDX-License-Identifier: Apache-2.0
// Tensors copied from wherever they lie to where they are needed: the one place that stages anything outside of
// collectives. What is named with a device goes behind all that the device was given, and is done on return.
#pragma once

#include "device/tensor.h"

#include <vector>

namespace mdist {

/// A caller's tensor where its address says that it lies; it must be there. Throws INVALID_ARGUMENT naming `what`.
/// `asking`: whose GPU it may count for, see place_of().
Tensor view_of(const mdist_tensor_t &tensor, const char *what, const Memory &owner = {}, int32_t asking = 0);

/// The GPU whose memory it is and that of no other; -1: the host can touch it.
int32_t gpu_of(const void *data);
/// Throws INVALID_ARGUMENT naming `what` for memory of a GPU, in calls that take no other than the host's.
void need_on_host(const void *data, const char *what);
/// As checked_shape(), and if there is memory, it must be the host's.
Shape checked_on_host(const mdist_tensor_t &tensor, const char *what);

/// Where a caller's tensor lies. Throws as view_of() where its address says something else than it does.
Place checked_place(const mdist_tensor_t &tensor, const char *what, int32_t asking = 0);

/// Copies its elements to memory of `device`.
void copy_to(Device &device, void *to, const Tensor &from);
/// The same to memory anywhere, which is the same or does not overlap. Done on return unless both lie on GPUs, and
/// `device` is one.
void copy_elements(Device &device, const Tensor &to, const Tensor &from);
/// A copy in new memory of `device`.
Tensor copied_to(Device &device, const Tensor &tensor);
/// Itself if it lies on `device`, else a copy there.
Tensor brought_to(Device &device, const Tensor &tensor);
/// A copy in new memory of the place where it lies; zeros there if its data is NULL. Behind nothing.
Tensor copied(const mdist_tensor_t &tensor, const char *what);
/// The same in a step: on the host, or in `device`'s memory, in order but not necessarily done on return.
Tensor copied_in_turn(Device &device, const mdist_tensor_t &tensor, const char *what);

/// Itself if it lies on the host, else a copy, behind what `device` was given if it lies there.
Tensor host_copy(const Device &device, const Tensor &tensor);
/// Tensor::to_host() of each. Behind nothing.
std::vector<Tensor> to_host(const std::vector<Tensor> &tensors);

} // namespace mdist
