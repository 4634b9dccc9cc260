// SPDX-License-Identifier: Apache-2.0
// Helpers for runs in brackets: mdist_run's signature on threads of the test, and runs in which one thread enters all
// replicas. That thread may not make a call that waits for another replica.
#pragma once

#include "mdist_test.h"

#include <pthread.h>

enum { MOST_ENTERED = 9 };

typedef struct OwnThread {
    mdist_strategy_t *strategy;
    uint32_t local;
    mdist_step_fn step;
    void *user_data;
    mdist_status_t status; // the first failure of entering and leaving
} OwnThread;

MDIST_TEST_HELPER void *enter_and_exit(void *argument) {
    OwnThread *self = (OwnThread *)argument;
    mdist_replica_t *replica = NULL;
    self->status = mdist_replica_enter(self->strategy, self->local, &replica, NULL);
    if (self->status != MDIST_OK) return NULL;
    const int32_t code = self->step(replica, self->user_data);
    self->status = mdist_replica_exit(replica, code, NULL);
    return NULL;
}

/// Enters and leaves every local replica of the innermost open run, each on its own thread. Returns the first failure.
MDIST_TEST_HELPER mdist_status_t enter_all(mdist_strategy_t *strategy, mdist_step_fn step, void *user_data) {
    const uint32_t n = mdist_strategy_local_replica_count(strategy);
    OwnThread own[MOST_ENTERED];
    pthread_t threads[MOST_ENTERED];
    mdist_status_t status = MDIST_OK;
    for (uint32_t i = 0; i < n; ++i) {
        own[i] = (OwnThread){strategy, i, step, user_data, MDIST_OK};
        if (pthread_create(&threads[i], NULL, enter_and_exit, &own[i]) != 0) abort();
    }
    for (uint32_t i = 0; i < n; ++i) {
        pthread_join(threads[i], NULL);
        if (status == MDIST_OK) status = own[i].status;
    }
    return status;
}

/// Does what mdist_run does, in brackets.
MDIST_TEST_HELPER mdist_status_t run_own(mdist_strategy_t *strategy, mdist_step_fn step, void *user_data,
                                         const mdist_run_io_t *io, mdist_error_t **error) {
    mdist_run_io_t begun = io == NULL ? (mdist_run_io_t){.struct_size = sizeof begun} : *io;
    begun.results = NULL;
    const mdist_status_t status = mdist_run_begin(strategy, &begun, error);
    if (status != MDIST_OK) return status;
    enter_all(strategy, step, user_data);
    return mdist_run_end(strategy, io == NULL ? NULL : io->results, begun.result_count, error);
}

/// A run in which this thread has entered all replicas.
typedef struct Entered {
    mdist_strategy_t *strategy;
    uint32_t n;
    mdist_replica_t *replicas[MOST_ENTERED];
} Entered;

MDIST_TEST_HELPER void begin_and_enter_with(Entered *self, mdist_strategy_t *strategy, const mdist_run_io_t *io) {
    mdist_error_t *error = NULL;
    self->strategy = strategy;
    self->n = mdist_strategy_local_replica_count(strategy);
    OK(mdist_run_begin(strategy, io, &error));
    for (uint32_t i = 0; i < self->n; ++i) OK(mdist_replica_enter(strategy, i, &self->replicas[i], &error));
}

MDIST_TEST_HELPER void begin_and_enter(Entered *self, mdist_strategy_t *strategy) {
    begin_and_enter_with(self, strategy, NULL);
}

MDIST_TEST_HELPER void exit_all(const Entered *self) {
    mdist_error_t *error = NULL;
    for (uint32_t i = 0; i < self->n; ++i) OK(mdist_replica_exit(self->replicas[i], 0, &error));
}

/// Ends the run, and checks that it ends with this status and reason.
MDIST_TEST_HELPER void end_with(mdist_strategy_t *strategy, mdist_status_t wanted, const char *reason) {
    mdist_error_t *error = NULL;
    const mdist_status_t status = mdist_run_end(strategy, NULL, 0, &error);
    if (status != wanted || strcmp(mdist_error_reason(error), reason) != 0)
        fail_msg("the run ended with %s, %s: %s", mdist_status_name(status), mdist_error_reason(error),
                 mdist_error_message(error));
    mdist_error_free(error);
}

MDIST_TEST_HELPER int32_t sum_of_ones(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    float large[6000], one = 1;
    for (int i = 0; i < 6000; ++i) large[i] = 1;
    const mdist_buffer_t small = buffer_of(&one, MDIST_FLOAT32, 1), all = buffer_of(large, MDIST_FLOAT32, 6000);
    const float n = (float)mdist_replica_count(replica);
    if (mdist_all_reduce(replica, MDIST_SUM, &small, &small, 1, NULL, NULL) != MDIST_OK) return 91;
    if (mdist_all_reduce(replica, MDIST_SUM, &all, &all, 1, NULL, NULL) != MDIST_OK) return 92;
    return one == n && large[0] == n && large[5999] == n ? 0 : 93;
}

/// Checks that both kinds of runs work.
MDIST_TEST_HELPER void expect_runs(mdist_strategy_t *strategy) {
    mdist_error_t *error = NULL;
    OK(run_own(strategy, sum_of_ones, NULL, NULL, &error));
    OK(mdist_run(strategy, sum_of_ones, NULL, NULL, &error));
}

#define REASON(wanted, call, words)                                                                                    \
    do {                                                                                                               \
        mdist_error_t *reason_error = NULL;                                                                            \
        mdist_error_t **const error_out = &reason_error;                                                               \
        const mdist_status_t reason_status = (call);                                                                   \
        expect_status((wanted), reason_status, reason_error, #call, __FILE__, __LINE__);                               \
        if (strcmp(mdist_error_reason(reason_error), (words)) != 0)                                                    \
            fail_msg("%s: reason %s: %s", #call, mdist_error_reason(reason_error), mdist_error_message(reason_error)); \
        mdist_error_free(reason_error);                                                                                \
    } while (0)
