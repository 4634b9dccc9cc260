// SPDX-License-Identifier: Apache-2.0
#include "strategy/job/release.h"

#include "comm/collectives.h"
#include "comm/mail/mail.h"
#include "strategy/job/party.h"
#include "util/text.h"

#include <utility>

namespace mdist {
namespace {

/// The failure of a replica's call. Adds the operation and replica if it has none.
Failure cause_of(const char *operation, uint32_t replica, const Failure &failure) noexcept {
    Failure cause = failure;
    if (cause.operation().empty()) std::move(cause).operation(operation);
    if (cause.replica() == MDIST_NONE) std::move(cause).replica(replica);
    return cause;
}

} // namespace

void release_callback(Group &group, const char *operation, uint32_t replica, int64_t native,
                      FunctionRef<std::string()> sentence) noexcept {
    group.release(failure_or(out_of_memory().replica(replica), [&] {
        return Failure(MDIST_ERR_CALLBACK, sentence()).operation(operation).replica(replica).native(native);
    }));
}

void release_failure(Group &group, const char *operation, uint32_t replica, const Failure &failure) noexcept {
    group.release(cause_of(operation, replica, failure));
}

void release_refusal(Party &party, const char *function, const Failure &failure) {
    Communication &comm = party.job().comm;
    const Failure cause = cause_of(function, party.id(), failure);
    if (comm.workers() == nullptr || !party.concurrent() || !party.idle()) return comm.group().release(cause);
    comm.group().refuse(cause);
    try {
        perform_collective(comm.executors(), party.local_index(), refusal_of(function, cause), 0);
        // Now all replicas are here, and none posts any more.
        if (!comm.mail().used()) return comm.group().release_alike(cause);
    } catch (const std::exception &) {
        // Not all refuse it.
    }
    comm.group().release(cause);
}

void release_merge(Party &party, const char *function, const Failure &failure, uint64_t refusals_before) noexcept {
    Communication &comm = party.job().comm;
    const Failure cause = cause_of(function, party.id(), failure);
    const bool may_be_alike = comm.group().refusals() != refusals_before && !comm.mail().used();
    if (may_be_alike && comm.all_refuse(function, cause)) return comm.group().release_alike(cause);
    comm.group().release(cause);
}

void release_ended(Group &group, uint32_t replica) noexcept {
    release_callback(group, "mdist_run", replica, 0,
                     [replica] { return text("the step of replica ", replica, " ended its thread"); });
}

} // namespace mdist
