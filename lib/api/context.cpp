// SPDX-License-Identifier: Apache-2.0
#include "strategy/context.h"

#include "api/check.h"
#include "api/guard.h"
#include "api/replica_handle.h"
#include "cluster/config.h"
#include "strategy/strategy.h"

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
    const auto strategy = std::make_shared<Strategy>(config);
    strategy->public_handle = publish<mdist_strategy_t>(strategy);
    return strategy;
}

/// The process's built-in default; made anew should somebody have destroyed it.
mdist_strategy_t *built_in_strategy() {
    static std::mutex mutex;
    static mdist_strategy_t *handle = nullptr;
    const std::scoped_lock lock(mutex);
    if (!try_pin(handle)) handle = make_built_in()->public_handle;
    return handle;
}

/// A replica in a step that never ends, of a strategy of its own: threads that ask do not wait for each other, and the
/// built-in default strategy is not busy.
struct BuiltInReplica {
    BuiltInReplica() : strategy(make_built_in()) {
        strategy->open_runs().begin({}, 0, 0);
        strategy->open_runs().enter(0, [this](Replica &inside) { handle = renew_handle(inside); });
    }
    ~BuiltInReplica() { mdist_strategy_destroy(strategy->public_handle); }
    BuiltInReplica(const BuiltInReplica &) = delete;
    BuiltInReplica &operator=(const BuiltInReplica &) = delete;

    /// Nobody has made it exit, and nothing has failed, which would end its step for ever.
    bool stands() const { return try_pin(handle) && strategy->group().ready(); }

    std::shared_ptr<Strategy> strategy;
    mdist_replica_t *handle = nullptr;
};

/// This thread's.
mdist_replica_t *built_in_replica() {
    thread_local std::unique_ptr<BuiltInReplica> own;
    if (!own || !own->stands()) own = std::make_unique<BuiltInReplica>();
    return own->handle;
}

std::atomic<mdist_strategy_t *> default_strategy{nullptr};

/// nullptr: none is set, or it was destroyed.
mdist_strategy_t *set_default() {
    mdist_strategy_t *const handle = default_strategy.load();
    return try_pin(handle) ? handle : nullptr;
}

} // namespace

mdist_status_t mdist_scope_enter(mdist_strategy_t *strategy, mdist_error_t **error) {
    return guard("mdist_scope_enter", error, [&] { enter_scope(pin(strategy).shared()); });
}

mdist_status_t mdist_scope_exit(mdist_strategy_t *strategy, mdist_error_t **error) {
    return guard("mdist_scope_exit", error, [&] { exit_scope(strategy); });
}

mdist_status_t mdist_current_strategy(mdist_strategy_t **out, mdist_error_t **error) {
    return guard("mdist_current_strategy", error, [&] {
        need(out, "out");
        if (const Context *context = Context::innermost()) {
            *out = context->strategy().public_handle;
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
            *out = context->replica() != nullptr ? current_handle(*context->replica()) : nullptr;
        else
            *out = set_default() != nullptr ? nullptr : built_in_replica();
    });
}

mdist_status_t mdist_set_default_strategy(mdist_strategy_t *strategy, mdist_error_t **error) {
    return guard("mdist_set_default_strategy", error, [&] {
        if (Context::innermost() != nullptr)
            throw Failure(MDIST_ERR_WRONG_CONTEXT,
                          "mdist_set_default_strategy belongs outside of steps, scopes, merge "
                          "and update functions; this thread is in one");
        if (strategy != nullptr) pin(strategy);
        default_strategy = strategy;
    });
}
