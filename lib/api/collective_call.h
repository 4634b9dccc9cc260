// SPDX-License-Identifier: Apache-2.0
// Arguments and checks shared by the blocking and the started form of a collective in replica context.
#pragma once

#include "api/group_seat.h"
#include "api/operator.h"
#include "api/replica_guard.h"
#include "comm/call/call.h"
#include "comm/call/check.h"
#include "strategy/job/call_functions.h"

#include <mdist/work.h>

#include <vector>

namespace mdist {

inline Call call_of(CallKind kind, int32_t op, const mdist_buffer_t *inputs, const mdist_buffer_t *outputs,
                    size_t count) {
    Call call;
    call.kind = kind;
    call.op = op;
    call.inputs = inputs;
    call.outputs = outputs;
    call.buffer_count = count;
    return call;
}

inline Call broadcast_of(uint32_t root, const mdist_buffer_t *buffers, size_t count) {
    Call call = call_of(&calls::kBroadcast, 0, buffers, buffers, count);
    call.root = root;
    return call;
}

inline Call rooted_call_of(CallKind kind, int32_t op, uint32_t root, const mdist_buffer_t *inputs,
                           const mdist_buffer_t *outputs, size_t count) {
    Call call = call_of(kind, op, inputs, outputs, count);
    call.root = root;
    return call;
}

/// Runs `body(call)`, with an operator of the program in place of its number, if the call has one.
template <class Body>
void with_operator(const Call &call, Body &&body) {
    if (!is_operator(call.op)) return body(call);
    const OperatorCall by_operator(call);
    body(by_operator.call());
}

inline Call parts_call_of(const mdist_buffer_t *inputs, const uint64_t *input_parts, const mdist_buffer_t *outputs,
                          const uint64_t *output_parts, size_t count) {
    static constexpr uint64_t kNone = 0; // NULL would mean a call of a kind without parts
    Call call = call_of(&calls::kAllToAllParts, 0, inputs, outputs, count);
    call.input_parts = count == 0 ? &kNone : input_parts;
    call.output_parts = count == 0 ? &kNone : output_parts;
    return call;
}

/// Starts a checked call.
void start_work(Replica &self, const GroupSeat &place, const Call &call, uint64_t timeout_ns, mdist_work_t **out);

/// Checks `call` and runs `body(Replica &, const GroupSeat &, const Call &, timeout_ns)`, with the call as it is for
/// the group that the options name. Where buffers on one side belong to the root only, that side is ignored on other
/// replicas, and empty in the call passed to `body`.
template <class Body>
mdist_status_t collective_guard(const char *function, const Call &call, mdist_replica_t *replica, Others others,
                                const mdist_call_options_t *options, mdist_error_t **error, Body &&body) {
    return replica_guard(function, replica, others, error, [&](Replica &self) {
        const PatternTraits &traits = call.kind->traits();
        const bool rooted = traits.has_root && !traits.broadcasts;
        const bool one_sided = rooted && self.id() != call.root;
        if (!one_sided || !traits.cuts)
            need_array(call.inputs, call.buffer_count, traits.broadcasts ? "buffers" : "inputs");
        if (!one_sided || traits.cuts) need_array(call.outputs, call.buffer_count, "outputs");
        const bool has_parts = call.kind == &calls::kAllToAllParts;
        if (has_parts) need_array(call.input_parts, call.buffer_count, "input_parts");
        if (has_parts) need_array(call.output_parts, call.buffer_count, "output_parts");
        const uint64_t timeout_ns = timeout_of(self.job(), options);
        self.require_concurrent(function);
        const GroupSeat place = seat_of(self, options);
        Call own = call;
        place.place(own);
        if (has_parts) own.part_count = place.seat.replicas;
        std::vector<mdist_buffer_t> absent;
        if (one_sided) {
            const mdist_buffer_t *present = traits.cuts ? call.outputs : call.inputs;
            absent.reserve(call.buffer_count + 1); // NULL would mean that calls of this kind have no buffers
            for (size_t b = 0; b < call.buffer_count; ++b) absent.push_back({nullptr, 0, present[b].dtype, 0});
            (traits.cuts ? own.inputs : own.outputs) = absent.data();
        }
        with_operator(own, [&](const Call &known) {
            check_call(known, place.seat.replicas);
            for (size_t b = 0; rooted && traits.sums && !one_sided && b < call.buffer_count; ++b)
                check_as_long(known, b);
            need_reachable(self, known);
            body(self, place, known, timeout_ns);
        });
    });
}

} // namespace mdist
