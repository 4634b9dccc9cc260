// SPDX-License-Identifier: Apache-2.0
#include "comm/call/overlap.h"

#include "util/dtype.h"
#include "util/failure.h"
#include "util/text.h"

#include <algorithm>

namespace mdist {
namespace {

struct Operand {
    uintptr_t begin;
    uintptr_t end;
    std::size_t index;
    bool output;
};

Operand operand_of(const mdist_buffer_t &buffer, std::size_t index, bool output) {
    const auto begin = reinterpret_cast<uintptr_t>(buffer.data);
    return {begin, begin + buffer.elements * dtype_size(buffer.dtype), index, output};
}

bool contains(const Operand &outer, const Operand &inner) {
    return outer.begin <= inner.begin && inner.end <= outer.end;
}

/// A side that is cut, or joined, contains the other one. A transpose cuts and joins, and never works in place.
bool in_place(const PatternTraits &traits, const Operand &a, const Operand &b) {
    if (a.index != b.index || a.output == b.output) return false;
    const Operand &out = a.output ? a : b;
    const Operand &in = a.output ? b : a;
    if (traits.cuts && traits.joins) return false;
    return (traits.cuts || contains(out, in)) && (traits.joins || contains(in, out));
}

void check_two(const Call &call, const Operand &a, const Operand &b) {
    const bool apart = a.end <= b.begin || b.end <= a.begin;
    const PatternTraits &traits = call.kind->traits();
    if (apart || (!a.output && !b.output) || in_place(traits, a, b)) return;
    throw invalid(text(a.output ? "output " : "input ", a.index, " and ", b.output ? "output " : "input ", b.index,
                       " overlap in memory; ",
                       traits.cuts && traits.joins
                           ? text(call.kind->name(), " does not work in place")
                           : std::string("an output must use the memory of its own input or separate memory")));
}

void append_operands(const Call &call, std::vector<Operand> &operands) {
    for (std::size_t i = 0; i < call.buffer_count; ++i) {
        if (call.inputs[i].elements != 0) operands.push_back(operand_of(call.inputs[i], i, false));
        if (call.outputs[i].elements != 0) operands.push_back(operand_of(call.outputs[i], i, true));
    }
}

/// Calls `use` for every pair of operands that share memory.
template <typename Use>
void for_overlapping(std::vector<Operand> &operands, Use use) {
    std::sort(operands.begin(), operands.end(), [](const Operand &a, const Operand &b) { return a.begin < b.begin; });
    // Sorted by begin: whatever overlaps operand i begins before operand i ends. Inputs may overlap each other freely,
    // so the inner loop can be long only for nested inputs, which are rare.
    for (std::size_t i = 0; i < operands.size(); ++i)
        for (std::size_t j = i + 1; j < operands.size() && operands[j].begin < operands[i].end; ++j)
            use(operands[i], operands[j]);
}

} // namespace

void check_overlap(const Call &call) {
    if (call.buffer_count == 0 || call.inputs == nullptr) return;
    if (call.buffer_count == 1) {
        if (call.inputs[0].elements != 0 && call.outputs[0].elements != 0)
            check_two(call, operand_of(call.inputs[0], 0, false), operand_of(call.outputs[0], 0, true));
        return;
    }
    std::vector<Operand> operands;
    operands.reserve(2 * call.buffer_count);
    append_operands(call, operands);
    for_overlapping(operands, [&](const Operand &a, const Operand &b) { check_two(call, a, b); });
}

void check_overlap_among(const std::vector<Call> &calls) {
    std::vector<Operand> operands;
    operands.reserve(2 * calls.size() * calls[0].buffer_count);
    for (const Call &call : calls) append_operands(call, operands);
    for_overlapping(operands, [&](const Operand &a, const Operand &b) {
        // All replicas' elements of a buffer are read before any is written, so the buffers may be one and the same.
        const bool same = a.index == b.index && a.begin == b.begin && a.end == b.end;
        if (same || (!a.output && !b.output)) return;
        throw invalid(text(a.output ? "output " : "input ", a.index, " of a replica and ",
                           b.output ? "output " : "input ", b.index,
                           " of another overlap in memory; an output must use the memory of the input of the same "
                           "index or separate memory"));
    });
}

} // namespace mdist
