// SPDX-License-Identifier: Apache-2.0
#include "api/description.h"

#include "api/check.h"
#include "util/text.h"

#include <iterator>

namespace mdist {
namespace {

/// By mdist_collective_kind_t.
constexpr CallKind kKinds[] = {
    nullptr,           &calls::kAllReduce,     &calls::kBroadcast,    &calls::kAllGather,    &calls::kReduceScatter,
    &calls::kAllToAll, &calls::kAllToAllParts, &calls::kReduceToRoot, &calls::kGatherToRoot, &calls::kScatter,
    &calls::kBarrier};
constexpr int32_t kLast = static_cast<int32_t>(std::size(kKinds)) - 1;

/// Refuses what this collective has no use for, rather than ignore it.
void need_nothing_more(const mdist_collective_description_t &from, CallKind kind) {
    const PatternTraits &traits = kind->traits();
    if (!traits.sums && from.op != 0)
        throw invalid(
            text("the description's op is ", from.op, ", but ", kind->name(), " does not reduce; set it to 0"));
    if (!traits.has_root) need_zero(from.root, "the description's root, of a call without root,");
    if (kind == &calls::kBarrier) need_zero(from.buffer_count, "the description's buffer_count, of a barrier,");
    const bool has_no_outputs = kind == &calls::kBroadcast || kind == &calls::kBarrier;
    if ((has_no_outputs && from.outputs != nullptr) || (kind == &calls::kBarrier && from.inputs != nullptr))
        throw invalid(text("the description has ", from.outputs != nullptr ? "outputs" : "inputs", ", which ",
                           kind->name(), " does not take; set them to NULL"));
    if (kind != &calls::kAllToAllParts && (from.input_parts != nullptr || from.output_parts != nullptr))
        throw invalid(text("the description has parts, which ", kind->name(), " does not take; set them to NULL"));
}

} // namespace

Call described_call(const mdist_collective_description_t *description) {
    need(description, "the description");
    const mdist_collective_description_t from = read_options(description, "the description");
    if (from.kind < MDIST_COLLECTIVE_ALL_REDUCE || from.kind > kLast)
        throw invalid(text("the description's kind is ", from.kind,
                           "; use MDIST_COLLECTIVE_ALL_REDUCE (1) to MDIST_COLLECTIVE_BARRIER (10)"));
    const CallKind kind = kKinds[from.kind];
    need_nothing_more(from, kind);
    const mdist_buffer_t *const outputs = kind == &calls::kBroadcast ? from.inputs : from.outputs;
    Call call = call_of(kind, from.op, from.inputs, outputs, from.buffer_count);
    call.root = from.root;
    call.input_parts = from.input_parts;
    call.output_parts = from.output_parts;
    return call;
}

} // namespace mdist
