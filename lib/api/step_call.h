// SPDX-License-Identifier: Apache-2.0
// Calls the caller's step on a replica, which has a handle as long as the step runs.
#pragma once

#include "api/attachments.h"
#include "api/replica_guard.h"
#include "util/callback.h"
#include "util/text.h"

namespace mdist {

/// `who` returns the subject of an error sentence. `call` takes the replica's handle. It is valid until the
/// replica's work has ended: functions of mdist_work_on_done may use it after `call` has returned.
template <class Who, class Call>
int32_t call_with_handle(Strategy &strategy, Replica &replica, const Who &who, const Call &call) {
    mdist_replica_t *const handle = renew_handle(strategy, replica);
    Why why;
    const int32_t code = call_back(
        who, [&] { return call(handle); }, &why);
    if (!why.failed_call.empty()) replica.last_failure.note(std::move(why.failed_call));
    if (!why.said.empty()) replica.said = std::move(why.said);
    return code;
}

inline int32_t call_step(Strategy &strategy, Replica &replica, mdist_step_fn step, void *user_data) {
    return call_with_handle(
        strategy, replica, [&] { return text("the step of replica ", replica.id()); },
        [&](mdist_replica_t *handle) { return step(handle, user_data); });
}

} // namespace mdist
