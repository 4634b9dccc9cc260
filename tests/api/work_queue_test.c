// SPDX-License-Identifier: Apache-2.0
// Several started collectives of one replica. They run in the order of their start, in whatever order the program tests
// them. Where no call waits for another replica, one thread acts for all replicas, which makes the tests deterministic.
#include "started.h"
#include "step_support.h"

#include <sched.h>

enum { N = 3, DEPTH = 6, LONG = 6000, WAITING_LIMIT = 1024 };

// ---- Operations: number `at` has its own numbers; sizes and kinds alternate.

typedef struct Started {
    float numbers[LONG];
    mdist_buffer_t buffer;
    mdist_work_t *work;
} Started;

static Started all[N][DEPTH];

static uint64_t elements_of(int at) {
    static const uint64_t sizes[] = {1, LONG, 100, 0, 3000};
    return sizes[at % 5];
}

static void prepare(Started *self, uint32_t replica, int at) {
    self->buffer = buffer_of(self->numbers, MDIST_FLOAT32, elements_of(at));
    self->work = NULL;
    for (int i = 0; i < LONG; ++i) self->numbers[i] = (float)(at * 100 + (int)replica + i % 7);
}

static mdist_status_t start(mdist_replica_t *replica, Started *self, int at, mdist_error_t **error) {
    return at % 3 == 2
               ? start_broadcast(replica, 1, &self->buffer, 1, &self->work, NULL, error)
               : start_all_reduce(replica, MDIST_SUM, &self->buffer, &self->buffer, 1, &self->work, NULL, error);
}

static mdist_status_t block(mdist_replica_t *replica, Started *self, int at, mdist_error_t **error) {
    return at % 3 == 2 ? mdist_broadcast(replica, 1, &self->buffer, 1, NULL, error)
                       : mdist_all_reduce(replica, MDIST_SUM, &self->buffer, &self->buffer, 1, NULL, error);
}

static int is_right(const Started *self, uint32_t n, int at) {
    for (uint64_t i = 0; i < self->buffer.elements; ++i) {
        const float one = (float)(at * 100 + (int)(i % 7));
        const float wanted = at % 3 == 2 ? one + 1 : (float)n * one + (float)(n * (n - 1) / 2);
        if (self->numbers[i] != wanted) return 0;
    }
    return 1;
}

static void start_all(const Entered *run, uint32_t replica, int depth) {
    mdist_error_t *error = NULL;
    for (int at = 0; at < depth; ++at) {
        prepare(&all[replica][at], replica, at);
        OK(start(run->replicas[replica], &all[replica][at], at, &error));
    }
}

static void require_done(Started *self, uint32_t n, int at) {
    mdist_error_t *error = NULL;
    int32_t done = 0;
    OK(mdist_work_test(self->work, &done, &error));
    assert_int_equal(done, 1);
    assert_true(is_right(self, n, at));
}

static void destroy_all(uint32_t n, int depth) {
    for (uint32_t r = 0; r < n; ++r)
        for (int at = 0; at < depth; ++at) mdist_work_destroy(all[r][at].work);
}

static void several_may_be_asked_for_in_any_order(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(N, NULL);
    for (int first = 0; first < DEPTH; ++first) {
        for (uint32_t who = 0; who < N; ++who) {
            Entered run;
            int32_t done = -1;
            begin_and_enter(&run, strategy);
            for (uint32_t r = 0; r < N; ++r) start_all(&run, r, DEPTH);
            OK(mdist_work_wait(all[who][first].work, MDIST_FOREVER, &done, &error));
            assert_int_equal(done, 1);
            for (int i = 0; i < DEPTH; ++i) {
                const int at = (first + i * 5) % DEPTH; // 5 and 6 are coprime, so each occurs once
                for (uint32_t r = 0; r < N; ++r) require_done(&all[(r + who) % N][at], N, at);
            }
            destroy_all(N, DEPTH);
            exit_all(&run);
            end_with(strategy, MDIST_OK, "");
        }
    }
    expect_runs(strategy);
    mdist_strategy_destroy(strategy);
}

/// A call also runs earlier operations of the other replicas, which are in no call.
static void who_calls_lets_the_others_take_their_turn(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(N, NULL);
    for (uint32_t last = 0; last < N; ++last) {
        for (int blocking = 0; blocking < 2; ++blocking) {
            Entered run;
            int32_t done = 0;
            begin_and_enter(&run, strategy);
            for (uint32_t r = 0; r < N; ++r)
                if (r != last) start_all(&run, r, DEPTH);
            OK(mdist_work_test(all[(last + 1) % N][0].work, &done, &error));
            assert_int_equal(done, 0);
            for (int at = 0; at < DEPTH; ++at) {
                Started *self = &all[last][at];
                prepare(self, last, at);
                if (blocking) {
                    OK(block(run.replicas[last], self, at, &error));
                } else {
                    OK(start(run.replicas[last], self, at, &error));
                    OK(mdist_work_wait(self->work, MDIST_FOREVER, &done, &error));
                }
                assert_true(is_right(self, N, at));
            }
            for (uint32_t r = 0; r < N; ++r)
                for (int at = 0; r != last && at < DEPTH; ++at) require_done(&all[r][at], N, at);
            destroy_all(N, DEPTH);
            exit_all(&run);
            end_with(strategy, MDIST_OK, "");
        }
    }
    mdist_strategy_destroy(strategy);
}

// ---- Calls that wait.

typedef struct Turns {
    mdist_variable_t *variable;
    int wrong[N];
} Turns;

static int32_t merge_nothing(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                             mdist_value_t **results, size_t result_count, void *user_data) {
    (void)strategy, (void)arguments, (void)argument_count, (void)results, (void)result_count, (void)user_data;
    return 0;
}

/// Each kind of call completes the operations that were started before it.
static int32_t call_after_starts(mdist_replica_t *replica, void *user_data) {
    Turns *self = user_data;
    const uint32_t id = mdist_replica_id(replica);
    mdist_variable_t *created = NULL;
    for (int what = 0; what < 5; ++what) {
        float x = 0;
        const mdist_tensor_t zero = tensor_of(&x, MDIST_FLOAT32, 0);
        mdist_status_t status = MDIST_OK;
        for (int at = 0; at < 3 && status == MDIST_OK; ++at) {
            prepare(&all[id][at], id, at);
            status = start(replica, &all[id][at], at, NULL);
        }
        if (status != MDIST_OK) return 1;
        switch (what) {
            case 0:
                status = mdist_barrier(replica, NULL, NULL);
                break;
            case 1: // sums again what the started operation has summed
                status = mdist_all_reduce(replica, MDIST_SUM, &all[id][1].buffer, &all[id][1].buffer, 1, NULL, NULL);
                for (int i = 0; i < LONG; ++i) all[id][1].numbers[i] /= N;
                break;
            case 2:
                status = mdist_merge_call(replica, merge_nothing, NULL, NULL, 0, NULL, 0, NULL, NULL);
                break;
            case 3:
                status = mdist_replica_assign(replica, self->variable, MDIST_ASSIGN_SET, &zero, NULL, NULL);
                break;
            default:
                status = mdist_replica_variable_create(replica, "w", &zero, &created, NULL, NULL);
        }
        if (status != MDIST_OK) return 2;
        for (int at = 0; at < 3; ++at) {
            int32_t done = 0;
            self->wrong[id] += !is_right(&all[id][at], N, at);
            if (mdist_work_wait(all[id][at].work, 0, &done, NULL) != MDIST_OK || !done) ++self->wrong[id];
            mdist_work_destroy(all[id][at].work);
        }
    }
    mdist_variable_destroy(created);
    return 0;
}

static void a_blocking_call_waits_for_its_turn(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    float x = 0;
    const mdist_tensor_t zero = tensor_of(&x, MDIST_FLOAT32, 0);
    const mdist_variable_options_t mean = {.struct_size = sizeof mean, .aggregation = MDIST_AGGREGATION_MEAN};
    mdist_strategy_t *strategy = make_strategy(N, NULL);
    Turns turns = {0};
    OK(mdist_variable_create(strategy, "v", &zero, &turns.variable, &mean, &error));
    for (int i = 0; i < 10; ++i) {
        if (i % 2 == 0)
            OK(mdist_run(strategy, call_after_starts, &turns, NULL, &error));
        else
            OK(run_own(strategy, call_after_starts, &turns, NULL, &error));
        for (int r = 0; r < N; ++r) assert_int_equal(turns.wrong[r], 0);
    }
    mdist_variable_destroy(turns.variable);
    mdist_strategy_destroy(strategy);
}

// ---- Failures.

/// Starts an operation that does not match the others. On GPUs, the last replica of an operation finds that out at once
/// and cannot start more.
static void start_in_vain(const Entered *run, uint32_t r, int at, int kind) {
    mdist_error_t *error = NULL;
    prepare(&all[r][at], r, at);
    const mdist_status_t status = start(run->replicas[r], &all[r][at], kind, &error);
    if (status == MDIST_OK) return;
    assert_true(on_gpus() && r == N - 1);
    assert_int_equal(status, at == 2 ? MDIST_ERR_MISMATCH : MDIST_ERR_ABORTED);
    mdist_error_free(error);
}

static void a_mismatch_in_the_third_spares_the_first_two(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(N, NULL);
    for (uint32_t odd = 0; odd < N; ++odd) {
        Entered run;
        int32_t done = -1;
        begin_and_enter(&run, strategy);
        for (uint32_t r = 0; r < N; ++r) {
            start_all(&run, r, 2);
            for (int at = 2; at < DEPTH; ++at) start_in_vain(&run, r, at, r == odd ? at + 1 : at);
        }
        for (uint32_t r = 0; r < N; ++r) {
            for (int at = 0; at < 2; ++at) require_done(&all[r][at], N, at);
            if (all[r][DEPTH - 1].work == NULL) continue; // it has the error already
            assert_int_equal(mdist_work_wait(all[r][2].work, MDIST_FOREVER, &done, &error), MDIST_ERR_MISMATCH);
            assert_non_null(strstr(mdist_error_message(error), "operation 3 of the step"));
            mdist_error_free(error);
            error = NULL;
            for (int at = 3; at < DEPTH; ++at)
                FAILS(MDIST_ERR_ABORTED, mdist_work_test(all[r][at].work, &done, &error));
            REASON(MDIST_ERR_ABORTED, mdist_barrier(run.replicas[r], NULL, error_out), "step_failed");
            REASON(MDIST_ERR_ABORTED, start(run.replicas[r], &all[r][0], 0, error_out), "step_failed");
        }
        destroy_all(N, DEPTH);
        exit_all(&run);
        end_with(strategy, MDIST_ERR_MISMATCH, "different_calls");
    }
    expect_runs(strategy);
    mdist_strategy_destroy(strategy);
}

static void destroying_one_in_the_middle(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(N, NULL);
    for (int victim = 0; victim < DEPTH; ++victim) {
        for (uint32_t come = 0; come <= N; ++come) { // the number of replicas that have started theirs
            Entered run;
            int32_t done = -1;
            begin_and_enter(&run, strategy);
            for (uint32_t r = 0; r < come; ++r) start_all(&run, r, DEPTH);
            if (come == 0) start_all(&run, 0, DEPTH);
            mdist_work_destroy(all[0][victim].work);
            all[0][victim].work = NULL;
            if (come == N) {
                for (uint32_t r = 0; r < N; ++r)
                    for (int at = 0; at < DEPTH; ++at)
                        if (all[r][at].work != NULL) require_done(&all[r][at], N, at);
                assert_true(is_right(&all[0][victim], N, victim));
                exit_all(&run);
                end_with(strategy, MDIST_OK, "");
            } else {
                for (uint32_t r = 0; r < (come == 0 ? 1 : come); ++r)
                    for (int at = 0; at < DEPTH; ++at)
                        if (all[r][at].work != NULL)
                            FAILS(MDIST_ERR_ABORTED, mdist_work_test(all[r][at].work, &done, &error));
                FAILS(MDIST_ERR_ABORTED, block(run.replicas[N - 1], &all[N - 1][0], 0, &error));
                exit_all(&run);
                end_with(strategy, MDIST_ERR_ABORTED, "work_destroyed");
            }
            destroy_all(come == 0 ? 1 : come, DEPTH);
        }
    }
    expect_runs(strategy);
    mdist_strategy_destroy(strategy);
}

static void an_abort_ends_all(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (int destroy = 0; destroy < 2; ++destroy) {
        mdist_strategy_t *strategy = make_strategy(N, NULL);
        Entered run;
        int32_t done = -1;
        begin_and_enter(&run, strategy);
        for (uint32_t r = 0; r + 1 < N; ++r) start_all(&run, r, DEPTH);
        destroy ? mdist_strategy_destroy(strategy) : mdist_strategy_abort(strategy);
        for (uint32_t r = 0; r + 1 < N; ++r)
            for (int at = DEPTH - 1; at >= 0; --at)
                FAILS(MDIST_ERR_ABORTED, mdist_work_wait(all[r][at].work, MDIST_FOREVER, &done, &error));
        exit_all(&run);
        if (!destroy) FAILS(MDIST_ERR_ABORTED, mdist_run_end(strategy, NULL, 0, &error));
        mdist_strategy_destroy(strategy);
        destroy_all(N - 1, DEPTH);
    }
}

static void who_leaves_with_several_under_way_fails_the_run(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    for (int met = 0; met < 2; ++met) {
        Entered run;
        int32_t done = 0;
        begin_and_enter(&run, strategy);
        start_all(&run, 0, DEPTH);
        if (met) start_all(&run, 1, DEPTH);
        REASON(MDIST_ERR_FAILED_PRECONDITION, mdist_replica_exit(run.replicas[0], 0, error_out), "work_under_way");
        for (int at = 0; at < DEPTH; ++at) {
            if (met)
                require_done(&all[0][at], 2, at);
            else
                assert_true(mdist_work_test(all[0][at].work, &done, NULL) < 0);
        }
        if (met)
            for (int at = 0; at < DEPTH; ++at) require_done(&all[1][at], 2, at);
        FAILS(MDIST_ERR_ABORTED, mdist_barrier(run.replicas[1], NULL, &error));
        OK(mdist_replica_exit(run.replicas[1], 0, &error));
        end_with(strategy, MDIST_ERR_FAILED_PRECONDITION, "work_under_way");
        expect_runs(strategy); // while the works still exist
        destroy_all(met ? 2 : 1, DEPTH);
    }
    mdist_strategy_destroy(strategy);
}

/// The timeout of the second operation counts from its turn, however long the first operation takes.
static void a_timeout_counts_from_the_turn(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    const mdist_call_options_t soon = {.struct_size = sizeof soon, .timeout_ns = 1000000};
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    Entered run;
    int32_t done = 0;
    mdist_work_t *first[2] = {NULL, NULL}, *second = NULL;
    begin_and_enter(&run, strategy);
    OK(start_barrier(run.replicas[0], &first[0], NULL, &error));
    OK(start_barrier(run.replicas[0], &second, &soon, &error));
    OK(mdist_work_wait(second, 20000000, &done, &error));
    assert_int_equal(done, 0);
    OK(start_barrier(run.replicas[1], &first[1], NULL, &error));
    OK(mdist_work_wait(first[1], MDIST_FOREVER, &done, &error));
    OK(mdist_work_test(first[0], &done, &error));
    assert_int_equal(done, 1);
    FAILS(MDIST_ERR_TIMEOUT, mdist_work_wait(second, MDIST_FOREVER, &done, &error));
    exit_all(&run);
    end_with(strategy, MDIST_ERR_TIMEOUT, "");
    for (int i = 0; i < 2; ++i) mdist_work_destroy(first[i]);
    mdist_work_destroy(second);
    mdist_strategy_destroy(strategy);
}

static void there_is_a_limit(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    static mdist_work_t *works[WAITING_LIMIT];
    mdist_work_t *more = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    Entered run;
    int32_t done = 0;
    begin_and_enter(&run, strategy);
    for (int i = 0; i < WAITING_LIMIT; ++i) OK(start_barrier(run.replicas[0], &works[i], NULL, &error));
    for (int i = 0; i < WAITING_LIMIT / 2; ++i) OK(mdist_barrier(run.replicas[1], NULL, &error));
    for (int i = 0; i < WAITING_LIMIT / 2; ++i) {
        OK(mdist_work_test(works[i], &done, &error));
        assert_int_equal(done, 1);
        mdist_work_destroy(works[i]);
        OK(start_barrier(run.replicas[0], &works[i], NULL, &error));
    }
    REASON(MDIST_ERR_RESOURCE, start_barrier(run.replicas[0], &more, NULL, error_out), "too_many_works");
    assert_null(more);
    for (int i = 0; i < WAITING_LIMIT; ++i) mdist_work_destroy(works[i]);
    exit_all(&run);
    end_with(strategy, MDIST_ERR_RESOURCE, "too_many_works");
    expect_runs(strategy);
    mdist_strategy_destroy(strategy);
}

// ---- Random order, on threads: each replica has any number of started works, and tests or waits for any of them.

enum { ROUNDS = 60 };

typedef struct Random {
    uint64_t seed;
    int wrong[MOST_ENTERED];
} Random;

static uint32_t draw(uint64_t *state, uint32_t below) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % below;
}

static int32_t random_step(mdist_replica_t *replica, void *user_data) {
    Random *self = user_data;
    const uint32_t id = mdist_replica_id(replica), n = (uint32_t)mdist_replica_count(replica);
    uint64_t state = self->seed * 31 + id;
    Started *under_way[ROUNDS];
    int which[ROUNDS], count = 0;
    for (int at = 0; at < ROUNDS || count > 0;) {
        if (at < ROUNDS && (count == 0 || draw(&state, 2) == 0)) {
            Started *started = malloc(sizeof *started);
            prepare(started, id, at);
            const int blocks = draw(&state, 8) == 0;
            if ((blocks ? block : start)(replica, started, at, NULL) != MDIST_OK) return 1;
            if (blocks) {
                self->wrong[id] += !is_right(started, n, at);
                free(started);
            } else {
                under_way[count] = started;
                which[count++] = at;
            }
            ++at;
        } else {
            const uint32_t one = draw(&state, (uint32_t)count);
            int32_t done = 0;
            const uint64_t limit = draw(&state, 2) == 0 ? MDIST_FOREVER : 20000;
            const mdist_status_t status = draw(&state, 2) == 0
                                              ? mdist_work_test(under_way[one]->work, &done, NULL)
                                              : mdist_work_wait(under_way[one]->work, limit, &done, NULL);
            if (status != MDIST_OK) return 2;
            if (!done) continue;
            self->wrong[id] += !is_right(under_way[one], n, which[one]);
            mdist_work_destroy(under_way[one]->work);
            free(under_way[one]);
            under_way[one] = under_way[--count];
            which[one] = which[count];
        }
        if (draw(&state, 4) == 0) sched_yield();
    }
    return 0;
}

static void any_number_at_any_time(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    const uint64_t first = test_seed(0), count = seed_count(12, 400);
    for (uint32_t n = 2; n <= 5; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        for (uint64_t seed = first; seed < first + count; ++seed) {
            Random random = {.seed = seed};
            if (seed % 2 == 0)
                OK(mdist_run(strategy, random_step, &random, NULL, &error));
            else
                OK(run_own(strategy, random_step, &random, NULL, &error));
            for (uint32_t r = 0; r < n; ++r) assert_int_equal(random.wrong[r], 0);
        }
        mdist_strategy_destroy(strategy);
    }
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_may_be_asked_for_in_any_order),
        cmocka_unit_test(who_calls_lets_the_others_take_their_turn),
        cmocka_unit_test(a_blocking_call_waits_for_its_turn),
        cmocka_unit_test(a_mismatch_in_the_third_spares_the_first_two),
        cmocka_unit_test(destroying_one_in_the_middle),
        cmocka_unit_test(an_abort_ends_all),
        cmocka_unit_test(who_leaves_with_several_under_way_fails_the_run),
        cmocka_unit_test(a_timeout_counts_from_the_turn),
        cmocka_unit_test(there_is_a_limit),
        cmocka_unit_test(any_number_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
