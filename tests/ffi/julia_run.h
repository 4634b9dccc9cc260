// SPDX-License-Identifier: Apache-2.0
// A run as the Julia module makes it: brackets from any thread, a task per replica, collectives started and tested.
#pragma once

#include "julia_tasks.h"
#include "started.h"

static const mdist_call_options_t defaults = {
    sizeof(mdist_call_options_t), 0, 0, 0, 0, 0, NULL}; // as the module passes them

MDIST_TEST_HELPER float brought(uint32_t local, int round, int element) {
    return (float)(local + 1) * 0.5f + (float)round + (float)(element % 7);
}

MDIST_TEST_HELPER float sum_of(uint32_t replicas, int round, int element) {
    float sum = 0; // halves and small: exact in any order
    for (uint32_t i = 0; i < replicas; ++i) sum += brought(i, round, element);
    return sum;
}

// ---- A replica's part of a run: what `perform` and `wait(work)` do.

enum { ENTER, START, TEST, LEAVE };

MDIST_TEST_HELPER int wrong(Task *self, mdist_status_t wanted, mdist_status_t status, mdist_error_t **error,
                            const char *what) {
    return note(&self->note, wanted, status, error, what);
}

MDIST_TEST_HELPER Slice leave(Task *self, int32_t code) {
    mdist_error_t *error = NULL;
    const mdist_status_t status = mdist_replica_exit(self->replica, code, &error);
    mdist_work_destroy(self->work);
    wrong(self, MDIST_OK, status, &error, "mdist_replica_exit");
    return ENDED;
}

MDIST_TEST_HELPER Slice enter(Task *self) {
    mdist_error_t *error = NULL;
    mdist_tensor_t argument;
    if (wrong(self, MDIST_OK, mdist_replica_enter(self->strategy, self->local, &self->replica, &error), &error,
              "enter"))
        return ENDED;
    wrong(self, MDIST_OK, mdist_replica_argument(self->replica, 0, NULL, &argument, &error), &error, "argument");
    self->stage = START;
    return YIELDED;
}

MDIST_TEST_HELPER Slice start(Task *self) {
    mdist_error_t *error = NULL;
    if (self->round == self->rounds) {
        self->stage = LEAVE;
        return YIELDED;
    }
    for (int i = 0; i < ELEMENTS; ++i) self->x[i] = brought(self->local, self->round, i);
    const mdist_buffer_t buffer = buffer_of(self->x, MDIST_FLOAT32, ELEMENTS);
    const mdist_status_t status =
        start_all_reduce(self->replica, MDIST_SUM, &buffer, &buffer, 1, &self->work, &defaults, &error);
    self->stage = TEST;
    return wrong(self, MDIST_OK, status, &error, "start") ? leave(self, 1) : YIELDED;
}

MDIST_TEST_HELPER Slice test(Task *self) {
    mdist_error_t *error = NULL;
    int32_t done = 0;
    const mdist_status_t status = mdist_work_test(self->work, &done, &error);
    if (wrong(self, MDIST_OK, status, &error, "test")) return leave(self, 1);
    if (!done) return YIELDED;
    mdist_work_destroy(self->work);
    self->work = NULL;
    for (int i = 0; i < ELEMENTS; ++i)
        if (self->x[i] != sum_of(mdist_replica_count(self->replica), self->round, i))
            snprintf(self->note.text, sizeof self->note.text, "element %d of round %d is %g", i, self->round,
                     (double)self->x[i]);
    ++self->round;
    self->stage = START;
    return YIELDED;
}

MDIST_TEST_HELPER Slice give_result(Task *self) {
    mdist_error_t *error = NULL;
    const mdist_tensor_t result = tensor_of(self->x, MDIST_FLOAT32, ELEMENTS);
    wrong(self, MDIST_OK, mdist_replica_set_result(self->replica, 0, NULL, &result, &error), &error, "set_result");
    return leave(self, self->code);
}

MDIST_TEST_HELPER Slice perform(Task *self) {
    switch (self->stage) {
        case ENTER:
            return enter(self);
        case START:
            return start(self);
        case TEST:
            return test(self);
        default:
            return give_result(self);
    }
}

// ---- A run around them.

typedef struct Run {
    mdist_strategy_t *strategy;
    uint32_t replicas;
    unsigned threads;
    Task tasks[MOST_REPLICAS];
    mdist_value_t *argument, *result;
    mdist_status_t status;
    mdist_error_t *error;
} Run;

MDIST_TEST_HELPER Run *make_run(uint32_t replicas, unsigned threads, int rounds) {
    static Run run; // too large for a stack of threads; tests run one after another
    memset(&run, 0, sizeof run);
    run.strategy = make_strategy(replicas, "caller");
    run.replicas = replicas;
    run.threads = threads;
    for (uint32_t i = 0; i < replicas; ++i)
        run.tasks[i] = (Task){.slice = perform, .strategy = run.strategy, .local = i, .rounds = rounds};
    return &run;
}

MDIST_TEST_HELPER void *begin_run(void *argument) {
    Run *self = argument;
    float one = 1;
    const mdist_tensor_t tensor = tensor_of(&one, MDIST_FLOAT32, 0);
    self->status = mdist_value_create(&tensor, &self->argument, &self->error);
    if (self->status == MDIST_OK)
        self->status =
            mdist_run_begin(self->strategy,
                            &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &self->argument, .argument_count = 1,
                                              .result_count = 1, .timeout_ns = defaults.timeout_ns},
                            &self->error);
    return NULL;
}

MDIST_TEST_HELPER void *end_run(void *argument) {
    Run *self = argument;
    self->status = mdist_run_end(self->strategy, &self->result, 1, &self->error);
    return NULL;
}

MDIST_TEST_HELPER void *drop_run(void *argument) {
    Run *self = argument;
    mdist_value_destroy(self->result);
    mdist_value_destroy(self->argument);
    mdist_strategy_destroy(self->strategy);
    return NULL;
}

MDIST_TEST_HELPER void elsewhere(void *(*function)(void *), void *argument) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, function, argument), 0);
    pthread_join(thread, NULL);
}

MDIST_TEST_HELPER void assert_status(Run *self, mdist_status_t wanted) {
    expect_status(wanted, self->status, self->error, "the run", __FILE__, __LINE__);
}

MDIST_TEST_HELPER void assert_no_notes(const Run *self) {
    for (uint32_t i = 0; i < self->replicas; ++i) assert_string_equal(self->tasks[i].note.text, "");
}
