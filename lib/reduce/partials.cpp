// SPDX-License-Identifier: Apache-2.0
#include "reduce/partials.h"

#include "reduce/blocks.h"
#include "reduce/operator.h"
#include "reduce/variants.h"
#include "util/dtype.h"

#include <mdist/tensor.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace mdist::reduce {
namespace {

const KernelSet &best_kernels(const Operation &operation) {
    return kernels_of(table_of(best_instruction_set()), operation);
}

} // namespace

Cut::Cut(const Spans &spans) : spans_(spans), first_(spans.workers() + 1) {
    collect(0, replicas());
    for (const Subtree &subtree : subtrees_) ++first_[spans_.worker_of(subtree.begin) + 1];
    most_ = *std::max_element(first_.begin(), first_.end());
    for (std::size_t worker = 1; worker < first_.size(); ++worker) first_[worker] += first_[worker - 1];
}

void Cut::collect(uint32_t begin, uint32_t end) {
    if (spans_.worker_of(begin) == spans_.worker_of(end - 1)) {
        subtrees_.push_back({begin, end});
        return;
    }
    const uint32_t middle = begin + std::bit_floor(end - begin - 1);
    collect(begin, middle);
    collect(middle, end);
}

std::size_t partial_size(int32_t dtype, const Cut &cut) {
    const bool half = dtype == MDIST_FLOAT16 || dtype == MDIST_BFLOAT16;
    return half && !cut.leaves() ? sizeof(float) : dtype_size(dtype);
}

void reduce_partial(const Operation &operation, const Cut &cut, uint32_t index, const void *const *sources,
                    void *partial, std::size_t elements) {
    if (elements == 0) return;
    if (cut.leaves()) {
        std::memcpy(partial, sources[0], elements * dtype_size(operation.dtype));
        return;
    }
    const std::size_t count = cut.subtrees()[index].count();
    if (operation.by != nullptr) return reduce_by(*operation.by, nullptr, sources, count, &partial, 1, elements);
    write_partial(best_kernels(operation), {nullptr, count}, sources, partial, elements);
}

void merge_partials(const Operation &operation, const Cut &fine, const Cut &coarse, uint32_t index,
                    const void *const *partials, void *partial, std::size_t elements) {
    if (elements == 0) return;
    const Subtree &whole = coarse.subtrees()[index];
    const auto *const first =
        std::lower_bound(fine.subtrees().data(), fine.subtrees().data() + fine.subtrees().size(), whole.begin,
                         [](const Subtree &part, uint32_t begin) { return part.begin < begin; });
    const auto begin = static_cast<std::size_t>(first - fine.subtrees().data());
    if (fine.leaves()) {
        // The partials are the values themselves, which may be shorter than partials.
        reduce_partial(operation, coarse, index, partials + begin, partial, elements);
        return;
    }
    std::size_t count = 1;
    while (first[count - 1].end != whole.end) ++count;
    if (count == 1) {
        std::memcpy(partial, partials[begin], elements * partial_size(operation.dtype, fine));
        return;
    }
    if (operation.by != nullptr)
        return reduce_by(*operation.by, first, partials + begin, count, &partial, 1, elements);
    write_partial(best_kernels(operation), {first, count}, partials + begin, partial, elements);
}

void combine_partials(const Operation &operation, const Cut &cut, const void *const *partials,
                      void *const *destinations, std::size_t destination_count, std::size_t elements) {
    if (elements == 0 || destination_count == 0) return;
    if (operation.by != nullptr)
        return reduce_by(*operation.by, cut.subtrees().data(), partials, cut.subtrees().size(), destinations,
                         destination_count, elements);
    const Node root = {cut.subtrees().data(), cut.subtrees().size()};
    const bool as_replicas = root.as_replicas();
    if (as_replicas && partial_size(operation.dtype, cut) == dtype_size(operation.dtype)) {
        reduce(operation, partials, root.count, destinations, destination_count, elements);
        return;
    }
    const KernelSet &set = best_kernels(operation);
    const Span span = span_of(operation, partials, root.count, destinations, destination_count, elements);
    if (as_replicas && root.count <= kFanIn) {
        run(set.finish, span);
    } else {
        combine_blocks(set, root, span);
    }
}

} // namespace mdist::reduce
