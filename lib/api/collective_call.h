// SPDX-License-Identifier: Apache-2.0
// What the blocking and the started form of a collective in replica context have in common: their arguments and checks.
#pragma once

#include "api/replica_guard.h"
#include "comm/call.h"

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
    Call call = call_of(CallKind::kBroadcast, 0, buffers, buffers, count);
    call.root = root;
    return call;
}

/// Checks `call` and runs `body(Replica &, timeout_ns)` with it.
template <class Body>
mdist_status_t collective_guard(const char *function, const Call &call, mdist_replica_t *replica,
                                const mdist_call_options_t *options, mdist_error_t **error, Body &&body) {
    return replica_guard(function, replica, true, error, [&](Replica &self) {
        need_array(call.inputs, call.buffer_count, call.kind == CallKind::kBroadcast ? "buffers" : "inputs");
        need_array(call.outputs, call.buffer_count, "outputs");
        const uint64_t timeout_ns = timeout_of(options);
        self.require_together(function);
        check_call(call, self.strategy().replica_count());
        body(self, timeout_ns);
    });
}

} // namespace mdist
