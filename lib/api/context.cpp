// SPDX-License-Identifier: Apache-2.0
#include "strategy/job/context.h"

#include "api/attachments.h"
#include "api/check.h"
#include "api/guard.h"
#include "cluster/config.h"

#include <mdist/context.h>

#include <atomic>
#include <memory>
#include <mutex>

using namespace mdist;

namespace {

std::shared_ptr<Strategy> make_built_in() {
    Config config;
    config.set("devices", "cpu", "the default strategy");
    config.set("executor", "caller", "the default strategy");
    watch_forks();
    auto strategy = std::make_shared<Strategy>(config);
    publish_strategy(strategy);
    return strategy;
}

/// Returns the process's built-in default strategy. Makes a new one if the program destroyed it.
mdist_strategy_t *built_in_strategy() {
    static std::mutex mutex;
    static mdist_strategy_t *handle = nullptr;
    const std::scoped_lock lock(mutex);
    if (!try_pin(handle)) handle = handle_of(*make_built_in());
    return handle;
}

/// A replica in a step that never ends. It has its own strategy, so that threads do not wait for each other and the
/// built-in default strategy is not busy.
struct BuiltInReplica {
    BuiltInReplica() : strategy(make_built_in()) {
        strategy->open_runs().begin({}, 0, 0);
        strategy->open_runs().enter(0, [this](Replica &inside) { handle = renew_handle(*strategy, inside); });
    }
    ~BuiltInReplica() {
        mdist_replica_exit(handle, 0, nullptr); // else the run would last, and with it the strategy
        mdist_strategy_destroy(handle_of(*strategy));
    }
    BuiltInReplica(const BuiltInReplica &) = delete;
    BuiltInReplica &operator=(const BuiltInReplica &) = delete;

    /// Whether the replica is usable: the program has not exited it, and no failure has ended its step for good.
    bool stands() const { return try_pin(handle) && strategy->comm.group().ready(); }

    std::shared_ptr<Strategy> strategy;
    mdist_replica_t *handle = nullptr;
};

/// Returns this thread's built-in replica.
mdist_replica_t *built_in_replica() {
    thread_local std::unique_ptr<BuiltInReplica> own;
    if (!own || !own->stands()) own = std::make_unique<BuiltInReplica>();
    return own->handle;
}

std::atomic<mdist_strategy_t *> default_strategy{nullptr};

/// Returns the default strategy that the program set; nullptr: none is set, or it was destroyed.
mdist_strategy_t *set_default() {
    mdist_strategy_t *const handle = default_strategy.load();
    return try_pin(handle) ? handle : nullptr;
}

} // namespace

mdist_status_t mdist_scope_enter(mdist_strategy_t *strategy, mdist_error_t **error) {
    return guard("mdist_scope_enter", error, [&] { enter_scope(pin(strategy).shared()); });
}

mdist_status_t mdist_scope_exit(mdist_strategy_t *strategy, mdist_error_t **error) {
    return guard("mdist_scope_exit", error, [&] {
        const Job *const scope = innermost_scope();
        if (scope == nullptr || handle_of(*scope) != strategy)
            throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                          scope != nullptr ? "the scope that this thread entered last belongs to another strategy. "
                                             "Leave scopes in the reverse order of entering them"
                                           : "this thread entered no scope here, or has left it already. Call "
                                             "mdist_scope_exit once for each mdist_scope_enter, on the same thread")
                .reason("no_scope");
        leave_scope();
    });
}

mdist_status_t mdist_current_strategy(mdist_strategy_t **out, mdist_error_t **error) {
    return guard("mdist_current_strategy", error, [&] {
        need(out, "out");
        if (const Context *context = Context::innermost()) {
            *out = handle_of(context->job());
        } else {
            mdist_strategy_t *const set = set_default();
            *out = set != nullptr ? set : built_in_strategy();
        }
    });
}

mdist_status_t mdist_current_replica(mdist_replica_t **out, mdist_error_t **error) {
    return guard("mdist_current_replica", error, [&] {
        need(out, "out");
        if (const Context *context = Context::innermost())
            *out = context->party() != nullptr ? current_handle(*context->party()) : nullptr;
        else
            *out = set_default() != nullptr ? nullptr : built_in_replica();
    });
}

mdist_status_t mdist_set_default_strategy(mdist_strategy_t *strategy, mdist_error_t **error) {
    return guard("mdist_set_default_strategy", error, [&] {
        if (Context::innermost() != nullptr)
            throw Failure(MDIST_ERR_WRONG_CONTEXT,
                          "mdist_set_default_strategy must not be called inside a step, scope, merge function or "
                          "update function; this thread is in one");
        if (strategy != nullptr) pin(strategy);
        default_strategy = strategy;
    });
}
