// SPDX-License-Identifier: Apache-2.0
#include "cuda/reduce_plan.h"

#include <mdist/collective.h>

#include <algorithm>
#include <bit>

namespace mdist::cuda {
namespace {

Factor mean_factor(uint64_t divisor) {
    const bool exact = std::has_single_bit(divisor);
    Factor factor = {exact ? Scale::kMultiply : Scale::kDivide, static_cast<float>(divisor),
                     static_cast<double>(divisor)};
    if (exact) factor.single = 1 / factor.single;
    if (exact) factor.real = 1 / factor.real;
    return factor;
}

/// Lists its sources, then its destinations.
void list_pointers(const mdist_gpu_reduction &reduction, char **pointers) {
    for (uint32_t s = 0; s < reduction.source_count; ++s)
        *pointers++ = static_cast<char *>(const_cast<void *>(reduction.sources[s]));
    for (uint32_t d = 0; d < reduction.destination_count; ++d)
        *pointers++ = static_cast<char *>(reduction.destinations[d]);
}

Access reduction_access(const mdist_gpu_reduction &reduction, unsigned &head) {
    const unsigned size = element_size(reduction.dtype);
    unsigned other = 0;
    const Access sources = access_of(reduction.sources, reduction.source_count, size, kPacketBytes, head);
    const Access destinations =
        access_of(reduction.destinations, reduction.destination_count, size, kPacketBytes, other);
    if (sources != Access::kPackets || destinations != Access::kPackets) {
        head = 0;
        return std::max({sources, destinations, Access::kElements});
    }
    if (head == other) return Access::kPackets;
    head = 0;
    return Access::kElements;
}

uint64_t chunks_of(const ReduceItem &item, const ReduceWay &way) {
    const unsigned lanes = kPacketBytes / element_size(way.dtype);
    const uint64_t elements = item.elements - item.head;
    const uint64_t each = uint64_t{kThreads} * lanes * (way.sources > 0 ? packets_in_flight(way.sources) : 1);
    return std::max<uint64_t>(1, (elements + each - 1) / each);
}

} // namespace

bool is_dtype(int32_t dtype) {
    return dtype >= MDIST_FLOAT32 && dtype <= MDIST_BOOL;
}

bool is_float(int32_t dtype) {
    return dtype >= MDIST_FLOAT32 && dtype <= MDIST_BFLOAT16;
}

bool is_signed(int32_t dtype) {
    return dtype == MDIST_INT8 || dtype == MDIST_INT16 || dtype == MDIST_INT32 || dtype == MDIST_INT64;
}

unsigned element_size(int32_t dtype) {
    constexpr unsigned sizes[] = {0, 4, 8, 2, 2, 1, 1, 4, 4, 8, 8, 2, 2, 1};
    return sizes[dtype];
}

bool alike(const ReduceWay &a, const ReduceWay &b) {
    return a.dtype == b.dtype && a.sources == b.sources && a.how == b.how && a.bias == b.bias &&
           a.factor.scale == b.factor.scale && a.factor.real == b.factor.real;
}

bool is_valid(const mdist_gpu_reduction &reduction) {
    if (!is_dtype(reduction.dtype) || reduction.source_count == 0) return false;
    if (uint64_t{reduction.source_count} + reduction.destination_count > AnyBatch::kPointers) return false;
    switch (reduction.op) {
        case MDIST_MEAN:
            return is_float(reduction.dtype) && reduction.divisor != 0;
        case MDIST_SUM:
        case MDIST_PROD:
            return reduction.dtype != MDIST_BOOL;
        case MDIST_MIN:
        case MDIST_MAX:
            return true;
        case MDIST_AND:
        case MDIST_OR:
        case MDIST_XOR:
            return !is_float(reduction.dtype);
        default:
            return reduction.op == MDIST_GPU_DIFFERENCE && reduction.source_count == 2 && reduction.dtype != MDIST_BOOL;
    }
}

ReduceWay way_of(const mdist_gpu_reduction &reduction) {
    ReduceWay way = {reduction.dtype, 0, Combine::kSum, {}, 0};
    if (reduction.op == MDIST_MEAN) {
        way.factor = mean_factor(reduction.divisor);
    } else if (reduction.source_count > 1) { // with one source, all operations give the same
        way.how = static_cast<Combine>(reduction.op);
    }
    if ((way.how == Combine::kMin || way.how == Combine::kMax) && is_signed(way.dtype))
        way.bias = uint64_t{1} << (8 * element_size(way.dtype) - 1); // the sign bit
    unsigned head = 0;
    const bool unrolled = way.how == Combine::kSum && is_float(way.dtype) && reduction.source_count <= kUnrolled &&
                          reduction.source_count + reduction.destination_count <= SumBatch::kPointers &&
                          reduction_access(reduction, head) == Access::kPackets;
    if (unrolled) way.sources = reduction.source_count;
    return way;
}

Access access_of(const void *const *addresses, unsigned count, unsigned element, unsigned unit, unsigned &head) {
    head = 0;
    if (count == 0) return Access::kPackets;
    const auto offset = [&](unsigned i) { return reinterpret_cast<uintptr_t>(addresses[i]) % unit; };
    bool same = true;
    bool whole = true;
    for (unsigned i = 0; i < count; ++i) {
        same = same && offset(i) == offset(0);
        whole = whole && offset(i) % element == 0;
    }
    if (!whole) return Access::kBytes;
    if (!same) return Access::kElements;
    head = static_cast<unsigned>((unit - offset(0)) % unit / element);
    return Access::kPackets;
}

Access rows_access(const void *array, unsigned element, unsigned row) {
    const auto address = reinterpret_cast<uintptr_t>(array);
    if (address % element != 0) return Access::kBytes;
    return address % row == 0 ? Access::kPackets : Access::kElements;
}

template <typename Batch>
size_t gather(const mdist_gpu_reduction *reductions, size_t from, size_t count, const ReduceWay &way, Batch &batch) {
    batch.how = way.how;
    batch.factor = way.factor;
    batch.bias = way.bias;
    unsigned pointers = 0;
    for (; from < count; ++from) {
        const mdist_gpu_reduction &reduction = reductions[from];
        if (reduction.elements == 0 || reduction.destination_count == 0) continue;
        const unsigned needed = reduction.source_count + reduction.destination_count;
        if (batch.count == Batch::kItems || needed > Batch::kPointers - pointers) break;
        if (!alike(way_of(reduction), way)) break;
        ReduceItem &item = batch.items[batch.count];
        unsigned head = 0;
        item.access = reduction_access(reduction, head);
        item.elements = reduction.elements;
        item.head = static_cast<uint8_t>(std::min<uint64_t>(head, reduction.elements));
        item.first_chunk = batch.chunks;
        item.first_pointer = static_cast<uint16_t>(pointers);
        item.source_count = static_cast<uint16_t>(reduction.source_count);
        item.destination_count = static_cast<uint16_t>(reduction.destination_count);
        const uint64_t chunks = chunks_of(item, way);
        if (chunks > UINT32_MAX / 2 - batch.chunks) break;
        list_pointers(reduction, batch.pointers + pointers);
        pointers += needed;
        batch.chunks += static_cast<uint32_t>(chunks);
        ++batch.count;
    }
    return from;
}

template size_t gather(const mdist_gpu_reduction *, size_t, size_t, const ReduceWay &, SumBatch &);
template size_t gather(const mdist_gpu_reduction *, size_t, size_t, const ReduceWay &, AnyBatch &);

} // namespace mdist::cuda
