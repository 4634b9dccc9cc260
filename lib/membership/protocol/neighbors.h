// SPDX-License-Identifier: Apache-2.0
// Neighbors: which workers of a session have a control connection with each other, and how news travels along these.
//
// Up to kAllConnected workers, all are neighbors. In a larger session a worker's neighbors are those whose ranks are 1,
// 2, 4, 8 ... away around the ring of ranks. So nobody has more than 2 log2(size) connections, and news needs at most
// log2(size) steps. However an outage splits the workers into two groups, some pair across the split is connected,
// since the ring is. Both ends of a pair, and all workers on a way, come to the same result.
#pragma once

#include <cstdint>
#include <vector>

namespace mdist {

inline constexpr uint32_t kAllConnected = 33;

inline bool connects_all(uint32_t size) {
    return size <= kAllConnected;
}
/// In ascending order.
std::vector<uint32_t> neighbors_of(uint32_t rank, uint32_t size);

/// The tree along which all hear what `origin` says: from whom a worker hears it, and to whom it passes it on. The
/// origin itself has no parent.
uint32_t parent_of(uint32_t origin, uint32_t rank, uint32_t size);
std::vector<uint32_t> children_of(uint32_t origin, uint32_t rank, uint32_t size);
/// Whether a worker hears it through `via`, or is that worker.
bool hears_through(uint32_t origin, uint32_t via, uint32_t rank, uint32_t size);

} // namespace mdist
