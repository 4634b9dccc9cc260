// SPDX-License-Identifier: Apache-2.0
// Guards for functions of one context: what they check before their body, and who hears of a failure.
#pragma once

#include "api/check.h"
#include "api/guard.h"
#include "strategy/context.h"
#include "strategy/strategy.h"

#include <mdist/strategy.h>

namespace mdist {

/// Keeps the words for the case that the step fails too; and if replicas had to do this together, lets the others go.
void note_failure(Replica &replica, const char *function, const Failure &failure, bool together) noexcept;

/// Runs `body()` and notes what it throws.
template <class Body>
void note_failures(Replica &replica, const char *function, bool together, Body &&body) {
    try {
        body();
    } catch (const Failure &failure) {
        note_failure(replica, function, failure, together);
        throw;
    } catch (const std::exception &) { // no memory, or more asked for than there can be
        note_failure(replica, function, Failure(MDIST_ERR_OUT_OF_MEMORY, "out of memory"), together);
        throw;
    }
}

/// For functions that take a replica: runs `body(Replica &)` where functions of replica context belong.
/// `together`: other replicas may be waiting for this one in the same call.
template <class Body>
mdist_status_t replica_guard(const char *function, mdist_replica_t *handle, bool together, mdist_error_t **error,
                             Body &&body) {
    return guard(function, error, [&] {
        const auto replica = pin(handle);
        const ReplicaUse use(*replica, function);
        note_failures(*replica, function, together, [&] { body(*replica); });
    });
}

/// For functions of cross-replica context: runs `body(Strategy &)` with the turn. `instead` is what a step calls.
template <class Body>
mdist_status_t strategy_guard(const char *function, mdist_strategy_t *handle, const char *instead,
                              mdist_error_t **error, Body &&body) {
    return guard(function, error, [&] {
        const auto strategy = pin(handle);
        const Turn turn(*strategy, function, instead);
        body(*strategy);
    });
}

/// Ends the job's collectives for all workers, if there are several.
void tell_workers(Strategy &strategy, const char *function, const Failure &failure) noexcept;

/// The same for calls that all workers make together, and therefore wait for each other in: what fails here, be it only
/// this worker's own arguments, they are told. `body(Strategy &, bool &others_wait)` says where they do not.
template <class Body>
mdist_status_t joint_guard(const char *function, mdist_strategy_t *handle, const char *instead, mdist_error_t **error,
                           Body &&body) {
    return strategy_guard(function, handle, instead, error, [&](Strategy &strategy) {
        bool others_wait = true;
        try {
            if constexpr (std::is_invocable_v<Body, Strategy &, bool &>)
                body(strategy, others_wait);
            else
                body(strategy);
        } catch (const Failure &failure) {
            if (others_wait) tell_workers(strategy, function, failure);
            throw;
        } catch (const std::exception &) {
            if (others_wait) tell_workers(strategy, function, Failure(MDIST_ERR_OUT_OF_MEMORY, "out of memory"));
            throw;
        }
    });
}

/// The timeout of one call; 0: the strategy's. Throws for anything that is wrong with the options.
uint64_t timeout_of(const mdist_call_options_t *options);
/// The same for a collective in a step, which may ask for NCCL where the strategy uses it, and for nothing else there.
uint64_t timeout_of(const Strategy &strategy, const mdist_call_options_t *options);
/// The packs of one call, or else the strategy's.
Packing packing_of(const Strategy &strategy, const mdist_call_options_t *options);
/// Throws UNSUPPORTED where a call asks for packs.
void need_no_packs(const mdist_call_options_t *options);
/// Throws INVALID_ARGUMENT where a replica on the CPU brings memory of a GPU to a collective.
void need_reachable(const Replica &replica, const Call &call);

} // namespace mdist
