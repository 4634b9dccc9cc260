// SPDX-License-Identifier: Apache-2.0
// Many reductions in one launch: the part of one thread in one chunk of one reduction.
//
// There are two ways. The first is for sums of up to kUnrolled floating-point sources that are all aligned alike, as
// gradients are. It has a kernel for each number of sources, which reads everything before it adds anything. The second
// is for everything else. It learns from its parameters what to do, and reads source by source.
#pragma once

#include "cuda/packet.h"

namespace mdist::cuda {

constexpr unsigned kUnrolled = 8;

struct ReduceItem {
    uint64_t elements;
    uint32_t first_chunk;
    uint16_t first_pointer; // its sources, then its destinations, among the batch's pointers
    uint16_t source_count;
    uint16_t destination_count;
    uint8_t head; // elements in front of the first packet
    Access access;
};

template <unsigned items_, unsigned pointers_>
struct ReduceBatch {
    static constexpr unsigned kItems = items_;
    static constexpr unsigned kPointers = pointers_;
    uint32_t chunks = 0;
    uint32_t count = 0;
    Combine how = Combine::kSum;
    Factor factor;
    uint64_t bias = 0; // flips the sign bit of signed integers that are compared
    ReduceItem items[items_] = {};
    char *pointers[pointers_] = {};
};

// Parameters of a launch. Larger ones take longer to start.
using SumBatch = ReduceBatch<48, 353>;
using AnyBatch = ReduceBatch<64, 1024>;
static_assert(sizeof(SumBatch) <= 4096 && sizeof(AnyBatch) <= 10240);

/// Number of packets of each source that a thread of the first way has in flight.
MDIST_BOTH constexpr unsigned packets_in_flight(unsigned sources) {
    return sources <= 2 ? 4 : sources <= 4 ? 2 : 1;
}

/// Where the canonical tree over `count` sources splits.
MDIST_BOTH constexpr unsigned split_of(unsigned count) {
    unsigned half = 1;
    while (half * 2 < count) half *= 2;
    return half;
}

/// Number of elements in a chunk.
template <typename Format>
MDIST_BOTH constexpr uint64_t chunk_elements(unsigned packets) {
    return uint64_t{kThreads} * packets * kLanes<typename Format::Element>;
}

// The first way: unrolled sums.

template <typename Format, unsigned low, unsigned high>
MDIST_BOTH typename Format::Value sum_of(const typename Format::Element *elements, unsigned stride) {
    if constexpr (high - low == 1) {
        return Format::load(elements[low * stride]);
    } else {
        constexpr unsigned middle = low + split_of(high - low);
        return sum_of<Format, low, middle>(elements, stride) + sum_of<Format, middle, high>(elements, stride);
    }
}

/// Adds up `packets` packets of every source, kThreads packets apart, beginning at a byte offset.
template <typename Format, unsigned sources, unsigned packets>
MDIST_BOTH void sum_packets(char *const *pointers, unsigned destination_count, const Factor &factor, uint64_t offset) {
    using Element = typename Format::Element;
    constexpr unsigned lanes = kLanes<Element>;
    constexpr uint64_t stride = uint64_t{kThreads} * kPacketBytes;
    Packet read[packets][sources];
    MDIST_UNROLL for (unsigned p = 0; p < packets; ++p) {
        MDIST_UNROLL for (unsigned s = 0; s < sources; ++s) read[p][s] = load_packet(pointers[s] + offset + p * stride);
    }
    Packet sums[packets];
    MDIST_UNROLL for (unsigned p = 0; p < packets; ++p) {
        Element in[sources * lanes];
        Element out[lanes];
        __builtin_memcpy(in, read[p], sizeof in);
        MDIST_UNROLL for (unsigned i = 0; i < lanes; ++i) out[i] =
            Format::store(scaled(sum_of<Format, 0, sources>(in + i, lanes), factor));
        __builtin_memcpy(&sums[p], out, sizeof out);
    }
    for (unsigned d = 0; d < destination_count; ++d) {
        char *const to = pointers[sources + d] + offset;
        MDIST_UNROLL for (unsigned p = 0; p < packets; ++p) store_packet(to + p * stride, sums[p]);
    }
}

template <typename Format, unsigned sources>
MDIST_BOTH void sum_element(char *const *pointers, unsigned destination_count, const Factor &factor, uint64_t element) {
    using Element = typename Format::Element;
    Element in[sources];
    for (unsigned s = 0; s < sources; ++s) in[s] = reinterpret_cast<const Element *>(pointers[s])[element];
    const Element out = Format::store(scaled(sum_of<Format, 0, sources>(in, 1), factor));
    for (unsigned d = 0; d < destination_count; ++d) reinterpret_cast<Element *>(pointers[sources + d])[element] = out;
}

template <typename Format, unsigned sources, typename Batch>
MDIST_BOTH void sum_chunk(const Batch &batch, uint32_t number, unsigned thread) {
    using Element = typename Format::Element;
    constexpr unsigned lanes = kLanes<Element>;
    constexpr unsigned in_flight = packets_in_flight(sources);
    const ReduceItem &item = batch.items[item_of(batch, number)];
    char *const *const pointers = batch.pointers + item.first_pointer;
    const unsigned destinations = item.destination_count;
    const uint64_t chunk = number - item.first_chunk;
    const uint64_t packets = (item.elements - item.head) / lanes;
    if (chunk == 0) { // the ends, element by element: fewer than a packet each
        const uint64_t tail = (item.elements - item.head) % lanes;
        if (thread < item.head) sum_element<Format, sources>(pointers, destinations, batch.factor, thread);
        if (thread >= 32 && thread - 32 < tail)
            sum_element<Format, sources>(pointers, destinations, batch.factor, item.elements - tail + (thread - 32));
    }
    const uint64_t begin = chunk * (kThreads * in_flight) + thread;
    const uint64_t offset = item.head * sizeof(Element) + begin * kPacketBytes;
    if ((chunk + 1) * (kThreads * in_flight) <= packets)
        return sum_packets<Format, sources, in_flight>(pointers, destinations, batch.factor, offset);
    for (unsigned p = 0; p < in_flight; ++p)
        if (begin + p * kThreads < packets)
            sum_packets<Format, sources, 1>(pointers, destinations, batch.factor,
                                            offset + uint64_t{p} * kThreads * kPacketBytes);
}

// The second way: everything else.

constexpr unsigned kDepth = 10; // depth of the tree over as many sources as a batch has pointers

template <typename Format>
struct Values {
    typename Format::Value lane[kLanes<typename Format::Element>];
};

/// Flips the sign bit of signed integers that are compared.
template <typename Format>
MDIST_BOTH typename Format::Value biased(typename Format::Value value, uint64_t bias) {
    if constexpr (Traits<typename Format::Value>::is_float) {
        return value;
    } else {
        return static_cast<typename Format::Value>(value ^ static_cast<typename Format::Value>(bias));
    }
}

template <typename Format>
MDIST_BOTH Values<Format> load_values(const char *source, const Position &at, uint64_t bias) {
    using Element = typename Format::Element;
    const auto row = load_row<kLanes<Element>>(static_cast<const Element *>(nullptr), source, at);
    Values<Format> values;
    MDIST_UNROLL for (unsigned i = 0; i < kLanes<Element>; ++i) values.lane[i] =
        biased<Format>(Format::load(row.lane[i]), bias);
    return values;
}

template <typename Format>
MDIST_BOTH void combine_into(Combine how, const Values<Format> &left, Values<Format> &right) {
    MDIST_UNROLL for (unsigned i = 0; i < kLanes<typename Format::Element>; ++i) right.lane[i] =
        combine(how, left.lane[i], right.lane[i]);
}

/// Combines the sources along the tree, from left to right. Complete subtrees wait for their siblings; their sizes are
/// the bits of the number of pairs read so far. At the end, what is left is combined from the right.
template <typename Format>
MDIST_BOTH Values<Format> tree_of(Combine how, char *const *sources, unsigned count, const Position &at,
                                  uint64_t bias) {
    Values<Format> waiting[kDepth];
    Values<Format> value = load_values<Format>(sources[0], at, bias);
    unsigned depth = 0;
    unsigned next = 1;
    for (;;) {
        if (next < count) {
            const Values<Format> left = value;
            value = load_values<Format>(sources[next++], at, bias);
            combine_into<Format>(how, left, value);
            for (unsigned pairs = next / 2; pairs % 2 == 0; pairs /= 2)
                combine_into<Format>(how, waiting[--depth], value);
        }
        if (next >= count) break;
        waiting[depth++] = value;
        value = load_values<Format>(sources[next++], at, bias);
    }
    while (depth > 0) combine_into<Format>(how, waiting[--depth], value);
    return value;
}

template <typename Format, typename Batch>
MDIST_BOTH void reduce_at(const Batch &batch, const ReduceItem &item, const Position &at) {
    using Element = typename Format::Element;
    char *const *const pointers = batch.pointers + item.first_pointer;
    const Values<Format> values = tree_of<Format>(batch.how, pointers, item.source_count, at, batch.bias);
    Row<Element, kLanes<Element>> row;
    MDIST_UNROLL for (unsigned i = 0; i < kLanes<Element>; ++i) row.lane[i] =
        Format::store(scaled(biased<Format>(values.lane[i], batch.bias), batch.factor));
    for (unsigned d = 0; d < item.destination_count; ++d) store_row(pointers[item.source_count + d], at, row);
}

template <typename Format, typename Batch>
MDIST_BOTH void reduce_chunk(const Batch &batch, uint32_t number, unsigned thread) {
    constexpr unsigned lanes = kLanes<typename Format::Element>;
    const ReduceItem &item = batch.items[item_of(batch, number)];
    const uint64_t chunk = number - item.first_chunk;
    if (chunk == 0 && thread == 0 && item.head > 0)
        reduce_at<Format>(batch, item, {0, 1, item.head, Access::kElements});
    const uint64_t first = item.head + chunk * chunk_elements<Format>(1);
    const Position at = position_of(first, item.elements, thread, lanes, item.access);
    if (at.count > 0) reduce_at<Format>(batch, item, at);
}

} // namespace mdist::cuda
