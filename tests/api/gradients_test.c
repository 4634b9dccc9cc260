// SPDX-License-Identifier: Apache-2.0
// Gradients in buckets give the documented bits, in any order and with any size of buckets. Norms, clipping and
// accumulated rounds are compared with plain loops.
#include "gradients_support.h"
#include "started.h"
#include "step_support.h"

static const uint64_t bucket_sizes[] = {0, 1, 64, 1000, 100000};

static int trials_of(int few) {
    return is_long() ? 40 * few : few;
}

typedef mdist_status_t (*Running)(mdist_strategy_t *strategy, mdist_step_fn step, void *user_data,
                                  const mdist_run_io_t *io, mdist_error_t **error);

static void require_well(const Trial *self, mdist_strategy_t *strategy) {
    const uint32_t n = mdist_strategy_local_replica_count(strategy);
    for (uint32_t r = 0; r < n; ++r) {
        assert_string_equal(self->notes[r].text, "");
        assert_memory_equal(&self->norms[r], &self->norms[0], sizeof self->norms[0]);
    }
}

static void play_by(Running run, Trial *self, mdist_strategy_t *strategy) {
    mdist_error_t *error = NULL;
    expect(self, mdist_strategy_replica_count(strategy));
    const mdist_status_t status = run(strategy, trial_step, self, NULL, &error);
    if (status != MDIST_OK) print_message("seed %u: %s\n", (unsigned)self->seed, mdist_error_message(error));
    mdist_error_free(error);
    require_well(self, strategy);
    assert_int_equal(status, MDIST_OK);
}

static void play(Trial *self, mdist_strategy_t *strategy) {
    play_by(mdist_run, self, strategy);
}

static void any_order_and_any_buckets_give_the_documented_bits(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= 3; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        for (int i = 0; i < trials_of(8); ++i) {
            const uint64_t seed = test_seed(0) + n * 1000 + (uint64_t)i;
            Trial trial = {.seed = seed, .model = random_model(seed, 0), .rounds = 1};
            trial.op = i % 2 == 0 ? MDIST_SUM : MDIST_MEAN;
            make_gradients(&trial, strategy, bucket_sizes[i % 5], 0);
            for (int again = 0; again < 2; ++again, ++trial.seed) play(&trial, strategy);
            play_by(run_own, &trial, strategy);
            destroy_gradients(&trial);
        }
        mdist_strategy_destroy(strategy);
    }
}

static void sums_are_those_of_float64_loops(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    enum { N = 3 };
    mdist_strategy_t *strategy = make_strategy(N, NULL);
    Trial trial = {.seed = 5, .model = random_model(5, MDIST_FLOAT32), .rounds = 3, .op = MDIST_MEAN};
    make_gradients(&trial, strategy, 1000, 0);
    play(&trial, strategy);
    for (size_t g = 0; g < trial.model.count; ++g) {
        mdist_tensor_t tensor;
        OK(mdist_gradients_tensor(trial.gradients, 1, g, &tensor, &error));
        for (uint64_t i = 0; i < tensor.shape[0]; ++i) {
            double sum = 0;
            for (uint32_t r = 0; r < N; ++r)
                for (int round = 0; round < trial.rounds; ++round) {
                    float one;
                    write_element(&trial, &one, MDIST_FLOAT32, r, round, g, i);
                    sum += (double)one;
                }
            assert_true(fabs(((float *)tensor.data)[i] - sum / (N * trial.rounds)) < 1e-6);
        }
    }
    destroy_gradients(&trial);
    mdist_strategy_destroy(strategy);
}

static void rounds_are_added_up(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= 3; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        for (int i = 0; i < trials_of(6); ++i) {
            const uint64_t seed = test_seed(0) + n * 2000 + (uint64_t)i;
            const int32_t dtype = i % 3 == 0 ? MDIST_FLOAT64 : MDIST_FLOAT32;
            Trial trial = {.seed = seed, .model = random_model(seed, dtype)};
            trial.op = i % 2 == 0 ? MDIST_MEAN : MDIST_SUM;
            make_gradients(&trial, strategy, bucket_sizes[i % 5], 0);
            // Trials reuse the gradients. Nothing may be left of the trial before.
            for (trial.rounds = 1 + i % 4; trial.rounds > 0; --trial.rounds) play(&trial, strategy);
            destroy_gradients(&trial);
        }
        mdist_strategy_destroy(strategy);
    }
}

/// One round of a trial that runs over several runs. The last round compares.
typedef struct Part {
    Trial *trial;
    int round;
} Part;

static int32_t one_round(mdist_replica_t *replica, void *user_data) {
    const Part *const part = user_data;
    return play_round(replica, part->trial, part->round);
}

static void rounds_may_lie_in_several_runs(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    Trial trial = {.seed = 9, .model = random_model(9, MDIST_FLOAT32), .rounds = 3, .op = MDIST_SUM};
    make_gradients(&trial, strategy, 5000, 0);
    for (int round = 0; round < trial.rounds; ++round) {
        Part part = {&trial, round};
        OK(mdist_run(strategy, one_round, &part, NULL, &error));
        if (round + 1 < trial.rounds) {
            assert_true(trial.norms[1] == 0);
            assert_int_equal(trial.finite[1], 1);
        }
    }
    expect(&trial, 2);
    OK(mdist_run(strategy, compare, &trial, NULL, &error));
    require_well(&trial, strategy);
    destroy_gradients(&trial);
    mdist_strategy_destroy(strategy);
}

static void only_a_larger_norm_is_brought_down(void **state) {
    (void)state;
    static const int32_t types[] = {MDIST_FLOAT32, MDIST_FLOAT64, 0};
    for (uint32_t n = 1; n <= 3; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        for (int i = 0; i < trials_of(3 * CLIP_RATIOS); ++i) {
            const uint64_t seed = test_seed(0) + n * 3000 + (uint64_t)i;
            const int32_t dtype = types[i % 3];
            Trial trial = {.seed = seed, .model = random_model(seed, dtype), .rounds = dtype == 0 ? 1 : 1 + i % 2};
            trial.op = i % 4 < 2 ? MDIST_SUM : MDIST_MEAN;
            expect(&trial, n);
            trial.clip_norm = trial.norm * clip_ratios[i % CLIP_RATIOS];
            make_gradients(&trial, strategy, bucket_sizes[(i / 5 + i) % 5], 0);
            play(&trial, strategy);
            destroy_gradients(&trial);
        }
        mdist_strategy_destroy(strategy);
    }
}

// ---- The norm does not depend on the layout: replica 0 has the numbers, the others have zeros.

typedef struct Lone {
    mdist_gradients_t *gradients;
    Trial numbers;
    double norms[MOST_REPLICAS];
    Note notes[MOST_REPLICAS];
} Lone;

static int32_t lone_step(mdist_replica_t *replica, void *user_data) {
    Lone *const self = user_data;
    const uint32_t local = mdist_replica_local_index(replica);
    for (size_t g = 0; g < self->numbers.model.count; ++g) {
        mdist_tensor_t tensor;
        DO(mdist_gradients_tensor(self->gradients, local, g, &tensor, error_out));
        if (local == 0) fill(&self->numbers, &tensor, 0, 0, g);
        DO(mdist_gradients_ready(replica, self->gradients, g, error_out));
    }
    DO(end_round(replica, self->gradients, local == 1, &self->norms[local], NULL, error_out));
    return 0;
}

static void the_norm_has_the_same_bits_in_every_layout(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    double first = 0;
    for (uint32_t n = 1; n <= 3; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        for (int size = 0; size < 5; ++size) {
            Lone lone = {.numbers = {.seed = 77, .model = random_model(77, 0), .op = MDIST_SUM}};
            make_gradients(&lone.numbers, strategy, bucket_sizes[size], 0);
            lone.gradients = lone.numbers.gradients;
            OK(mdist_run(strategy, lone_step, &lone, NULL, &error));
            if (n == 1 && size == 0) first = lone.norms[0];
            assert_true(first > 0);
            for (uint32_t r = 0; r < n; ++r) assert_memory_equal(&lone.norms[r], &first, sizeof first);
            mdist_gradients_destroy(lone.gradients);
        }
        mdist_strategy_destroy(strategy);
    }
}

// ---- Numbers that are not finite.

typedef struct Poison {
    mdist_gradients_t *gradients;
    double poison;
    uint32_t who;
    double norms[MOST_REPLICAS];
    int32_t finite[MOST_REPLICAS];
    double seen[MOST_REPLICAS][2]; // an element of the other gradient, and the poisoned element
    Note notes[MOST_REPLICAS];
} Poison;

static int32_t poison_step(mdist_replica_t *replica, void *user_data) {
    Poison *const self = user_data;
    const uint32_t local = mdist_replica_local_index(replica);
    mdist_tensor_t single, twice;
    DO(mdist_gradients_tensor(self->gradients, local, 0, &single, error_out));
    DO(mdist_gradients_tensor(self->gradients, local, 1, &twice, error_out));
    for (int i = 0; i < 100; ++i) ((float *)single.data)[i] = 1;
    for (int i = 0; i < 10; ++i) ((double *)twice.data)[i] = 2;
    if (local == self->who) ((double *)twice.data)[3] = self->poison;
    for (size_t g = 0; g < 2; ++g) DO(mdist_gradients_ready(replica, self->gradients, g, error_out));
    DO(mdist_gradients_wait(replica, self->gradients, &self->norms[local], &self->finite[local], error_out));
    self->seen[local][0] = (double)((float *)single.data)[99];
    self->seen[local][1] = ((double *)twice.data)[3];
    return 0;
}

static void all_replicas_know_what_is_not_finite(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    static const double poisons[] = {2, NAN, 2, INFINITY, -INFINITY, 1e200 /* its square is not */, 2};
    for (uint32_t n = 1; n <= 3; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        for (uint32_t zeroed = 0; zeroed < 2; ++zeroed) {
            Trial made = {.model = {2, {like_of(MDIST_FLOAT32, 100), like_of(MDIST_FLOAT64, 10)}}, .clip_norm = 1e6};
            make_gradients(&made, strategy, 1, zeroed != 0 ? MDIST_GRADIENTS_ZERO_NONFINITE : 0);
            for (int i = 0; i < 7; ++i) {
                Poison self = {.gradients = made.gradients, .poison = poisons[i], .who = (uint32_t)i % n};
                const int well = poisons[i] == 2;
                OK(mdist_run(strategy, poison_step, &self, NULL, &error));
                for (uint32_t r = 0; r < n; ++r) {
                    assert_string_equal(self.notes[r].text, "");
                    assert_int_equal(self.finite[r], well);
                    assert_int_equal(isfinite(self.norms[r]) != 0, well);
                    assert_true(self.seen[r][0] == (well || !zeroed ? (double)n : 0));
                    if (well)
                        assert_true(self.seen[r][1] == 2.0 * n);
                    else if (zeroed)
                        assert_true(self.seen[r][1] == 0);
                    else
                        assert_true(isnan(self.poison) ? isnan(self.seen[r][1]) : fabs(self.seen[r][1]) >= 1e200);
                }
            }
            mdist_gradients_destroy(made.gradients);
        }
        mdist_strategy_destroy(strategy);
    }
}

static int32_t unread_step(mdist_replica_t *replica, void *user_data) {
    Lone *const self = user_data;
    const uint32_t local = mdist_replica_local_index(replica);
    int32_t finite = -1;
    mdist_tensor_t tensor;
    DO(mdist_gradients_tensor(self->gradients, local, 0, &tensor, error_out));
    ((float *)tensor.data)[0] = NAN;
    DO(mdist_gradients_ready(replica, self->gradients, 0, error_out));
    DO(mdist_gradients_wait(replica, self->gradients, &self->norms[local], &finite, error_out));
    if (finite != 1 || self->norms[local] != 0 || !isnan(((float *)tensor.data)[0])) return 2;
    DO(mdist_gradients_ready(replica, self->gradients, 0, error_out));
    DO(mdist_gradients_wait(replica, self->gradients, NULL, NULL, error_out));
    return 0;
}

static void the_norm_can_be_left_out(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    Lone lone = {.numbers = {.model = {1, {like_of(MDIST_FLOAT32, 5)}}}};
    make_gradients(&lone.numbers, strategy, 0, MDIST_GRADIENTS_NO_NORM);
    lone.gradients = lone.numbers.gradients;
    OK(mdist_run(strategy, unread_step, &lone, NULL, &error));
    mdist_gradients_destroy(lone.gradients);
    mdist_strategy_destroy(strategy);
}

// ---- Gradients together with other operations of a step.

static int32_t merge_nothing(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                             mdist_value_t **results, size_t result_count, void *user_data) {
    (void)strategy, (void)arguments, (void)argument_count, (void)results, (void)result_count, (void)user_data;
    return 0;
}

/// Starts an operation, makes a blocking call and merges between buckets, in the same order on all replicas.
static int32_t busy_step(mdist_replica_t *replica, void *user_data) {
    Lone *const self = user_data;
    const uint32_t local = mdist_replica_local_index(replica);
    const float n = (float)mdist_replica_count(replica);
    mdist_tensor_t tensors[3];
    float started = 1, blocking = 1;
    mdist_buffer_t buffer = buffer_of(&started, MDIST_FLOAT32, 1);
    mdist_work_t *work = NULL;
    int32_t done = 0;
    for (size_t g = 0; g < 3; ++g) {
        DO(mdist_gradients_tensor(self->gradients, local, g, &tensors[g], error_out));
        for (int i = 0; i < 3000; ++i) ((float *)tensors[g].data)[i] = (float)g + 1;
    }
    DO(start_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, &work, NULL, error_out));
    DO(mdist_gradients_ready(replica, self->gradients, 2, error_out));
    buffer = buffer_of(&blocking, MDIST_FLOAT32, 1);
    DO(mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, error_out));
    DO(mdist_gradients_ready(replica, self->gradients, 1, error_out));
    DO(mdist_merge_call(replica, merge_nothing, NULL, NULL, 0, NULL, 0, NULL, error_out));
    DO(mdist_gradients_ready(replica, self->gradients, 0, error_out));
    DO(mdist_gradients_wait(replica, self->gradients, NULL, NULL, error_out));
    DO(mdist_work_wait(work, MDIST_FOREVER, &done, error_out));
    mdist_work_destroy(work);
    for (int g = 0; g < 3; ++g)
        if (((float *)tensors[g].data)[2999] != (float)(g + 1) * n) return 2;
    return started != n || blocking != n;
}

static void a_step_may_do_other_things_in_between(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t n = 1; n <= 3; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        Lone lone = {.numbers = {.model = {.count = 3}}};
        for (int g = 0; g < 3; ++g) lone.numbers.model.like[g] = like_of(MDIST_FLOAT32, 3000);
        make_gradients(&lone.numbers, strategy, 1, 0);
        lone.gradients = lone.numbers.gradients;
        for (int i = 0; i < 10; ++i) OK(mdist_run(strategy, busy_step, &lone, NULL, &error));
        mdist_gradients_destroy(lone.gradients);
        mdist_strategy_destroy(strategy);
    }
}

static void a_lone_replica_of_a_caller_reduces_too(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(1, "caller");
    Trial trial = {.seed = 3, .model = random_model(3, MDIST_FLOAT32), .rounds = 2, .op = MDIST_MEAN};
    make_gradients(&trial, strategy, 100, 0);
    play(&trial, strategy);
    destroy_gradients(&trial);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_and_any_buckets_give_the_documented_bits),
        cmocka_unit_test(sums_are_those_of_float64_loops),
        cmocka_unit_test(rounds_are_added_up),
        cmocka_unit_test(rounds_may_lie_in_several_runs),
        cmocka_unit_test(only_a_larger_norm_is_brought_down),
        cmocka_unit_test(the_norm_has_the_same_bits_in_every_layout),
        cmocka_unit_test(all_replicas_know_what_is_not_finite),
        cmocka_unit_test(the_norm_can_be_left_out),
        cmocka_unit_test(a_step_may_do_other_things_in_between),
        cmocka_unit_test(a_lone_replica_of_a_caller_reduces_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
