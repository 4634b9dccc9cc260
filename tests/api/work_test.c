// SPDX-License-Identifier: Apache-2.0
// Works: started, tested, waited for, and destroyed early. Where no call waits for another replica, one thread acts for
// all replicas, which makes the tests deterministic.
#include "collective_support.h"
#include "started.h"
#include "step_support.h"

#include <sched.h>

enum { N = 3, LONG = 70000 };

// ---- Every kind of collective, in mixed forms.

typedef struct Party {
    float in[LONG], out[LONG];
    mdist_buffer_t input, output;
    mdist_work_t *work;
} Party;

static uint64_t out_elements(Kind kind, uint32_t n, uint64_t elements) {
    return kind == ALL_GATHER ? elements * n : kind == REDUCE_SCATTER ? elements / n : elements;
}

static mdist_status_t start(Kind kind, mdist_replica_t *replica, Party *p, const mdist_call_options_t *options,
                            mdist_error_t **error) {
    switch (kind) {
        case ALL_REDUCE:
            return start_all_reduce(replica, MDIST_SUM, &p->input, &p->output, 1, &p->work, options, error);
        case BROADCAST:
            return start_broadcast(replica, 1, &p->output, 1, &p->work, options, error);
        case ALL_GATHER:
            return start_all_gather(replica, &p->input, &p->output, 1, &p->work, options, error);
        case REDUCE_SCATTER:
            return start_reduce_scatter(replica, MDIST_SUM, &p->input, &p->output, 1, &p->work, options, error);
        case ALL_TO_ALL:
            return start_all_to_all(replica, &p->input, &p->output, 1, &p->work, options, error);
        default:
            return start_barrier(replica, &p->work, options, error);
    }
}

static mdist_status_t call(Kind kind, mdist_replica_t *replica, Party *p, mdist_error_t **error) {
    const Request request = {.kind = kind,
                             .op = MDIST_SUM,
                             .root = 1,
                             .inputs = kind == BROADCAST ? &p->output : &p->input,
                             .outputs = &p->output,
                             .count = 1};
    return ask(replica, &request, error);
}

static float number(uint32_t replica, uint64_t i) {
    return (float)(replica * 1000 + i % 97);
}

static void prepare(Kind kind, Party *parties, uint32_t n, uint64_t elements) {
    for (uint32_t r = 0; r < n; ++r) {
        Party *p = &parties[r];
        const uint64_t out = out_elements(kind, n, elements);
        p->input = buffer_of(p->in, MDIST_FLOAT32, elements);
        p->output = buffer_of(p->out, MDIST_FLOAT32, out);
        p->work = NULL;
        for (uint64_t i = 0; i < elements; ++i) p->in[i] = number(r, i);
        for (uint64_t i = 0; i < LONG; ++i) p->out[i] = kind == BROADCAST && i < out ? number(r, i) : -1;
    }
}

static float expected(Kind kind, uint32_t r, uint32_t n, uint64_t elements, uint64_t i) {
    const uint64_t part = elements / n;
    float sum = 0;
    switch (kind) {
        case BROADCAST:
            return number(1, i);
        case ALL_GATHER:
            return number((uint32_t)(i / elements), i % elements);
        case ALL_TO_ALL:
            return number((uint32_t)(i / part), r * part + i % part);
        case REDUCE_SCATTER:
            for (uint32_t s = 0; s < n; ++s) sum += number(s, r * part + i);
            return sum;
        case ALL_REDUCE:
            for (uint32_t s = 0; s < n; ++s) sum += number(s, i);
            return sum;
        default:
            return -1;
    }
}

static void check(Kind kind, const Party *parties, uint32_t n, uint64_t elements) {
    for (uint32_t r = 0; r < n; ++r) {
        const uint64_t out = kind == BARRIER ? 0 : out_elements(kind, n, elements);
        for (uint64_t i = 0; i < out; ++i)
            if (parties[r].out[i] != expected(kind, r, n, elements, i))
                fail_msg("kind %d, %llu elements: replica %u has %f at %llu", kind, (unsigned long long)elements,
                         (unsigned)r, (double)parties[r].out[i], (unsigned long long)i);
        if (out < LONG) assert_true(parties[r].out[out] == -1);
    }
}

static Party parties[N];
static const uint64_t sizes[] = {0, 3, 99, 600, 6000, 21000};

/// All replicas but the last start the operation. The last one starts or calls it, and does not need to wait.
static void whoever_comes_last_need_not_wait(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(N, NULL);
    for (Kind kind = ALL_REDUCE; kind <= BARRIER; ++kind) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
            for (uint32_t last = 0; last < N; ++last) {
                Entered run;
                int32_t done = -1;
                prepare(kind, parties, N, sizes[s]);
                begin_and_enter(&run, strategy);
                for (uint32_t r = 0; r < N; ++r) {
                    if (r == last) continue;
                    OK(start(kind, run.replicas[r], &parties[r], NULL, &error));
                    OK(mdist_work_test(parties[r].work, &done, &error));
                    assert_int_equal(done, 0);
                    OK(mdist_work_wait(parties[r].work, 1000, &done, &error));
                    assert_int_equal(done, 0);
                }
                if (s % 2 == 0) {
                    OK(call(kind, run.replicas[last], &parties[last], &error));
                } else {
                    OK(start(kind, run.replicas[last], &parties[last], NULL, &error));
                    OK(mdist_work_wait(parties[last].work, MDIST_FOREVER, &done, &error));
                    assert_int_equal(done, 1);
                }
                for (uint32_t r = 0; r < N; ++r) {
                    if (parties[r].work == NULL) continue;
                    for (int again = 0; again < 2; ++again) { // the result stays the same
                        if ((r + last) % 2 == 0)
                            OK(mdist_work_test(parties[r].work, &done, &error));
                        else
                            OK(mdist_work_wait(parties[r].work, 0, &done, &error));
                        assert_int_equal(done, 1);
                    }
                    if (r == 1) mdist_work_destroy(parties[r].work);
                }
                check(kind, parties, N, sizes[s]);
                // The replicas can start the next operation, whether the old work still exists or not.
                for (uint32_t r = 0; r + 1 < N; ++r) {
                    mdist_work_t *work = parties[r].work;
                    OK(start_barrier(run.replicas[r], &parties[r].work, NULL, &error));
                    if (r != 1) mdist_work_destroy(work);
                }
                OK(mdist_barrier(run.replicas[N - 1], NULL, &error));
                for (uint32_t r = 0; r + 1 < N; ++r) {
                    OK(mdist_work_test(parties[r].work, &done, &error));
                    assert_int_equal(done, 1);
                    mdist_work_destroy(parties[r].work);
                }
                if (N - 1 != last) mdist_work_destroy(parties[N - 1].work);
                exit_all(&run);
                end_with(strategy, MDIST_OK, "");
            }
        }
    }
    expect_runs(strategy);
    mdist_strategy_destroy(strategy);
}

static void the_arrays_of_buffers_are_copied(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    int32_t done = 0;
    float in[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}}, out[2][4];
    mdist_buffer_t inputs[2], outputs[2];
    mdist_work_t *works[2];
    Entered run;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    begin_and_enter(&run, strategy);
    for (int r = 0; r < 2; ++r) {
        for (int b = 0; b < 2; ++b) {
            inputs[b] = buffer_of(&in[r][2 * b], MDIST_FLOAT32, 2);
            outputs[b] = buffer_of(&out[r][2 * b], MDIST_FLOAT32, 2);
        }
        OK(start_all_reduce(run.replicas[r], MDIST_SUM, inputs, outputs, 2, &works[r], NULL, &error));
        memset(inputs, 0xdd, sizeof inputs);
        memset(outputs, 0xdd, sizeof outputs);
    }
    for (int r = 0; r < 2; ++r) {
        OK(mdist_work_test(works[r], &done, &error));
        assert_int_equal(done, 1);
        for (int i = 0; i < 4; ++i) assert_true(out[r][i] == (float)(6 + 2 * i));
        mdist_work_destroy(works[r]);
    }
    exit_all(&run);
    end_with(strategy, MDIST_OK, "");
    mdist_strategy_destroy(strategy);
}

static void who_leaves_with_work_under_way_fails_the_run(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    for (int met = 0; met < 2; ++met) {
        for (int code = 0; code < 2; ++code) {
            Entered run;
            int32_t done = 0;
            prepare(ALL_REDUCE, parties, 2, 6000);
            begin_and_enter(&run, strategy);
            OK(start(ALL_REDUCE, run.replicas[0], &parties[0], NULL, &error));
            if (met) OK(call(ALL_REDUCE, run.replicas[1], &parties[1], &error));
            REASON(MDIST_ERR_FAILED_PRECONDITION, mdist_replica_exit(run.replicas[0], code, error_out),
                   "work_under_way");
            assert_int_equal(mdist_replica_id(run.replicas[0]), MDIST_NONE); // it has left anyway
            if (met) {
                OK(mdist_work_test(parties[0].work, &done, &error));
                check(ALL_REDUCE, parties, 2, 6000);
            } else {
                assert_true(mdist_work_test(parties[0].work, &done, NULL) < 0);
            }
            FAILS(MDIST_ERR_ABORTED, mdist_barrier(run.replicas[1], NULL, &error));
            OK(mdist_replica_exit(run.replicas[1], 0, &error));
            if (code)
                FAILS(MDIST_ERR_CALLBACK, mdist_run_end(strategy, NULL, 0, &error));
            else
                end_with(strategy, MDIST_ERR_FAILED_PRECONDITION, "work_under_way");
            expect_runs(strategy); // while the work still exists
            mdist_work_destroy(parties[0].work);
        }
    }
    expect_runs(strategy);
    mdist_strategy_destroy(strategy);
}

// ---- Failures.

static void a_timeout_counts_from_the_start_and_is_for_ever(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    const mdist_call_options_t soon = {.struct_size = sizeof soon, .timeout_ns = 20000000};
    for (int waiting = 0; waiting < 2; ++waiting) {
        mdist_strategy_t *strategy = make_strategy(2, NULL);
        Entered run;
        int32_t done = -1;
        char first[512];
        mdist_status_t status = MDIST_OK;
        begin_and_enter(&run, strategy);
        prepare(ALL_REDUCE, parties, 2, 600);
        OK(start(ALL_REDUCE, run.replicas[1], &parties[1], &soon, &error));
        if (waiting)
            status = mdist_work_wait(parties[1].work, MDIST_FOREVER, &done, &error);
        else
            while ((status = mdist_work_test(parties[1].work, &done, &error)) == MDIST_OK) assert_int_equal(done, 0);
        assert_int_equal(status, MDIST_ERR_TIMEOUT);
        assert_int_equal(mdist_error_replica(error), 0); // the missing replica
        snprintf(first, sizeof first, "%s", mdist_error_message(error));
        mdist_error_free(error);
        error = NULL;
        assert_int_equal(mdist_work_test(parties[1].work, &done, &error), MDIST_ERR_TIMEOUT);
        assert_string_equal(mdist_error_message(error), first);
        mdist_error_free(error);
        FAILS(MDIST_ERR_TIMEOUT, mdist_work_wait(parties[1].work, 0, &done, &error));
        FAILS(MDIST_ERR_ABORTED, call(ALL_REDUCE, run.replicas[0], &parties[0], &error));
        exit_all(&run);
        mdist_work_destroy(parties[1].work);
        end_with(strategy, MDIST_ERR_TIMEOUT, "");
        mdist_strategy_destroy(strategy);
    }
}

static void a_mismatch_is_everybodys(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    for (int odd = 0; odd < 3; ++odd) {
        Entered run;
        int32_t done = -1;
        prepare(ALL_REDUCE, parties, 3, 600);
        parties[odd].input.elements = parties[odd].output.elements = 601;
        begin_and_enter(&run, strategy);
        for (int r = 0; r < 2; ++r) OK(start(ALL_REDUCE, run.replicas[r], &parties[r], NULL, &error));
        FAILS(MDIST_ERR_MISMATCH, call(ALL_REDUCE, run.replicas[2], &parties[2], &error));
        for (int r = 0; r < 2; ++r) {
            FAILS(MDIST_ERR_MISMATCH, mdist_work_test(parties[r].work, &done, &error));
            mdist_work_destroy(parties[r].work);
        }
        for (int r = 0; r < 3; ++r) assert_true(parties[r].out[0] == -1); // no output was written
        exit_all(&run);
        end_with(strategy, MDIST_ERR_MISMATCH, "different_calls");
        // If a replica leaves, the others get an error, even those that have only started.
        begin_and_enter(&run, strategy);
        OK(start_barrier(run.replicas[0], &parties[0].work, NULL, &error));
        OK(mdist_replica_exit(run.replicas[2], 0, &error));
        REASON(MDIST_ERR_MISMATCH, mdist_work_wait(parties[0].work, MDIST_FOREVER, &done, error_out), "step_returned");
        mdist_work_destroy(parties[0].work);
        for (int r = 0; r < 2; ++r) OK(mdist_replica_exit(run.replicas[r], 0, &error));
        end_with(strategy, MDIST_ERR_MISMATCH, "step_returned");
    }
    expect_runs(strategy);
    mdist_strategy_destroy(strategy);
}

static void bad_arguments_are_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    for (int what = 0; what < 3; ++what) {
        Entered run;
        mdist_work_t *work = (mdist_work_t *)strategy;
        const mdist_buffer_t bad = buffer_of(&run, (mdist_dtype_t)77, 1);
        begin_and_enter(&run, strategy);
        FAILS(MDIST_ERR_INVALID_ARGUMENT,
              what == 0   ? start_barrier(run.replicas[0], NULL, NULL, &error)
              : what == 1 ? start_all_reduce(run.replicas[0], MDIST_SUM, &bad, &bad, 1, &work, NULL, &error)
                          : start_broadcast(run.replicas[0], 2, NULL, 0, &work, NULL, &error));
        assert_ptr_equal(work, strategy);
        exit_all(&run);
        FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_run_end(strategy, NULL, 0, &error));
    }
    int32_t done = 0;
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_work_test(NULL, &done, &error));
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_work_wait((mdist_work_t *)strategy, 0, &done, &error));
    Entered run;
    mdist_work_t *work = NULL;
    begin_and_enter(&run, strategy);
    OK(start_barrier(run.replicas[0], &work, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_work_test(work, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_work_wait(work, 0, NULL, &error));
    OK(mdist_barrier(run.replicas[1], NULL, &error));
    mdist_work_destroy(work);
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_work_test(work, &done, &error));
    mdist_work_destroy(work);
    mdist_work_destroy(NULL);
    exit_all(&run);
    end_with(strategy, MDIST_OK, "");
    mdist_strategy_destroy(strategy);
}

// ---- Destroying works.

static void destroying_a_work_finishes_it_if_all_have_come(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(N, NULL);
    for (Kind kind = ALL_REDUCE; kind <= BARRIER; ++kind) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
            Entered run;
            prepare(kind, parties, N, sizes[s]);
            begin_and_enter(&run, strategy);
            for (uint32_t r = 0; r < N; ++r) OK(start(kind, run.replicas[r], &parties[r], NULL, &error));
            for (uint32_t r = 0; r < N; ++r) mdist_work_destroy(parties[(r + s) % N].work);
            check(kind, parties, N, sizes[s]);
            exit_all(&run);
            end_with(strategy, MDIST_OK, "");
        }
    }
    mdist_strategy_destroy(strategy);
}

static void destroying_a_work_too_early_fails_the_step(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(N, NULL);
    for (uint32_t who = 0; who < N; ++who) {
        Entered run;
        int32_t done = -1;
        Party *freed = malloc(sizeof *freed); // not used after its work is destroyed
        prepare(ALL_REDUCE, parties, N, 6000);
        begin_and_enter(&run, strategy);
        freed->input = buffer_of(freed->in, MDIST_FLOAT32, 6000);
        freed->output = buffer_of(freed->out, MDIST_FLOAT32, 6000);
        memset(freed->in, 0, sizeof freed->in);
        OK(start(ALL_REDUCE, run.replicas[who], freed, NULL, &error));
        OK(start(ALL_REDUCE, run.replicas[(who + 1) % N], &parties[1], NULL, &error));
        mdist_work_destroy(freed->work);
        free(freed);
        FAILS(MDIST_ERR_ABORTED, mdist_work_test(parties[1].work, &done, &error));
        FAILS(MDIST_ERR_ABORTED, call(ALL_REDUCE, run.replicas[(who + 2) % N], &parties[2], &error));
        mdist_work_destroy(parties[1].work);
        exit_all(&run);
        assert_int_equal(mdist_run_end(strategy, NULL, 0, &error), MDIST_ERR_ABORTED);
        assert_string_equal(mdist_error_reason(error), "work_destroyed");
        assert_int_equal(mdist_error_replica(error), who);
        mdist_error_free(error);
    }
    expect_runs(strategy);
    mdist_strategy_destroy(strategy);
}

typedef struct Waiting {
    mdist_work_t *work;
    mdist_status_t status;
    int32_t done;
} Waiting;

static void *wait_for_ever(void *argument) {
    Waiting *self = argument;
    self->status = mdist_work_wait(self->work, MDIST_FOREVER, &self->done, NULL);
    return NULL;
}

/// After destroying a work, its buffers may be freed, even if another thread waits for it.
static void destroying_a_work_that_another_thread_waits_for(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    for (int i = 0; i < 100; ++i) {
        Entered run;
        Waiting waiting = {.done = -1};
        pthread_t thread;
        Party *freed = malloc(sizeof *freed);
        begin_and_enter(&run, strategy);
        freed->input = buffer_of(freed->in, MDIST_FLOAT32, 6000);
        freed->output = buffer_of(freed->out, MDIST_FLOAT32, 6000);
        memset(freed->in, 0, sizeof freed->in);
        OK(start(ALL_REDUCE, run.replicas[0], freed, NULL, &error));
        waiting.work = freed->work;
        assert_int_equal(pthread_create(&thread, NULL, wait_for_ever, &waiting), 0);
        for (int turn = 0; turn < i % 10; ++turn) sched_yield(); // destroys it before the thread waits, or during it
        mdist_work_destroy(waiting.work);
        free(freed);
        prepare(ALL_REDUCE, parties, 2, 6000);
        FAILS(MDIST_ERR_ABORTED, call(ALL_REDUCE, run.replicas[1], &parties[1], &error));
        pthread_join(thread, NULL);
        assert_true(waiting.status == MDIST_ERR_ABORTED || waiting.status == MDIST_ERR_BAD_HANDLE);
        exit_all(&run);
        end_with(strategy, MDIST_ERR_ABORTED, "work_destroyed");
    }
    expect_runs(strategy);
    mdist_strategy_destroy(strategy);
}

static void several_threads_may_wait_for_one_work(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    for (int i = 0; i < 50; ++i) {
        Entered run;
        Waiting waiting[3];
        pthread_t threads[3];
        prepare(ALL_REDUCE, parties, 2, i % 2 == 0 ? 6 : 6000);
        begin_and_enter(&run, strategy);
        OK(start(ALL_REDUCE, run.replicas[0], &parties[0], NULL, &error));
        for (int t = 0; t < 3; ++t) {
            waiting[t] = (Waiting){parties[0].work, MDIST_ERR_INTERNAL, -1};
            assert_int_equal(pthread_create(&threads[t], NULL, wait_for_ever, &waiting[t]), 0);
        }
        OK(call(ALL_REDUCE, run.replicas[1], &parties[1], &error));
        for (int t = 0; t < 3; ++t) {
            pthread_join(threads[t], NULL);
            assert_int_equal(waiting[t].status, MDIST_OK);
            assert_int_equal(waiting[t].done, 1);
        }
        check(ALL_REDUCE, parties, 2, i % 2 == 0 ? 6 : 6000);
        mdist_work_destroy(parties[0].work);
        exit_all(&run);
        end_with(strategy, MDIST_OK, "");
    }
    mdist_strategy_destroy(strategy);
}

static void an_abort_ends_what_is_under_way(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (int destroy = 0; destroy < 2; ++destroy) {
        for (int waiter = 0; waiter < 2; ++waiter) {
            mdist_strategy_t *strategy = make_strategy(2, NULL);
            Entered run;
            Waiting waiting = {.done = -1};
            pthread_t thread;
            prepare(ALL_REDUCE, parties, 2, 6000);
            begin_and_enter(&run, strategy);
            OK(start(ALL_REDUCE, run.replicas[0], &parties[0], NULL, &error));
            waiting.work = parties[0].work;
            if (waiter) assert_int_equal(pthread_create(&thread, NULL, wait_for_ever, &waiting), 0);
            destroy ? mdist_strategy_destroy(strategy) : mdist_strategy_abort(strategy);
            if (waiter) pthread_join(thread, NULL);
            if (waiter) assert_int_equal(waiting.status, MDIST_ERR_ABORTED);
            for (int again = 0; again < 2; ++again)
                FAILS(MDIST_ERR_ABORTED, mdist_work_test(parties[0].work, &waiting.done, &error));
            FAILS(MDIST_ERR_ABORTED, call(ALL_REDUCE, run.replicas[1], &parties[1], &error));
            exit_all(&run);
            if (!destroy) FAILS(MDIST_ERR_ABORTED, mdist_run_end(strategy, NULL, 0, &error));
            mdist_strategy_destroy(strategy);
            FAILS(MDIST_ERR_ABORTED,
                  mdist_work_test(parties[0].work, &waiting.done, &error)); // the work outlives the strategy
            mdist_work_destroy(parties[0].work);
        }
    }
}

// ---- In steps of mdist_run.

static mdist_work_t *left_behind[N];

static int32_t start_and_wait(mdist_replica_t *replica, void *user_data) {
    const int mode = *(const int *)user_data;
    const uint32_t id = mdist_replica_id(replica);
    Party *self = &parties[id];
    int32_t done = 0;
    if (id % 2 == 1 && mode < 2) return call(ALL_REDUCE, replica, self, NULL) == MDIST_OK ? 0 : 1;
    if (start(ALL_REDUCE, replica, self, NULL, NULL) != MDIST_OK) return 2;
    left_behind[id] = self->work;
    if (mode == 2 && id == 0) return 0;
    if (mode == 3 && id == 0) pthread_exit(NULL);
    if (mode == 1)
        while (mdist_work_test(self->work, &done, NULL) == MDIST_OK && !done) sched_yield();
    else
        (void)mdist_work_wait(self->work, MDIST_FOREVER, &done, NULL);
    return done || mode >= 2 ? 0 : 3;
}

typedef struct RunCall {
    mdist_strategy_t *strategy;
    int mode;
    mdist_status_t status;
    char reason[32];
} RunCall;

static void *run_there(void *argument) {
    RunCall *self = argument;
    mdist_error_t *error = NULL;
    self->status = mdist_run(self->strategy, start_and_wait, &self->mode, NULL, &error);
    snprintf(self->reason, sizeof self->reason, "%s", mdist_error_reason(error));
    mdist_error_free(error);
    return NULL;
}

static void steps_of_mdist_run_start_too(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(N, NULL);
    for (int i = 0; i < 40; ++i) {
        RunCall self = {.strategy = strategy, .mode = i % 4, .status = MDIST_ERR_INTERNAL};
        pthread_t thread; // replica 0 may end the calling thread
        memset(left_behind, 0, sizeof left_behind);
        prepare(ALL_REDUCE, parties, N, i % 3 == 0 ? 6 : 6000);
        assert_int_equal(pthread_create(&thread, NULL, run_there, &self), 0);
        pthread_join(thread, NULL);
        if (self.mode < 2) {
            assert_int_equal(self.status, MDIST_OK);
            check(ALL_REDUCE, parties, N, i % 3 == 0 ? 6 : 6000);
        }
        if (self.mode == 2) {
            assert_int_equal(self.status, MDIST_ERR_FAILED_PRECONDITION);
            assert_string_equal(self.reason, "work_under_way");
        }
        expect_runs(strategy);
        for (int r = 0; r < N; ++r) mdist_work_destroy(left_behind[r]);
    }
    mdist_strategy_destroy(strategy);
}

static int32_t start_alone(mdist_replica_t *replica, void *user_data) {
    (void)replica;
    mdist_work_t *work = NULL;
    mdist_error_t *error = NULL;
    const mdist_status_t status = start_barrier(replica, &work, NULL, &error);
    const int as_it_should = status == MDIST_ERR_FAILED_PRECONDITION && work == NULL &&
                             strcmp(mdist_error_reason(error), "executor_caller") == 0;
    mdist_error_free(error);
    *(int *)user_data += as_it_should;
    return 0;
}

static void executor_caller_starts_nothing(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    int times = 0;
    mdist_strategy_t *strategy = make_strategy(2, "caller");
    FAILS(MDIST_ERR_FAILED_PRECONDITION, mdist_run(strategy, start_alone, &times, NULL, &error));
    assert_int_equal(times, 1);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_comes_last_need_not_wait),
        cmocka_unit_test(the_arrays_of_buffers_are_copied),
        cmocka_unit_test(who_leaves_with_work_under_way_fails_the_run),
        cmocka_unit_test(a_timeout_counts_from_the_start_and_is_for_ever),
        cmocka_unit_test(a_mismatch_is_everybodys),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(destroying_a_work_finishes_it_if_all_have_come),
        cmocka_unit_test(destroying_a_work_too_early_fails_the_step),
        cmocka_unit_test(destroying_a_work_that_another_thread_waits_for),
        cmocka_unit_test(several_threads_may_wait_for_one_work),
        cmocka_unit_test(an_abort_ends_what_is_under_way),
        cmocka_unit_test(steps_of_mdist_run_start_too),
        cmocka_unit_test(executor_caller_starts_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
