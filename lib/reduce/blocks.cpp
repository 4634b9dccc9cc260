// SPDX-License-Identifier: Apache-2.0
#include "reduce/blocks.h"

#include "util/sanitized.h"

#include <algorithm>
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

/// The kernel that makes the partial of a node that it fits.
const Kernel &kernel_of(const KernelSet &set, Node node) {
    return node.first == nullptr ? set.partial : set.merge;
}

bool fits_kernel(Node node) {
    return node.count <= kFanIn && node.as_replicas();
}

/// The values of leaves: a stretch of each, which fits a block unless a kernel fits the node.
struct Values {
    const void *const *sources;
    std::size_t offset;
    std::size_t elements;
};

/// The address of a node's partial: a leaf's own memory if that is one, or `out` after computing it there.
const void *block_value(const KernelSet &set, Node node, const Values &from, void *out) {
    if (node.count == 1 && node.first != nullptr) return static_cast<const char *>(from.sources[0]) + from.offset;
    if (fits_kernel(node)) {
        run(kernel_of(set, node),
            {from.sources, node.count, from.offset, &out, 0, 1, from.elements, Scale::kNone, 0, 0});
        return out;
    }
    const std::size_t split = node.lower();
    Block sibling;
    const void *const halves[] = {block_value(set, node.part(0, split), from, out),
                                  block_value(set, node.part(split, node.count),
                                              {from.sources + split, from.offset, from.elements}, sibling.bytes)};
    run(set.merge, {halves, 2, 0, &out, 0, 1, from.elements, Scale::kNone, 0, 0});
    return out;
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

void write_partial(const KernelSet &set, Node node, const void *const *values, void *partial, std::size_t elements) {
    const Kernel &kernel = kernel_of(set, node);
    const std::size_t block = fits_kernel(node) ? elements : kBlockBytes / kernel.destination_size;
    for (std::size_t at = 0; at < elements; at += block)
        block_value(set, node, {values, at * kernel.source_size, std::min(block, elements - at)},
                    static_cast<char *>(partial) + at * kernel.destination_size);
}

void combine_blocks(const KernelSet &set, Node root, const Span &whole) {
    const std::size_t split = root.lower();
    const std::size_t block = kBlockBytes / set.finish.source_size;
    Block lower;
    Block upper;
    for (std::size_t at = 0; at < whole.elements; at += block) {
        Span span = whole;
        span.elements = std::min(block, whole.elements - at);
        const std::size_t offset = at * kernel_of(set, root).source_size;
        const void *const halves[] = {
            block_value(set, root.part(0, split), {whole.sources, offset, span.elements}, lower.bytes),
            block_value(set, root.part(split, root.count), {whole.sources + split, offset, span.elements},
                        upper.bytes)};
        span.sources = halves;
        span.source_count = 2;
        span.destination_offset = at * set.finish.destination_size;
        run(set.finish, span);
    }
}

} // namespace mdist::reduce
