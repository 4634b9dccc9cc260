// SPDX-License-Identifier: Apache-2.0
// Casts and divisions: the part of one thread in one chunk of one array. A thread does kRow elements, and a chunk has
// kThreads rows.
#pragma once

#include "cuda/packet.h"

namespace mdist::cuda {

constexpr unsigned kRow = 4;
constexpr uint64_t kRowChunk = uint64_t{kThreads} * kRow;

struct CastWork {
    char *to;
    const char *from;
    uint64_t elements;
    double factor;
    Access access;
};

template <typename From, typename To>
MDIST_BOTH void cast_chunk(const CastWork &work, uint64_t chunk, unsigned thread) {
    const Position at = position_of(chunk * kRowChunk, work.elements, thread, kRow, work.access);
    if (at.count == 0) return;
    const auto in = load_row<kRow>(static_cast<const typename From::Element *>(nullptr), work.from, at);
    Row<typename To::Element, kRow> out;
    MDIST_UNROLL for (unsigned i = 0; i < kRow; ++i) out.lane[i] = converted<From, To>(in.lane[i], work.factor);
    store_row(work.to, at, out);
}

struct DivideWork {
    char *to;
    uint64_t elements;
    uint64_t divisor;
    bool is_signed;
    Access access;
};

template <typename Unsigned>
MDIST_BOTH void divide_chunk(const DivideWork &work, uint64_t chunk, unsigned thread) {
    const Position at = position_of(chunk * kRowChunk, work.elements, thread, kRow, work.access);
    if (at.count == 0) return;
    auto row = load_row<kRow>(static_cast<const Unsigned *>(nullptr), work.to, at);
    MDIST_UNROLL for (unsigned i = 0; i < kRow; ++i) row.lane[i] = divided(row.lane[i], work.divisor, work.is_signed);
    store_row(work.to, at, row);
}

} // namespace mdist::cuda
