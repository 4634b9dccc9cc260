// SPDX-License-Identifier: Apache-2.0
// The sum of squares, in an order that depends only on the number of elements, not on their address or on the GPU. A
// fixed number of threads each add up their own elements. Then each block's threads are added by halves, and then, in a
// second launch, the blocks likewise. Many arrays share the two launches.
#pragma once

#include "cuda/packet.h"

namespace mdist::cuda {

constexpr unsigned kSquareBlocks = 1024; // at most
constexpr unsigned kSquareSums = 4;      // sums per thread, so that additions need not wait for each other

/// One of the arrays of a launch. Its blocks stand side by side.
struct SquaresItem {
    const char *from;
    uint64_t elements;
    double *sum;
    uint32_t first_chunk; // its first block
    uint16_t blocks;
    Access access;
};

constexpr unsigned kSquareItems = 64;

/// The arrays of a launch, all of one type.
struct SquaresBatch {
    uint32_t count = 0;
    uint32_t blocks = 0;    // of all items
    double *sums = nullptr; // one for each block
    SquaresItem items[kSquareItems] = {};
};

template <typename Format>
MDIST_BOTH constexpr unsigned square_blocks(uint64_t elements) {
    constexpr uint64_t each = uint64_t{kThreads} * kLanes<typename Format::Element> * 4;
    const uint64_t blocks = elements / each + 1;
    return blocks < kSquareBlocks ? static_cast<unsigned>(blocks) : kSquareBlocks;
}

template <typename Format>
MDIST_BOTH double squares_of_thread(const SquaresItem &work, uint64_t thread, uint64_t threads) {
    using Element = typename Format::Element;
    constexpr unsigned lanes = kLanes<Element>;
    double sums[kSquareSums] = {};
    for (uint64_t begin = thread * lanes; begin < work.elements; begin += threads * lanes) {
        const uint64_t left = work.elements - begin;
        const Position at = {begin, 1, left < lanes ? static_cast<unsigned>(left) : lanes, work.access};
        const auto row = load_row<lanes>(static_cast<const Element *>(nullptr), work.from, at);
        MDIST_UNROLL for (unsigned i = 0; i < lanes; ++i) { // missing elements are 0 and add nothing
            const double value = static_cast<double>(Format::load(row.lane[i]));
            sums[i % kSquareSums] += value * value;
        }
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// The same for a thread of the launch.
template <typename Format>
MDIST_BOTH double squares_of_thread(const SquaresBatch &batch, uint32_t block, unsigned thread) {
    const SquaresItem &item = batch.items[item_of(batch, block)];
    return squares_of_thread<Format>(item, uint64_t{block - item.first_chunk} * kThreads + thread,
                                     uint64_t{item.blocks} * kThreads);
}

/// A thread's share of the sum over the blocks' sums.
MDIST_BOTH double sums_of_thread(const double *sums, unsigned count, unsigned thread) {
    double sum = 0;
    for (unsigned i = thread; i < count; i += kThreads) sum += sums[i];
    return sum;
}

/// One thread's step in adding up a block's sums by halves. All threads call it for half = kThreads / 2, ..., 1.
MDIST_BOTH void add_halves(double *sums, unsigned thread, unsigned half) {
    if (thread < half) sums[thread] += sums[thread + half];
}

} // namespace mdist::cuda
