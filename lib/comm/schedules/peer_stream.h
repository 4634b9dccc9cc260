// SPDX-License-Identifier: Apache-2.0
// PeerStream: the messages of an all-reduce in one direction between this worker and a peer: first partials, then
// results. A window of them is under way at a time. Also chooses the size of chunks.
#pragma once

#include "comm/links/link.h"

#include "util/round_up.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace mdist {

/// A range of elements in a row.
struct Range {
    uint64_t begin;
    uint64_t count;
};

struct PeerStream {
    static constexpr uint32_t kWindow = 4;

    uint64_t partials = 0; // messages [0, partials) are partials
    uint64_t results = 0;  // the messages after those
    uint64_t posted = 0;
    uint64_t taken = 0; // receives only: messages used up
    Pending pending[kWindow];
    char *scratch = nullptr; // room for kWindow messages

    uint64_t total() const { return partials + results; }
    /// Whether the next message to take has arrived.
    bool arrived() const { return taken < posted && pending[taken % kWindow].done(); }
    bool all_taken() const { return taken == total(); }
    bool all_sent() const {
        return posted == total() &&
               std::all_of(pending, pending + kWindow, [](const Pending &slot) { return slot.done(); });
    }
};

/// Rounds up to the multiple at which segments and chunks begin, for the kernels' sake.
inline uint64_t aligned_elements(uint64_t elements, std::size_t element_size) {
    constexpr uint64_t kMultiple = 64;
    return element_size < kMultiple ? round_up(elements, kMultiple) : elements;
}

/// The best chunk size: large enough that the cost of each chunk matters little, small enough that results follow
/// partials closely and scratch stays small.
inline uint64_t best_chunk_elements(std::size_t element_size, uint64_t segment_elements, uint64_t peers) {
    constexpr uint64_t kSmallest = 16384; // bytes; so are the other two sizes
    constexpr uint64_t kLargest = 262144;
    constexpr uint64_t kScratch = 64 << 20;
    constexpr uint64_t kPerSegment = 4;
    const uint64_t most =
        std::clamp(kScratch / (2 * PeerStream::kWindow * std::max<uint64_t>(peers, 1)), kSmallest, kLargest);
    const uint64_t bytes = std::clamp(segment_elements * element_size / kPerSegment, kSmallest, most);
    return aligned_elements(std::max<uint64_t>(bytes / element_size, 1), element_size);
}

} // namespace mdist
