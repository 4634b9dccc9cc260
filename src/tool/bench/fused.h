// SPDX-License-Identifier: Apache-2.0
// Fused: a minimal all-reduce of float32, used as a floor. It reads k arrays, adds them in registers, and writes the
// sum to all k in place. Every byte is read once and written once. It has no checks and no calls, and supports one type
// and one operation.
#pragma once

#include "bench/arena.h"
#include "bench/world.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mdist {

/// Returns all variants worth trying on this machine: instruction sets; with and without prefetching; one thread, or as
/// many as there are replicas and cores; work split into fixed shares, or into chunks that threads take as they come.
/// Each operation begins and ends with a spinning barrier of its threads.
std::vector<Side> fused_floors(const Arena &arena, uint32_t replicas, uint32_t cpus, std::size_t bytes);

} // namespace mdist
