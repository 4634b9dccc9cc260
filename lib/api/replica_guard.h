// SPDX-License-Identifier: Apache-2.0
// Guards for functions of one context: they check the context before the body, and report failures to those that wait.
#pragma once

#include "api/check.h"
#include "api/guard.h"
#include "strategy/job/context.h"
#include "strategy/job/turn.h"
#include "strategy/steps/replica_use.h"
#include "strategy/strategy.h"

#include <mdist/strategy.h>

namespace mdist {

/// What other replicas do in the same call: nothing, or some may wait for this one, or all make it and wait for all.
enum class Others { kAway, kWait, kMeet };

/// Keeps the failure's message in case the step fails, too. Releases replicas that wait in the same call. If all meet
/// in it, it may be one that all refuse (release_refusal).
void note_failure(Replica &replica, const char *function, const Failure &failure, Others others);

/// Runs `body()`, and notes what it throws.
template <class Body>
void note_failures(Replica &replica, const char *function, Others others, Body &&body) {
    try {
        body();
    } catch (const std::exception &caught) {
        note_failure(replica, function, as_failure(caught), others);
        throw;
    }
}

/// For functions that take a replica: checks replica context, and runs `body(Replica &)`.
template <class Body>
mdist_status_t replica_guard(const char *function, mdist_replica_t *handle, Others others, mdist_error_t **error,
                             Body &&body) {
    return guard(function, error, [&] {
        const auto replica = pin(handle);
        const ReplicaUse use(*replica, function);
        note_failures(*replica, function, others, [&] { body(*replica); });
    });
}

/// For functions of cross-replica context: runs `body(Strategy &)` with the turn. `instead` is what a step should call.
template <class Body>
mdist_status_t strategy_guard(const char *function, mdist_strategy_t *handle, const char *instead,
                              mdist_error_t **error, Body &&body) {
    return guard(function, error, [&] {
        const auto strategy = pin(handle);
        const Turn turn(*strategy, function, instead);
        body(*strategy);
    });
}

/// Ends the job's collectives on all workers, if there are several.
void tell_workers(Job &job, const char *function, const Failure &failure) noexcept;
/// The same for a call that all workers make, and before which this worker had entered `entered` operations with them.
/// If it has entered none since, it has refused the call. If all others refuse it, too, the job goes on.
void tell_workers(Job &job, const char *function, const Failure &failure, uint64_t entered) noexcept;

/// Runs `body(Strategy &)` of a call that all workers make together, with the turn. The others wait, so they are told
/// of every failure here, even of an error in this worker's own arguments. `body(Strategy &, bool &others_wait)` can
/// say that the others do not wait.
template <class Body>
void share_call(Strategy &strategy, const char *function, Body &&body) {
    bool others_wait = true;
    const uint64_t entered = strategy.comm.operations_entered();
    try {
        if constexpr (std::is_invocable_v<Body, Strategy &, bool &>)
            body(strategy, others_wait);
        else
            body(strategy);
    } catch (const std::exception &caught) {
        if (others_wait) tell_workers(strategy, function, as_failure(caught), entered);
        throw;
    }
}

/// As strategy_guard(), for such a call.
template <class Body>
mdist_status_t shared_call_guard(const char *function, mdist_strategy_t *handle, const char *instead,
                                 mdist_error_t **error, Body &&body) {
    return strategy_guard(function, handle, instead, error,
                          [&](Strategy &strategy) { share_call(strategy, function, body); });
}

/// Returns the timeout of one call; 0: the strategy's. Throws for any error in the options.
uint64_t timeout_of(const mdist_call_options_t *options, bool takes_group = false);
/// The same for a collective in a step. The options may ask for NCCL if the strategy uses it, and for nothing else.
/// They may name a group.
uint64_t timeout_of(const Job &job, const mdist_call_options_t *options);
/// Throws UNSUPPORTED if the options name a group. For calls of all replicas.
void need_no_group(const mdist_call_options_t *options);
/// The same for messages.
void need_no_group_in_message(const mdist_call_options_t *options);
/// Returns the packs of one call, else the strategy's.
Packing packing_of(const Job &job, const mdist_call_options_t *options);
/// Throws UNSUPPORTED if a call asks for packs.
void need_no_packs(const mdist_call_options_t *options);

} // namespace mdist
