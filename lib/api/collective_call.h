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
    Call call = call_of(&calls::kAllToAllParts, 0, inputs, outputs, count);
    call.input_parts = input_parts;
    call.output_parts = output_parts;
    return call;
}

/// How the program knows the arrays of a call.
struct ArrayNames {
    const char *inputs = "inputs";
    const char *outputs = "outputs";
    const char *input_parts = "input_parts";
    const char *output_parts = "output_parts";
};

/// Checks that replica `id` has given the arrays of its call, which counts parts for `replicas`. Where buffers on one
/// side belong to the root only, that side is ignored on other replicas: their call gets buffers without elements
/// there, which `absent` keeps. The root is still a replica id.
void need_arrays(Call &call, uint32_t id, uint32_t replicas, const ArrayNames &names,
                 std::vector<mdist_buffer_t> &absent);
/// Checks all that replica `id` can know of its call, which has its place among `replicas`.
void check_placed(const Job &job, uint32_t id, const Call &call, uint32_t replicas);

/// Starts a checked call.
void start_work(Replica &self, const GroupSeat &place, const Call &call, uint64_t timeout_ns, mdist_work_t **out);

/// Checks the call that `asked()` gives, and runs `body(Replica &, const GroupSeat &, const Call &, timeout_ns)`, with
/// the call as it is for the group that the options name.
template <class Asked, class Body>
mdist_status_t collective_guard(const char *function, Asked &&asked, const ArrayNames &names, mdist_replica_t *replica,
                                Others others, const mdist_call_options_t *options, mdist_error_t **error,
                                Body &&body) {
    return replica_guard(function, replica, others, error, [&](Replica &self) {
        const uint64_t timeout_ns = timeout_of(self.job(), options);
        self.require_concurrent(function);
        const GroupSeat place = seat_of(self, options);
        Call own = asked();
        std::vector<mdist_buffer_t> absent;
        need_arrays(own, self.id(), place.seat.replicas, names, absent);
        place.place(own);
        with_operator(own, [&](const Call &known) {
            check_placed(self.job(), self.id(), known, place.seat.replicas);
            body(self, place, known, timeout_ns);
        });
    });
}

} // namespace mdist
