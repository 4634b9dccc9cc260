// SPDX-License-Identifier: Apache-2.0
// Packs sums of squares into launches.
#pragma once

#include "cuda/squares.h"
#include "device/gpu/module.h"

namespace mdist::cuda {

/// Adds sums, beginning with number `from`, while they have the type of the first one and there is room. Returns the
/// number of the first one that is left. All must be of floating-point types.
size_t gather(const mdist_gpu_squares *items, size_t from, size_t count, SquaresBatch &batch);

} // namespace mdist::cuda
