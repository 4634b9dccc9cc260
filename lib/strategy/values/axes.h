// SPDX-License-Identifier: Apache-2.0
// Axes: which dimensions a call means, and where replicas may differ.
#pragma once

#include "device/tensor.h"

#include <cstdint>
#include <vector>

namespace mdist {

/// The dimension that an axis names, counted from the end if it is negative; throws INVALID_ARGUMENT out of range.
int32_t dimension(int32_t axis, int32_t rank);

/// Throws MISMATCH unless dtype, rank and every dimension but those of `free` are alike.
void require_alike_but(const std::vector<Tensor> &tensors, const bool (&free)[MDIST_MAX_RANK]);

} // namespace mdist
