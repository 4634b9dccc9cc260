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

void Context::require_replica(const Replica &replica, const char *function) {
    const Context *context = of(replica.strategy());
    if (context != nullptr && context->replica_ == &replica) return;
    const bool merging = context != nullptr && context->kind_ != Kind::kReplica;
    throw Failure(MDIST_ERR_WRONG_CONTEXT,
                  merging ? text(function,
                                 " belongs in a step, and this is a merge or update function: take the "
                                 "functions of cross-replica context (those with a strategy) here")
                          : text(function, " for replica ", replica.id(),
                                 " belongs on the thread that runs the step of that replica"))
        .replica(static_cast<int32_t>(replica.id()));
}

} // namespace mdist
