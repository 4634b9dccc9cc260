// SPDX-License-Identifier: Apache-2.0
// Gradients in the program's own memory: the bits are those of library memory, wherever the arrays lie, and nothing
// beside them is written.
#include "gradients_support.h"
#include "step_support.h"

static const uint64_t bucket_sizes[] = {0, 1, 64, 1000, 100000};

static int trials_of(int few) {
    return is_long() ? 40 * few : few;
}

static void play(Trial *self, mdist_strategy_t *strategy) {
    mdist_error_t *error = NULL;
    OK(mdist_run(strategy, trial_step, self, NULL, &error));
    const uint32_t n = mdist_strategy_local_replica_count(strategy);
    for (uint32_t r = 0; r < n; ++r) {
        assert_string_equal(self->notes[r].text, "");
        if (self->memory != LIBRARY) assert_true(gaps_are_intact(self, r));
    }
}

static void lent_gradients_have_the_bits_of_library_memory(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= 3; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        for (int i = 0; i < trials_of(9); ++i) {
            const uint64_t seed = test_seed(0) + n * 3000 + (uint64_t)i;
            const int rounds = 1 + i % 3;
            double norm = 0;
            for (int memory = LIBRARY; memory < MEMORIES; ++memory) {
                Trial trial = {.seed = seed, .rounds = rounds, .memory = (Memory)memory};
                trial.model = random_model(seed, i % 3 == 0 ? 0 : i % 2 == 0 ? MDIST_FLOAT64 : MDIST_FLOAT32);
                trial.op = i % 2 == 0 ? MDIST_SUM : MDIST_MEAN;
                expect(&trial, n);
                if (i % 3 == 1) trial.clip_norm = trial.norm * clip_ratios[(i / 3 + (int)n * 3) % CLIP_RATIOS];
                make_gradients(&trial, strategy, bucket_sizes[i % 5], 0);
                for (int again = 0; again < 2; ++again) play(&trial, strategy); // the second begins anew
                if (memory == LIBRARY) norm = trial.norms[0];
                assert_memory_equal(&norm, &trial.norms[0], sizeof norm);
                destroy_gradients(&trial);
            }
        }
        mdist_strategy_destroy(strategy);
    }
}

// ---- What is not finite, and what is missing.

enum { GRADIENTS = 3, ELEMENTS = 50 };

typedef struct Few {
    mdist_gradients_t *gradients;
    float arrays[2][2][GRADIENTS][ELEMENTS]; // by replica and place
    double norms[2];
    int32_t finite[2];
    const float *lost[2]; // where the sum of the missing gradient came
    Note notes[2];
} Few;

static void lend_few(Few *self, uint32_t replica, int place, mdist_tensor_t *tensors) {
    for (size_t g = 0; g < GRADIENTS; ++g) {
        tensors[g] = like_of(MDIST_FLOAT32, ELEMENTS);
        tensors[g].data = self->arrays[replica][place][g];
    }
}

static void make_few(Few *self, mdist_strategy_t *strategy, uint32_t flags) {
    mdist_error_t *error = NULL;
    mdist_tensor_t tensors[2 * GRADIENTS];
    const mdist_gradients_options_t options = {.struct_size = sizeof options, .flags = flags};
    for (uint32_t r = 0; r < 2; ++r) lend_few(self, r, 0, tensors + r * GRADIENTS);
    OK(mdist_gradients_create_lent(strategy, tensors, 2 * GRADIENTS / 2, &self->gradients, &options, &error));
}

static void write_few(Few *self, int place, float number) {
    for (int r = 0; r < 2; ++r)
        for (int g = 0; g < GRADIENTS; ++g)
            for (int i = 0; i < ELEMENTS; ++i) self->arrays[r][place][g][i] = number;
}

static void require_few(const Few *self, int place, float number) {
    for (int r = 0; r < 2; ++r)
        for (int g = 0; g < GRADIENTS; ++g)
            for (int i = 0; i < ELEMENTS; ++i) assert_true(self->arrays[r][place][g][i] == number);
}

static int32_t few_step(mdist_replica_t *replica, void *user_data) {
    Few *const self = user_data;
    const uint32_t local = mdist_replica_local_index(replica);
    for (size_t g = 0; g < GRADIENTS; ++g) DO(mdist_gradients_ready(replica, self->gradients, g, error_out));
    DO(mdist_gradients_wait(replica, self->gradients, &self->norms[local], &self->finite[local], error_out));
    return 0;
}

static void what_is_not_finite_becomes_zeros(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    static Few self;
    make_few(&self, strategy, MDIST_GRADIENTS_ZERO_NONFINITE);
    write_few(&self, 0, 1);
    OK(mdist_run(strategy, few_step, &self, NULL, &error));
    require_few(&self, 0, 2);
    self.arrays[1][0][2][7] = NAN;
    OK(mdist_run(strategy, few_step, &self, NULL, &error));
    assert_true(self.finite[0] == 0 && self.finite[1] == 0);
    require_few(&self, 0, 0);
    mdist_gradients_destroy(self.gradients);
    mdist_strategy_destroy(strategy);
}

static void lending_again_moves_the_gradients(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    static Few self;
    mdist_tensor_t tensors[GRADIENTS], seen;
    make_few(&self, strategy, 0);
    for (int turn = 0; turn < 4; ++turn) {
        const int place = turn % 2;
        for (uint32_t r = 0; r < 2; ++r) {
            lend_few(&self, r, place, tensors);
            OK(mdist_gradients_lend(self.gradients, r, tensors, GRADIENTS, &error));
            OK(mdist_gradients_tensor(self.gradients, r, 1, &seen, &error));
            assert_ptr_equal(seen.data, self.arrays[r][place][1]);
        }
        write_few(&self, place, 3);
        write_few(&self, !place, 5);
        OK(mdist_run(strategy, few_step, &self, NULL, &error));
        require_few(&self, place, 6);
        require_few(&self, !place, 5);
    }
    mdist_gradients_destroy(self.gradients);
    mdist_strategy_destroy(strategy);
}

/// Replica 0 has gradient 1 elsewhere than lent; replica 1 has none, and no memory for one.
static int32_t lost_step(mdist_replica_t *replica, void *user_data) {
    Few *const self = user_data;
    const uint32_t local = mdist_replica_local_index(replica);
    mdist_tensor_t tensor;
    for (size_t g = 0; g < GRADIENTS; ++g) {
        if (g == 1 && local == 1) continue;
        DO(mdist_gradients_ready_at(replica, self->gradients, g, self->arrays[local][1][g], error_out));
    }
    DO(mdist_gradients_wait(replica, self->gradients, &self->norms[local], NULL, error_out));
    DO(mdist_gradients_tensor(self->gradients, local, 1, &tensor, error_out));
    self->lost[local] = tensor.data;
    return 0;
}

static void a_missing_gradient_without_memory_gets_some(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    static Few self;
    mdist_tensor_t none[GRADIENTS], seen;
    make_few(&self, strategy, MDIST_GRADIENTS_ZERO_MISSING);
    for (int g = 0; g < GRADIENTS; ++g) none[g] = like_of(MDIST_FLOAT32, ELEMENTS);
    for (uint32_t r = 0; r < 2; ++r) OK(mdist_gradients_lend(self.gradients, r, none, GRADIENTS, &error));
    OK(mdist_gradients_tensor(self.gradients, 1, 1, &seen, &error));
    assert_null(seen.data);
    for (int turn = 0; turn < 2; ++turn) {
        write_few(&self, 0, 7);
        write_few(&self, 1, 1);
        OK(mdist_run(strategy, lost_step, &self, NULL, &error));
        require_few(&self, 0, 7); // no longer lent
        assert_ptr_equal(self.lost[0], self.arrays[0][1][1]);
        for (int i = 0; i < ELEMENTS; ++i) {
            assert_true(self.arrays[0][1][1][i] == 1 && self.lost[1][i] == 1);
            assert_true(self.arrays[1][1][1][i] == 1 && self.arrays[1][1][2][i] == 2);
        }
    }
    mdist_gradients_destroy(self.gradients);
    mdist_strategy_destroy(strategy);
}

// ---- What is refused.

static void wrong_tensors_are_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    static Few self;
    mdist_gradients_t *out = NULL;
    mdist_tensor_t tensors[2 * GRADIENTS];
    const mdist_tensor_t whole = like_of(MDIST_INT32, 3);
    make_few(&self, strategy, 0);
    for (int fault = 0; fault < 4; ++fault) {
        for (uint32_t r = 0; r < 2; ++r) lend_few(&self, r, 0, tensors + r * GRADIENTS);
        const char *words = "tensors[4] is float32 [49], but gradient 1 (float32 [50]) must";
        if (fault == 0) tensors[4].shape[0] = ELEMENTS - 1;
        if (fault == 1) tensors[4].dtype = MDIST_FLOAT64, words = "tensors[4] is float64 [50]";
        if (fault == 2) tensors[4].data = self.arrays[0][0][1], words = "tensors[1] and tensors[4] overlap in memory";
        if (fault == 3) tensors[2].data = &self.arrays[0][0][1][1], words = "tensors[1] and tensors[2] overlap";
        assert_int_equal(mdist_gradients_create_lent(strategy, tensors, GRADIENTS, &out, NULL, &error),
                         MDIST_ERR_INVALID_ARGUMENT);
        WORDS(error, words);
        mdist_error_free(error);
        error = NULL;
    }
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_gradients_create_lent(strategy, NULL, 3, &out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_gradients_create_lent(strategy, tensors, 0, &out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_gradients_create_lent(strategy, &whole, 1, &out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_gradients_create_lent(strategy, tensors, 3, NULL, NULL, &error));
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_gradients_create_lent(NULL, tensors, 3, &out, NULL, &error));
    assert_null(out);
    lend_few(&self, 0, 0, tensors);
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_gradients_lend(self.gradients, 2, tensors, GRADIENTS, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_gradients_lend(self.gradients, 0, tensors, 2, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_gradients_lend(self.gradients, 0, NULL, GRADIENTS, &error));
    OK(mdist_gradients_create(strategy, tensors, GRADIENTS, &out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_gradients_lend(out, 0, tensors, GRADIENTS, &error));
    mdist_gradients_destroy(out);
    mdist_gradients_destroy(self.gradients);
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_gradients_lend(self.gradients, 0, tensors, GRADIENTS, &error));
    mdist_strategy_destroy(strategy);
}

typedef enum Fault {
    NOT_LENT,    // says that a gradient without memory is ready
    NULL_DATA,   // says that it lies at NULL
    WITHIN,      // lends within the round
    NOT_ITS_OWN, // passes another address for a gradient in memory of the library
    TWICE,
    FAULTS
} Fault;

typedef struct Wrong {
    mdist_gradients_t *gradients;
    Fault fault;
    char reason[64];
} Wrong;

static int32_t wrong_step(mdist_replica_t *replica, void *user_data) {
    Wrong *const self = user_data;
    static float array[2][ELEMENTS];
    mdist_tensor_t tensor = like_of(MDIST_FLOAT32, ELEMENTS);
    mdist_error_t *told = NULL;
    mdist_status_t status = MDIST_OK;
    tensor.data = array[0];
    if (self->fault == NOT_LENT) status = mdist_gradients_ready(replica, self->gradients, 0, &told);
    if (self->fault == NULL_DATA) status = mdist_gradients_ready_at(replica, self->gradients, 0, NULL, &told);
    if (self->fault == NOT_ITS_OWN) status = mdist_gradients_ready_at(replica, self->gradients, 0, array[1], &told);
    if (self->fault == TWICE || self->fault == WITHIN)
        status = mdist_gradients_ready_at(replica, self->gradients, 0, array[0], &told);
    if (self->fault == TWICE) status = mdist_gradients_ready_at(replica, self->gradients, 0, array[0], &told);
    if (self->fault == WITHIN) status = mdist_gradients_lend(self->gradients, 0, &tensor, 1, &told);
    snprintf(self->reason, sizeof self->reason, "%s", mdist_error_reason(told));
    mdist_error_free(told);
    return status != MDIST_OK;
}

static void wrong_calls_of_a_round_are_refused(void **state) {
    (void)state;
    static const char *const reasons[FAULTS] = {"not_lent", "", "round_has_begun", "", "ready_twice"};
    static const char *const words[FAULTS] = {"gradient 0 (float32 [50]) has no memory", "data is NULL for gradient 0",
                                              NULL, "gradient 0 (float32 [50]) has memory of the library",
                                              "is already ready"};
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    const mdist_tensor_t like = like_of(MDIST_FLOAT32, ELEMENTS);
    for (int fault = 0; fault < FAULTS; ++fault) {
        mdist_error_t *error = NULL;
        Wrong self = {.fault = (Fault)fault};
        if (fault == NOT_ITS_OWN)
            OK(mdist_gradients_create(strategy, &like, 1, &self.gradients, NULL, &error));
        else
            OK(mdist_gradients_create_lent(strategy, &like, 1, &self.gradients, NULL, &error));
        assert_int_not_equal(mdist_run(strategy, wrong_step, &self, NULL, &error), MDIST_OK);
        assert_string_equal(self.reason, reasons[fault]);
        if (words[fault] != NULL) WORDS(error, words[fault]);
        mdist_error_free(error);
        mdist_gradients_destroy(self.gradients);
    }
    mdist_strategy_destroy(strategy);
}

/// A gradient whose memory comes later costs nothing before, however large its shape says that it is.
static void a_wild_shape_takes_no_memory_until_it_is_ready(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    const mdist_tensor_t tensors[] = {like_of(MDIST_FLOAT32, UINT64_C(1) << 60),
                                      like_of(MDIST_FLOAT32, UINT64_C(1) << 40)};
    Wrong self = {.fault = NOT_LENT};
    OK(mdist_gradients_create_lent(strategy, tensors, 2, &self.gradients, NULL, &error));
    assert_int_equal(mdist_run(strategy, wrong_step, &self, NULL, &error), MDIST_ERR_FAILED_PRECONDITION);
    WORDS(error, "gradient 0 (float32 [1152921504606846976]) has no memory");
    mdist_error_free(error);
    mdist_gradients_destroy(self.gradients);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lent_gradients_have_the_bits_of_library_memory),
        cmocka_unit_test(what_is_not_finite_becomes_zeros),
        cmocka_unit_test(lending_again_moves_the_gradients),
        cmocka_unit_test(a_missing_gradient_without_memory_gets_some),
        cmocka_unit_test(wrong_tensors_are_refused),
        cmocka_unit_test(wrong_calls_of_a_round_are_refused),
        cmocka_unit_test(a_wild_shape_takes_no_memory_until_it_is_ready),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
