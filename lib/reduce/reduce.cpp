// SPDX-License-Identifier: Apache-2.0
#include "reduce/reduce.h"

#include "reduce/blocks.h"
#include "reduce/operator.h"
#include "reduce/variants.h"
#include "util/dtype.h"
#include "util/sanitized.h"

namespace mdist::reduce {
namespace {

void reduce_kernels(const KernelTable &table, const Operation &operation, const Span &span) {
    if (span.elements == 0 || span.destination_count == 0) return;
    const KernelSet &set = kernels_of(table, operation);
    if (span.source_count <= kFanIn) {
        run(set.reduce, span);
    } else {
        combine_blocks(set, {nullptr, span.source_count}, span);
    }
}

} // namespace

void reduce(const Operation &operation, const void *const *sources, std::size_t source_count, void *const *destinations,
            std::size_t destination_count, std::size_t elements, InstructionSet set) {
    if (operation.by != nullptr)
        return reduce_by(*operation.by, nullptr, sources, source_count, destinations, destination_count, elements);
    reduce_kernels(table_of(set), operation,
                   span_of(operation, sources, source_count, destinations, destination_count, elements));
}

double sum_of_squares(int32_t dtype, const void *data, std::size_t elements, InstructionSet set) noexcept {
    announce_read(data, elements * dtype_size(dtype));
    return table_of(set).squares[dtype](data, elements);
}

void scale(int32_t dtype, void *data, double factor, std::size_t elements, InstructionSet set) noexcept {
    const Operation sum = {dtype, Op::kSum, 1};
    const void *source = data;
    Span span = span_of(sum, &source, 1, &data, 1, elements);
    span.scale = Scale::kMultiply;
    span.factor32 = static_cast<float>(factor);
    span.factor64 = factor;
    reduce_kernels(table_of(set), sum, span);
}

} // namespace mdist::reduce
