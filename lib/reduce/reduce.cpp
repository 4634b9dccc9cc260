// SPDX-License-Identifier: Apache-2.0
#include "reduce/reduce.h"

#include <mdist/tensor.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "reduce/kernels.h"
#include "reduce/variants.h"

namespace mdist::reduce {
namespace {

// Where more than kFanIn sources are reduced, partials of so many bytes each wait on the stack for their sibling, one
// for every level of the tree above the kernels: small enough to stay in the first cache.
constexpr std::size_t kBlockBytes = 2048;

struct alignas(kMaxStep) Block {
    unsigned char bytes[kBlockBytes];
};

/// Runs the kernel on any number of elements: what is left over at the end takes the way through padded copies.
void run(const Kernel &kernel, std::size_t count, Span span) {
    const std::size_t left = span.elements % kernel.step;
    span.elements -= left;
    if (span.elements > 0) kernel.run(span);
    if (left == 0) return;

    alignas(kMaxStep) unsigned char padded[kFanIn][kMaxStep];
    alignas(kMaxStep) unsigned char result[kMaxStep];
    const void *sources[kFanIn];
    for (std::size_t s = 0; s < count; ++s) {
        const char *from = static_cast<const char *>(span.sources[s]) + span.source_offset;
        std::memset(padded[s], 0, kMaxStep);
        std::memcpy(padded[s], from + span.elements * kernel.source_size, left * kernel.source_size);
        sources[s] = padded[s];
    }
    void *destination = result;
    Span rest = span;
    rest.sources = sources;
    rest.source_offset = 0;
    rest.destinations = &destination;
    rest.destination_offset = 0;
    rest.destination_count = 1;
    rest.elements = kernel.step;
    kernel.run(rest);
    for (std::size_t d = 0; d < span.destination_count; ++d) {
        char *to = static_cast<char *>(span.destinations[d]) + span.destination_offset;
        std::memcpy(to + span.elements * kernel.destination_size, result, left * kernel.destination_size);
    }
}

/// Writes the partial of `count` sources to `out`, for as many elements as fit a block.
void reduce_partial(const KernelSet &set, const void *const *sources, std::size_t offset, std::size_t count,
                    std::size_t elements, void *out) {
    if (count <= kFanIn) {
        run(set.partial[count], count, {sources, offset, &out, 0, 1, elements, Scale::kNone, 0, 0});
        return;
    }
    const std::size_t left = std::bit_floor(count - 1);
    Block sibling;
    reduce_partial(set, sources, offset, left, elements, out);
    reduce_partial(set, sources + left, offset, count - left, elements, sibling.bytes);
    const void *const partials[] = {out, sibling.bytes};
    run(set.merge, 2, {partials, 0, &out, 0, 1, elements, Scale::kNone, 0, 0});
}

/// More sources than a kernel takes: block by block, the two halves of the tree and then their sum. All sources are
/// read before a destination is written, which may be one of them.
void reduce_many(const KernelSet &set, std::size_t count, const Span &whole) {
    const std::size_t left = std::bit_floor(count - 1);
    const std::size_t block = kBlockBytes / set.merge.source_size;
    Block lower;
    Block upper;
    const void *const partials[] = {lower.bytes, upper.bytes};
    for (std::size_t at = 0; at < whole.elements; at += block) {
        const std::size_t elements = std::min(block, whole.elements - at);
        const std::size_t offset = at * set.finish.destination_size;
        reduce_partial(set, whole.sources, offset, left, elements, lower.bytes);
        reduce_partial(set, whole.sources + left, offset, count - left, elements, upper.bytes);
        Span span = whole;
        span.sources = partials;
        span.destination_offset = offset;
        span.elements = elements;
        run(set.finish, 2, span);
    }
}

void set_scale(Span &span, const Operation &operation) {
    if (operation.op != Op::kMean) return;
    // The reciprocal of a power of two is exact, so multiplying by it rounds as dividing does.
    const bool exact = std::has_single_bit(operation.divisor);
    span.scale = exact ? Scale::kMultiply : Scale::kDivide;
    span.factor32 = static_cast<float>(operation.divisor);
    span.factor64 = static_cast<double>(operation.divisor);
    if (exact) span.factor32 = 1 / span.factor32;
    if (exact) span.factor64 = 1 / span.factor64;
}

void reduce_by(const KernelTable &table, const Operation &operation, Span span, std::size_t source_count) {
    if (span.elements == 0 || span.destination_count == 0) return;
    set_scale(span, operation);
    const Op op = operation.op == Op::kMean ? Op::kSum : operation.op;
    const KernelSet &set = table.sets[operation.dtype][static_cast<int32_t>(op)];
    if (source_count <= kFanIn) {
        run(set.reduce[source_count], source_count, span);
    } else {
        reduce_many(set, source_count, span);
    }
}

} // namespace

void reduce(const Operation &operation, const void *const *sources, std::size_t source_count, void *const *destinations,
            std::size_t destination_count, std::size_t elements) noexcept {
#ifdef MDIST_REDUCE_BY_REFERENCE
    reduce_reference(operation, sources, source_count, destinations, destination_count, elements);
#else
    static const InstructionSet best = best_instruction_set();
    reduce_with(best, operation, sources, source_count, destinations, destination_count, elements);
#endif
}

void reduce_with(InstructionSet set, const Operation &operation, const void *const *sources, std::size_t source_count,
                 void *const *destinations, std::size_t destination_count, std::size_t elements) noexcept {
    reduce_by(table_of(set), operation, {sources, 0, destinations, 0, destination_count, elements, Scale::kNone, 0, 0},
              source_count);
}

} // namespace mdist::reduce
