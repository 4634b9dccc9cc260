// SPDX-License-Identifier: Apache-2.0
// Fused: the barest all-reduce of float32, as a floor. Reads k arrays, adds them in registers, writes the sum to all k,
// in place, so that every byte is read once and written once; no checks, no calls, one type, one operation.
#pragma once

#include "bench/arena.h"
#include "bench/world.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mdist {

/// All variants worth trying here: instruction sets, with and without prefetching, one thread and as many as there are
/// replicas and cores, work cut into fixed shares and into chunks that threads take as they come. Each operation begins
/// and ends with a spinning barrier of its threads.
std::vector<Side> fused_floors(const Arena &arena, uint32_t replicas, uint32_t cpus, std::size_t bytes);

} // namespace mdist
