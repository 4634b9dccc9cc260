// SPDX-License-Identifier: Apache-2.0
// Packet: sixteen bytes, which a GPU thread reads or writes at once. Also the positions of elements in a launch's work.
#pragma once

#include <stddef.h>

#include "cuda/elements.h"

namespace mdist::cuda {

constexpr unsigned kThreads = 256; // of a block
constexpr size_t kPacketBytes = 16;

struct alignas(kPacketBytes) Packet {
    uint32_t words[4];
};

template <typename Element>
constexpr unsigned kLanes = kPacketBytes / sizeof(Element);

// Data read here is not needed again, so it passes through the caches without staying.
MDIST_BOTH Packet load_packet(const void *from) {
    Packet packet;
#ifdef __CUDA_ARCH__
    const uint4 read = __ldcs(static_cast<const uint4 *>(from));
    packet = {{read.x, read.y, read.z, read.w}};
#else
    __builtin_memcpy(&packet, __builtin_assume_aligned(from, kPacketBytes), sizeof packet);
#endif
    return packet;
}

MDIST_BOTH void store_packet(void *to, Packet packet) {
    *static_cast<Packet *>(to) = packet;
}

/// These work at any alignment.
template <typename Word>
MDIST_BOTH Word load_bytes(const char *from) {
    unsigned char bytes[sizeof(Word)];
    for (unsigned i = 0; i < sizeof(Word); ++i) bytes[i] = static_cast<unsigned char>(from[i]);
    Word word;
    __builtin_memcpy(&word, bytes, sizeof word);
    return word;
}

template <typename Word>
MDIST_BOTH void store_bytes(char *to, Word word) {
    unsigned char bytes[sizeof(Word)];
    __builtin_memcpy(bytes, &word, sizeof word);
    for (unsigned i = 0; i < sizeof(Word); ++i) to[i] = static_cast<char>(bytes[i]);
}

/// How to access elements: many at once, one at a time, or byte by byte if addresses are not multiples of their size.
enum class Access : uint8_t { kPackets, kElements, kBytes };

/// Some elements of an array. The i-th is element begin + i * stride.
struct Position {
    uint64_t begin;
    unsigned stride; // 1 for kPackets
    unsigned count;
    Access access;
};

template <typename Element, unsigned size>
struct alignas(sizeof(Element) * size) Row {
    Element lane[size];
};

/// Loads the elements at a position. Lanes beyond the position's count are 0.
template <unsigned size, typename Element>
MDIST_BOTH Row<Element, size> load_row(const Element *, const char *array, const Position &at) {
    using Whole = Row<Element, size>;
    Whole row = {};
    if (at.access == Access::kPackets && at.count == size) {
        const char *const from = array + at.begin * sizeof(Element);
        if constexpr (sizeof(Whole) == kPacketBytes) {
            const Packet packet = load_packet(from);
            __builtin_memcpy(&row, &packet, sizeof row);
        } else {
            __builtin_memcpy(&row, __builtin_assume_aligned(from, alignof(Whole)), sizeof row);
        }
        return row;
    }
    MDIST_UNROLL for (unsigned i = 0; i < size; ++i) {
        const char *const from = array + (at.begin + uint64_t{i} * at.stride) * sizeof(Element);
        if (i < at.count)
            row.lane[i] =
                at.access == Access::kBytes ? load_bytes<Element>(from) : *reinterpret_cast<const Element *>(from);
    }
    return row;
}

template <typename Element, unsigned size>
MDIST_BOTH void store_row(char *array, const Position &at, const Row<Element, size> &row) {
    if (at.access == Access::kPackets && at.count == size) {
        char *const to = array + at.begin * sizeof(Element);
        *static_cast<Row<Element, size> *>(__builtin_assume_aligned(to, alignof(Row<Element, size>))) = row;
        return;
    }
    MDIST_UNROLL for (unsigned i = 0; i < size; ++i) {
        char *const to = array + (at.begin + uint64_t{i} * at.stride) * sizeof(Element);
        if (i >= at.count) continue;
        if (at.access == Access::kBytes) {
            store_bytes(to, row.lane[i]);
        } else {
            *reinterpret_cast<Element *>(to) = row.lane[i];
        }
    }
}

/// The position of a thread's row in a chunk. Rows stand side by side for kPackets. Otherwise they are interlaced, so
/// that neighbouring threads have neighbouring elements. A count of 0 means that the thread has no elements.
MDIST_BOTH Position position_of(uint64_t first, uint64_t elements, unsigned thread, unsigned size, Access access) {
    const bool packets = access == Access::kPackets;
    Position at = {first + (packets ? uint64_t{thread} * size : thread), packets ? 1 : kThreads, 0, access};
    if (at.begin >= elements) return at;
    const uint64_t left = (elements - at.begin + at.stride - 1) / at.stride;
    at.count = left < size ? static_cast<unsigned>(left) : size;
    return at;
}

/// The item that a chunk belongs to. Items are in the order of their first chunks, and each has at least one chunk.
template <typename Batch>
MDIST_BOTH uint32_t item_of(const Batch &batch, uint32_t chunk) {
    uint32_t low = 0;
    uint32_t high = batch.count;
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        if (batch.items[middle].first_chunk <= chunk) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

} // namespace mdist::cuda
