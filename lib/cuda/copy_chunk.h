// SPDX-License-Identifier: Apache-2.0
// Many copies in one launch: the part of one thread in one chunk of one stretch.
#pragma once

#include "cuda/packet.h"

namespace mdist::cuda {

constexpr unsigned kCopyUnroll = 4;
constexpr uint64_t kCopyChunk = uint64_t{kThreads} * kCopyUnroll * kPacketBytes;

struct CopyItem {
    char *to;
    const char *from;
    uint64_t bytes;
    uint32_t first_chunk;
    uint16_t head; // bytes in front of the first word
    uint16_t word; // bytes copied at once: 16, or fewer if the two addresses are not aligned alike
};

template <unsigned capacity>
struct CopyBatch {
    static constexpr unsigned kItems = capacity;
    uint32_t chunks = 0;
    uint32_t count = 0;
    CopyItem items[capacity] = {};
};

// They fit launch parameters of 4 and of 32 KB.
using SmallCopyBatch = CopyBatch<127>;
using LargeCopyBatch = CopyBatch<1020>;
static_assert(sizeof(SmallCopyBatch) <= 4096 && sizeof(LargeCopyBatch) <= 32764);

template <typename Word>
MDIST_BOTH void copy_words(const CopyItem &item, uint64_t chunk, unsigned thread) {
    char *const to = item.to + item.head;
    const char *const from = item.from + item.head;
    const uint64_t words = (item.bytes - item.head) / sizeof(Word);
    const uint64_t begin = chunk * (kCopyChunk / sizeof(Word));
    const uint64_t end = words < begin + kCopyChunk / sizeof(Word) ? words : begin + kCopyChunk / sizeof(Word);
    for (uint64_t i = begin + thread; i < end; i += kThreads)
        *reinterpret_cast<Word *>(to + i * sizeof(Word)) = *reinterpret_cast<const Word *>(from + i * sizeof(Word));
}

MDIST_BOTH void copy_packets(const CopyItem &item, uint64_t chunk, unsigned thread) {
    char *const to = item.to + item.head;
    const char *const from = item.from + item.head;
    const uint64_t packets = (item.bytes - item.head) / kPacketBytes;
    const uint64_t begin = chunk * (kThreads * kCopyUnroll) + thread;
    if ((chunk + 1) * (kThreads * kCopyUnroll) <= packets) {
        Packet read[kCopyUnroll];
        MDIST_UNROLL for (unsigned u = 0; u < kCopyUnroll; ++u) read[u] =
            load_packet(from + (begin + u * kThreads) * kPacketBytes);
        MDIST_UNROLL for (unsigned u = 0; u < kCopyUnroll; ++u)
            store_packet(to + (begin + u * kThreads) * kPacketBytes, read[u]);
        return;
    }
    for (unsigned u = 0; u < kCopyUnroll; ++u) {
        const uint64_t i = begin + u * kThreads;
        if (i < packets) store_packet(to + i * kPacketBytes, load_packet(from + i * kPacketBytes));
    }
}

template <typename Batch>
MDIST_BOTH void copy_chunk(const Batch &batch, uint32_t number, unsigned thread) {
    const CopyItem &item = batch.items[item_of(batch, number)];
    const uint64_t chunk = number - item.first_chunk;
    if (chunk == 0) { // the ends, byte by byte: up to 15 at each
        const uint64_t tail = (item.bytes - item.head) % item.word;
        if (thread < item.head) item.to[thread] = item.from[thread];
        if (thread >= 32 && thread - 32 < tail) {
            const uint64_t at = item.bytes - tail + (thread - 32);
            item.to[at] = item.from[at];
        }
    }
    switch (item.word) {
        case 16:
            return copy_packets(item, chunk, thread);
        case 8:
            return copy_words<uint64_t>(item, chunk, thread);
        case 4:
            return copy_words<uint32_t>(item, chunk, thread);
        case 2:
            return copy_words<uint16_t>(item, chunk, thread);
        default:
            return copy_words<uint8_t>(item, chunk, thread);
    }
}

} // namespace mdist::cuda
