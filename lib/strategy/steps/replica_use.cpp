// SPDX-License-Identifier: Apache-2.0
#include "strategy/steps/replica_use.h"

#include "strategy/job/context.h"
#include "util/text.h"

namespace mdist {
namespace {

/// Tells the step about a call on another thread, since that is probably why it will fail.
Failure wrong_thread(Replica &replica, const char *function) {
    Failure failure =
        Failure(MDIST_ERR_WRONG_CONTEXT, text(function, ": this thread does not run the step of replica ", replica.id(),
                                              ". Call it on the thread on which the step runs, or open the run with "
                                              "mdist_run_begin (threads.h), which"
                                              " lets any thread work for a replica"))
            .replica(replica.id());
    replica.last_failure.note(failure.message());
    return failure;
}

Failure in_function(const Replica &replica, const char *function) {
    return Failure(MDIST_ERR_WRONG_CONTEXT, text(function,
                                                 " cannot be called in a merge or update function, only in a step. Use "
                                                 "the functions of cross-replica context (those with a strategy) here"))
        .replica(replica.id());
}

} // namespace

ReplicaUse::ReplicaUse(Replica &replica, const char *function, bool merging) {
    Context::require_not_done(function);
    if (!replica.entered) {
        const Context *context = Context::of(replica.job());
        if (context != nullptr && context->party() == &replica) return;
        if (context != nullptr && context->kind() != Context::Kind::kReplica) throw in_function(replica, function);
        throw wrong_thread(replica, function);
    }
    // Checked before the replica's user, since the user may be this thread: in a merge function.
    if (!merging && replica.merging) throw in_function(replica, function);
    if (replica.in_use.exchange(true))
        throw Failure(MDIST_ERR_FAILED_PRECONDITION, text(function, ": another thread is in a call with replica ",
                                                          replica.id(), "; wait until that call returns"))
            .reason("busy");
    taken_ = &replica;
    const bool left = !replica.entered; // while this waited for its turn
    if (!left && (merging || !replica.merging)) return;
    replica.in_use = false;
    throw left ? wrong_thread(replica, function) : in_function(replica, function);
}

void ReplicaUse::end() noexcept {
    if (taken_ != nullptr) taken_->in_use = false;
    taken_ = nullptr;
}

} // namespace mdist
