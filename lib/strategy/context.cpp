// SPDX-License-Identifier: Apache-2.0
#include "strategy/context.h"

#include "strategy/replica.h"
#include "util/failure.h"
#include "util/text.h"

namespace mdist {
namespace {

thread_local Context *innermost = nullptr;

} // namespace

Context::Context(Replica &replica)
    : kind_(Kind::kReplica),
      local_replica_(replica.local_index()),
      strategy_(&replica.strategy()),
      replica_(&replica),
      outer_(innermost) {
    innermost = this;
}

Context::Context(Strategy &strategy, Kind kind, uint32_t local_replica)
    : kind_(kind), local_replica_(local_replica), strategy_(&strategy), replica_(nullptr), outer_(innermost) {
    innermost = this;
}

Context::~Context() {
    innermost = outer_;
}

const Context *Context::of(const Strategy &strategy) {
    const Context *context = innermost;
    while (context != nullptr && context->strategy_ != &strategy) context = context->outer_;
    return context;
}

bool Context::in_step() {
    return innermost != nullptr && innermost->kind_ == Kind::kReplica;
}

namespace {

Failure wrong_context(const Replica &replica, const char *function, bool merging) {
    return Failure(MDIST_ERR_WRONG_CONTEXT,
                   merging ? text(function,
                                  " belongs in a step, and this is a merge or update function: take the "
                                  "functions of cross-replica context (those with a strategy) here")
                           : text(function, " for replica ", replica.id(),
                                  " belongs on the thread that runs the step of that replica"))
        .replica(static_cast<int32_t>(replica.id()));
}

} // namespace

void require_cross_replica(const Strategy &strategy, const char *function, const char *instead) {
    const Context *context = Context::of(strategy);
    if (context != nullptr && context->kind() == Context::Kind::kReplica)
        throw Failure(MDIST_ERR_WRONG_CONTEXT,
                      text(function, " belongs in cross-replica context, and this is a step: ", instead));
}

ReplicaUse::ReplicaUse(Replica &replica, const char *function, bool merging) {
    if (!replica.entered) {
        const Context *context = Context::of(replica.strategy());
        if (context != nullptr && context->replica() == &replica) return;
        throw wrong_context(replica, function, context != nullptr && context->kind() != Context::Kind::kReplica);
    }
    // Before who uses it is looked at, since that may be this thread: in a merge function.
    if (!merging && replica.merging) throw wrong_context(replica, function, true);
    if (replica.in_use.exchange(true))
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      text(function, ": another thread is in a call with replica ", replica.id(), "; one at a time"))
            .reason("busy");
    taken_ = &replica;
    const bool left = !replica.entered; // while this waited for its turn
    if (!left && (merging || !replica.merging)) return;
    replica.in_use = false;
    throw wrong_context(replica, function, !left);
}

void ReplicaUse::end() noexcept {
    if (taken_ != nullptr) taken_->in_use = false;
    taken_ = nullptr;
}

} // namespace mdist
