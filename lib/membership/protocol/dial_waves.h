// SPDX-License-Identifier: Apache-2.0
// Limits how many dialers of a worker connect at the same time to kMostCalls. The ranks next below its own go first.
//
// So where many workers share few cores, a handshake ends soon after it begins, and each worker is called by a few
// others at a time. If every worker called all others at once, beginning with worker 0, handshakes would exceed their
// time limit, or the room of the called worker's lobby, and start over.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "membership/protocol/dialer.h"

namespace mdist {

inline constexpr std::size_t kMostCalls = 16;

/// `dialers`: a map whose keys are ranks, or begin with a rank.
template <class Dialers>
std::size_t calls_under_way(const Dialers &dialers) {
    return static_cast<std::size_t>(
        std::count_if(dialers.begin(), dialers.end(), [](const auto &one) { return !one.second.pauses(); }));
}

/// Returns the place of the one that has this connection, or the end.
template <class Dialers>
auto dialer_of(Dialers &dialers, ConnectionId connection) {
    return std::find_if(dialers.begin(), dialers.end(),
                        [connection](const auto &one) { return one.second.connection() == connection; });
}

template <class Dialers>
void tick_in_waves(Dialers &dialers) {
    std::size_t calls = calls_under_way(dialers);
    for (auto it = dialers.rbegin(); it != dialers.rend(); ++it) {
        Dialer &dialer = it->second;
        const bool paused = dialer.pauses();
        if (paused && calls >= kMostCalls) continue;
        dialer.tick();
        if (paused && !dialer.pauses()) ++calls;
    }
}

template <class Dialers>
uint64_t next_tick_in_waves(const Dialers &dialers) {
    const bool full = calls_under_way(dialers) >= kMostCalls;
    uint64_t next = UINT64_MAX;
    for (const auto &[key, dialer] : dialers)
        if (!full || !dialer.pauses()) next = std::min(next, dialer.next_tick_ns());
    return next;
}

} // namespace mdist
