// SPDX-License-Identifier: Apache-2.0
// The library's side of an all-reduce comparison: in place, on one buffer in each replica's own region.
#pragma once

#include "bench/arena.h"
#include "bench/world.h"

namespace mdist {

Side all_reduce_side(const Arena &arena, std::size_t bytes, mdist_dtype_t dtype);

} // namespace mdist
