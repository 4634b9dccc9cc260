// SPDX-License-Identifier: Apache-2.0
// Up to which sizes the ways of a collective among workers are used. All in one place; each is the same on all workers.
// docs/maintainers/performance/costs.md has the reasons: what the ways cost on hosts with cores of their own, at 1, 25
// and 200 Gbit/s. These networks want different sizes. Each size is a middle: the worst of them loses as little as
// possible.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace mdist::sizes {

/// So many workers, one on each host, agree directly. One trip of n - 1 messages costs less than log2(n) trips: at 1
/// Gbit/s up to 64 workers, at 200 Gbit/s up to 8.
inline constexpr uint32_t kMostDirect = 16;

/// Bytes of partials that a block gives in a round of a sum along the tree. Each round costs a trip and all bytes. To
/// split the sum costs more trips or messages.
inline std::size_t tree_sum(uint32_t hosts, uint32_t per_host) {
    constexpr std::size_t kOfTwo = 32768, kOfTwoHosts = 8192, kOfMore = 4096;
    return hosts > 2 ? kOfMore : per_host > 1 ? kOfTwoHosts : kOfTwo;
}

/// The most members of a group of hosts that split a sum. With more, fewer trips are needed; with fewer, fewer
/// messages.
inline constexpr uint32_t kLargestGroup = 8;

/// Bytes of a broadcast that go along with the header. Directly, the root sends them to each worker. By relays, each
/// worker sends them once at a time. In chunks, each sends to each other host: too often if there are many.
inline std::size_t broadcast_along(uint32_t workers, uint32_t per_host, bool directly) {
    constexpr std::size_t kDirectly = 65536, kByRelays = 32768, kAmongMany = 262144, kMany = 64;
    if (directly) return kDirectly / std::max(workers - 1, 1u);
    return workers / per_host > kMany ? kAmongMany : kByRelays;
}

/// Bytes that each of `givers` workers gives to all along with its header, where others would wait a trip for them.
/// `to_all`: all of them are of use to every worker. Behind it, they cross to each host once.
inline std::size_t parts_along(uint32_t workers, uint32_t per_host, uint32_t givers, bool directly, bool to_all) {
    constexpr std::size_t kDirectly = 16384, kOfOne = 36864, kPartials = 16384, kToAll = 294912, kToHosts = 49152;
    if (directly) return kDirectly / std::max(workers - 1, 1u);
    if (to_all) return (per_host > 1 ? kToHosts : kToAll) / givers;
    return givers == 1 ? kOfOne : kPartials / givers;
}

} // namespace mdist::sizes
