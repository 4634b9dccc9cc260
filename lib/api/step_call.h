// SPDX-License-Identifier: Apache-2.0
// Steps as the caller wrote them, called on a replica that has a handle for as long as they run.
#pragma once

#include "api/replica_guard.h"
#include "api/replica_handle.h"
#include "util/callback.h"
#include "util/text.h"

namespace mdist {

/// `who` begins a sentence, `call` takes the replica's handle, which dies with it.
template <class Who, class Call>
int32_t call_with_handle(Replica &replica, const Who &who, const Call &call) {
    struct Retirement {
        Replica &replica;
        ~Retirement() { retire_handle(replica); }
    };
    const Retirement retirement{replica};
    mdist_replica_t *const handle = renew_handle(replica);
    return call_back(who, [&] { return call(handle); });
}

inline int32_t call_step(Replica &replica, mdist_step_fn step, void *user_data) {
    return call_with_handle(
        replica, [&] { return text("the step of replica ", replica.id()); },
        [&](mdist_replica_t *handle) { return step(handle, user_data); });
}

} // namespace mdist
