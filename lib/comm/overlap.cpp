// SPDX-License-Identifier: Apache-2.0
#include "comm/overlap.h"

#include "util/dtype.h"
#include "util/failure.h"
#include "util/text.h"

#include <algorithm>
#include <vector>

namespace mdist {
namespace {

struct Span {
    uintptr_t begin;
    uintptr_t end;
    std::size_t index;
    bool output;
};

Span span_of(const mdist_buffer_t &buffer, std::size_t index, bool output) {
    const auto begin = reinterpret_cast<uintptr_t>(buffer.data);
    return {begin, begin + buffer.elements * dtype_size(buffer.dtype), index, output};
}

bool contains(const Span &outer, const Span &inner) {
    return outer.begin <= inner.begin && inner.end <= outer.end;
}

bool in_place(CallKind kind, const Span &a, const Span &b) {
    if (a.index != b.index || a.output == b.output) return false;
    const Span &out = a.output ? a : b;
    const Span &in = a.output ? b : a;
    switch (kind) {
        case CallKind::kAllReduce:
        case CallKind::kBroadcast:
        case CallKind::kReduceToRoot:
            return in.begin == out.begin && in.end == out.end;
        case CallKind::kAllGather:
        case CallKind::kGatherToRoot:
            return contains(out, in);
        case CallKind::kReduceScatter:
        case CallKind::kScatter:
            return contains(in, out);
        default:
            return false;
    }
}

void check_two(CallKind kind, const Span &a, const Span &b) {
    const bool apart = a.end <= b.begin || b.end <= a.begin;
    if (apart || (!a.output && !b.output) || in_place(kind, a, b)) return;
    throw invalid(text(a.output ? "output " : "input ", a.index, " and ", b.output ? "output " : "input ", b.index,
                       kind == CallKind::kAllToAll ? " overlap in memory; mdist_all_to_all does not work in place"
                                                   : " overlap in memory; an output may be its own input or stand "
                                                     "apart"));
}

void append_spans(const Call &call, std::vector<Span> &spans) {
    for (std::size_t i = 0; i < call.buffer_count; ++i) {
        if (call.inputs[i].elements != 0) spans.push_back(span_of(call.inputs[i], i, false));
        if (call.outputs[i].elements != 0) spans.push_back(span_of(call.outputs[i], i, true));
    }
}

/// Calls `use` for every two that share memory.
template <typename Use>
void for_overlapping(std::vector<Span> &spans, Use use) {
    std::sort(spans.begin(), spans.end(), [](const Span &a, const Span &b) { return a.begin < b.begin; });
    // Sorted by begin: whatever overlaps span i begins before it ends. Inputs may overlap each other at will, so the
    // run behind i can be long only for nested inputs, which nobody has many of.
    for (std::size_t i = 0; i < spans.size(); ++i)
        for (std::size_t j = i + 1; j < spans.size() && spans[j].begin < spans[i].end; ++j) use(spans[i], spans[j]);
}

} // namespace

void check_overlap(const Call &call) {
    if (call.buffer_count == 0 || call.inputs == nullptr) return;
    if (call.buffer_count == 1) {
        if (call.inputs[0].elements != 0 && call.outputs[0].elements != 0)
            check_two(call.kind, span_of(call.inputs[0], 0, false), span_of(call.outputs[0], 0, true));
        return;
    }
    std::vector<Span> spans;
    spans.reserve(2 * call.buffer_count);
    append_spans(call, spans);
    for_overlapping(spans, [&](const Span &a, const Span &b) { check_two(call.kind, a, b); });
}

void check_overlap_among(const std::vector<Call> &calls) {
    std::vector<Span> spans;
    spans.reserve(2 * calls.size() * calls[0].buffer_count);
    for (const Call &call : calls) append_spans(call, spans);
    for_overlapping(spans, [&](const Span &a, const Span &b) {
        // Elements of one buffer are read on all replicas before any is written, so it may well be one and the same.
        const bool same = a.index == b.index && a.begin == b.begin && a.end == b.end;
        if (same || (!a.output && !b.output)) return;
        throw invalid(
            text(a.output ? "output " : "input ", a.index, " of a replica and ", b.output ? "output " : "input ",
                 b.index, " of another overlap in memory; an output may be an input of the same index or stand apart"));
    });
}

} // namespace mdist
