// SPDX-License-Identifier: Apache-2.0
#include "strategy/context.h"

#include "strategy/replica.h"
#include "strategy/strategy.h"
#include "util/failure.h"
#include "util/text.h"

#include <utility>
#include <vector>

namespace mdist {
namespace {

thread_local Context *innermost_context = nullptr;

struct Scope {
    explicit Scope(std::shared_ptr<Strategy> of) : strategy(std::move(of)), context(*strategy, Context::Kind::kScope) {}
    std::shared_ptr<Strategy> strategy;
    Context context;
};

/// Those of this thread, innermost last, and gone in that order. Apart from the stack, which every step uses and which
/// so needs no destructor.
struct Scopes : std::vector<std::unique_ptr<Scope>> {
    ~Scopes() {
        while (!empty()) pop_back();
    }
};
thread_local Scopes scopes;

} // namespace

Context::Context(Replica &replica)
    : kind_(Kind::kReplica),
      local_replica_(replica.local_index()),
      strategy_(&replica.strategy()),
      replica_(&replica),
      outer_(innermost_context) {
    innermost_context = this;
}

Context::Context(Strategy &strategy, Kind kind, uint32_t local_replica)
    : kind_(kind), local_replica_(local_replica), strategy_(&strategy), replica_(nullptr), outer_(innermost_context) {
    innermost_context = this;
}

Context::~Context() {
    while (innermost_context != this) scopes.pop_back(); // left open by user code that has returned
    innermost_context = outer_;
}

const Context *Context::innermost() {
    return innermost_context;
}

const Context *Context::of(const Strategy &strategy) {
    const Context *context = innermost_context;
    while (context != nullptr && (context->strategy_ != &strategy || context->kind_ == Kind::kScope))
        context = context->outer_;
    return context;
}

bool Context::in_part_of(const Strategy &strategy) {
    const Context *context = of(strategy);
    while (context != nullptr &&
           (context->strategy_ != &strategy || context->kind_ == Kind::kScope || context->kind_ == Kind::kFetch))
        context = context->outer_;
    return context != nullptr;
}

bool Context::in_step() {
    return innermost_context != nullptr && innermost_context->kind_ == Kind::kReplica;
}

void enter_scope(std::shared_ptr<Strategy> strategy) {
    if (Context::in_step())
        throw Failure(MDIST_ERR_WRONG_CONTEXT,
                      "mdist_scope_enter belongs outside of steps; in one, enter the scope in "
                      "the function of mdist_merge_call");
    if (innermost_context != nullptr && &innermost_context->strategy() != strategy.get())
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      "this thread is in the scope, or in a merge or update function, of another strategy; leave that "
                      "first: strategies do not mix")
            .reason("other_strategy");
    scopes.reserve(scopes.size() + 1);
    scopes.push_back(std::make_unique<Scope>(std::move(strategy)));
}

void exit_scope(const mdist_strategy_t *handle) {
    const bool is_innermost = !scopes.empty() && innermost_context == &scopes.back()->context;
    if (!is_innermost || scopes.back()->strategy->public_handle != handle)
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      is_innermost ? "the scope that this thread entered last is that of another strategy; leave "
                                     "scopes in the reverse order of entering them"
                                   : "this thread has entered no scope here that it has not left")
            .reason("no_scope");
    scopes.pop_back();
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
