// SPDX-License-Identifier: Apache-2.0
#include "reduce/blocks.h"

#include "util/sanitized.h"

#include <bit>
#include <cstring>

namespace mdist::reduce {
namespace {

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

/// No sanitizer is in the kernels. It learns here what they read and write.
void announce(const Kernel &kernel, const Span &span) {
    for (std::size_t s = 0; s < span.source_count; ++s)
        announce_read(static_cast<const char *>(span.sources[s]) + span.source_offset,
                      span.elements * kernel.source_size);
    for (std::size_t d = 0; d < span.destination_count; ++d)
        announce_write(static_cast<char *>(span.destinations[d]) + span.destination_offset,
                       span.elements * kernel.destination_size);
}

void run_steps(const Kernel &kernel, const Span &span) {
    if (span.elements == 0) return;
    if (MDIST_SANITIZED) announce(kernel, span);
    kernel.run(span);
}

} // namespace

const KernelSet &kernels_of(const KernelTable &table, const Operation &operation) {
    const Op op = operation.op == Op::kMean ? Op::kSum : operation.op;
    return table.sets[operation.dtype][static_cast<int32_t>(op)];
}

Span span_of(const Operation &operation, const void *const *sources, std::size_t source_count,
             void *const *destinations, std::size_t destination_count, std::size_t elements) {
    Span span = {sources, source_count, 0, destinations, 0, destination_count, elements, Scale::kNone, 0, 0};
    set_scale(span, operation);
    return span;
}

void run(const Kernel &kernel, const Span &whole) {
    const std::size_t left = whole.elements % kernel.step;
    // A copy of what was written a moment ago, in wider words, waits until all stores of the kernel before are done.
    if (left == 0) return run_steps(kernel, whole);
    Span span = whole;
    span.elements -= left;
    run_steps(kernel, span);

    alignas(kMaxStep) unsigned char padded[kFanIn][kMaxStep];
    alignas(kMaxStep) unsigned char result[kMaxStep];
    const void *sources[kFanIn];
    for (std::size_t s = 0; s < span.source_count; ++s) {
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

void block_partial(const KernelSet &set, const void *const *sources, std::size_t offset, std::size_t count,
                   std::size_t elements, void *out) {
    if (count <= kFanIn) {
        run(set.partial, {sources, count, offset, &out, 0, 1, elements, Scale::kNone, 0, 0});
        return;
    }
    const std::size_t left = std::bit_floor(count - 1);
    Block sibling;
    block_partial(set, sources, offset, left, elements, out);
    block_partial(set, sources + left, offset, count - left, elements, sibling.bytes);
    const void *const partials[] = {out, sibling.bytes};
    run(set.merge, {partials, 2, 0, &out, 0, 1, elements, Scale::kNone, 0, 0});
}

} // namespace mdist::reduce
