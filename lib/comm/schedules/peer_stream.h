// SPDX-License-Identifier: Apache-2.0
// PeerStream: the messages of a sum in one direction between this worker and a peer: first partials, then results. A
// window of them is under way at a time.
#pragma once

#include "comm/links/link.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace mdist {

struct PeerStream {
    static constexpr uint32_t kWindow = 4;

    uint64_t partials = 0; // messages [0, partials) are partials
    uint64_t results = 0;  // the messages after those
    uint64_t posted = 0;
    uint64_t taken = 0; // receives only: messages used up
    Pending pending[kWindow];
    char *scratch = nullptr; // kWindow slots
    std::size_t slot_bytes = 0;

    char *slot(uint64_t message) const { return scratch + message % kWindow * slot_bytes; }
    uint64_t total() const { return partials + results; }
    /// Whether the next message to take has arrived.
    bool arrived() const { return taken < posted && pending[taken % kWindow].done(); }
    bool all_taken() const { return taken == total(); }
    bool all_sent() const {
        return posted == total() &&
               std::all_of(pending, pending + kWindow, [](const Pending &slot) { return slot.done(); });
    }
    /// Whether a message was sent, and its memory is free. Nothing a window later may have been posted.
    bool sent(uint64_t message) const { return posted > message && pending[message % kWindow].done(); }
};

} // namespace mdist
