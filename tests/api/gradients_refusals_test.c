// SPDX-License-Identifier: Apache-2.0
// Calls that gradients refuse. A failure leaves nothing behind: the next run gives correct results.
#include "gradients_support.h"
#include "step_support.h"

enum { GRADIENTS = 5, ELEMENTS = 2000 };

typedef enum Fault {
    NONE,
    TWICE,           // marks a gradient ready twice
    NO_SUCH_INDEX,   // marks an index ready that does not exist
    LATE_ACCUMULATE, // accumulates after a gradient is ready
    ANOTHERS,        // uses gradients of another strategy
    FORGETS,         // leaves one gradient out
    ENDS_EARLY,      // ends the step with some gradients ready
    ENDS_AT_ONCE,    // ends the step in the round, before any gradient is ready
    RETURNS,         // returns a number, with some gradients ready
    ACCUMULATES,     // accumulates while the others reduce
    BARRIER,         // calls a barrier between its gradients
    DESTROYS,        // destroys the gradients in the middle of the round
    FAULTS
} Fault;

typedef struct Wrong {
    mdist_gradients_t *gradients, *anothers;
    Fault fault;
    uint32_t who;
    int rounds_before; // rounds that all replicas have accumulated in this run
    float sums[MOST_REPLICAS][GRADIENTS];
    char reason[64], message[512]; // of the first call that failed on replica `who`
} Wrong;

#define TRY(call)                                                                                \
    do {                                                                                         \
        mdist_error_t *try_error = NULL;                                                         \
        mdist_error_t **const error_out = &try_error;                                            \
        const mdist_status_t try_status = (call);                                                \
        if (try_status != MDIST_OK && struck) {                                                  \
            snprintf(self->reason, sizeof self->reason, "%s", mdist_error_reason(try_error));    \
            snprintf(self->message, sizeof self->message, "%s", mdist_error_message(try_error)); \
        }                                                                                        \
        mdist_error_free(try_error);                                                             \
        if (try_status != MDIST_OK) return 7;                                                    \
    } while (0)

static int32_t fill_all(mdist_replica_t *replica, Wrong *self, mdist_tensor_t *tensors) {
    const uint32_t local = mdist_replica_local_index(replica);
    for (size_t g = 0; g < GRADIENTS; ++g) {
        if (mdist_gradients_tensor(self->gradients, local, g, &tensors[g], NULL) != MDIST_OK) return 1;
        for (int i = 0; i < ELEMENTS; ++i) ((float *)tensors[g].data)[i] = (float)(local + g + 1);
    }
    return 0;
}

static int32_t wrong_step(mdist_replica_t *replica, void *user_data) {
    Wrong *const self = user_data;
    const uint32_t local = mdist_replica_local_index(replica);
    const int struck = local == self->who;
    const Fault fault = struck ? self->fault : NONE;
    mdist_gradients_t *const gradients = self->gradients;
    mdist_tensor_t tensors[GRADIENTS];
    for (int round = 0; round < self->rounds_before; ++round) {
        if (fill_all(replica, self, tensors) != 0) return 1;
        TRY(mdist_gradients_accumulate(replica, gradients, error_out));
        for (size_t g = 0; g < GRADIENTS; ++g) TRY(mdist_gradients_ready(replica, gradients, g, error_out));
        TRY(mdist_gradients_wait(replica, gradients, NULL, NULL, error_out));
    }
    if (fill_all(replica, self, tensors) != 0) return 1;
    TRY(mdist_barrier(replica, NULL, error_out)); // all have their tensors, so one may destroy the gradients
    if (fault == ENDS_AT_ONCE) {
        TRY(mdist_gradients_accumulate(replica, gradients, error_out));
        return 0;
    }
    if (fault == ACCUMULATES) TRY(mdist_gradients_accumulate(replica, gradients, error_out));
    for (size_t i = 0; i < GRADIENTS; ++i) {
        const size_t g = (i * 2 + local) % GRADIENTS;
        if (i == 2) {
            if (fault == ENDS_EARLY) return 0;
            if (fault == RETURNS) return 5;
            if (fault == BARRIER) TRY(mdist_barrier(replica, NULL, error_out));
            if (fault == DESTROYS) mdist_gradients_destroy(gradients);
            if (fault == LATE_ACCUMULATE) TRY(mdist_gradients_accumulate(replica, gradients, error_out));
            if (fault == ANOTHERS) TRY(mdist_gradients_ready(replica, self->anothers, 0, error_out));
            if (fault == NO_SUCH_INDEX) TRY(mdist_gradients_ready(replica, gradients, GRADIENTS, error_out));
            if (fault == TWICE) TRY(mdist_gradients_ready(replica, gradients, local, error_out));
            if (fault == FORGETS) continue;
        }
        TRY(mdist_gradients_ready(replica, gradients, g, error_out));
    }
    TRY(end_round(replica, gradients, local == 0, NULL, NULL, error_out));
    for (size_t g = 0; g < GRADIENTS; ++g) self->sums[local][g] = ((float *)tensors[g].data)[ELEMENTS - 1];
    return 0;
}

static mdist_gradients_t *five(mdist_strategy_t *strategy, uint64_t bucket_bytes, uint32_t flags) {
    Trial made = {.model = {.count = GRADIENTS}};
    for (int g = 0; g < GRADIENTS; ++g) made.model.like[g] = like_of(MDIST_FLOAT32, ELEMENTS);
    make_gradients(&made, strategy, bucket_bytes, flags);
    return made.gradients;
}

/// Checks that later runs give correct sums, so that nothing is left of a failure.
static void require_right(mdist_strategy_t *strategy, Wrong *self) {
    mdist_error_t *error = NULL;
    const uint32_t n = mdist_strategy_local_replica_count(strategy);
    for (self->rounds_before = 0; self->rounds_before < 2; ++self->rounds_before) {
        self->fault = NONE;
        OK(mdist_run(strategy, wrong_step, self, NULL, &error));
        for (uint32_t r = 0; r < n; ++r)
            for (uint32_t g = 0; g < GRADIENTS; ++g)
                assert_true(self->sums[r][g] ==
                            (float)((self->rounds_before + 1) * (int)(n * (g + 1) + n * (n - 1) / 2)));
    }
}

typedef struct Told {
    mdist_status_t status; // of the run
    const char *reason;    // of the failed call, if it has one
    const char *words;
} Told;

/// Returns the expected error. With one replica, no other replica can disagree.
static Told told_of(Fault fault, uint32_t n) {
    switch (fault) {
        case TWICE:
            return (Told){MDIST_ERR_FAILED_PRECONDITION, "ready_twice", "is already ready in this round"};
        case NO_SUCH_INDEX:
            return (Told){MDIST_ERR_INVALID_ARGUMENT, "", "index is 5; there are 5 gradients"};
        case LATE_ACCUMULATE:
            return (Told){MDIST_ERR_FAILED_PRECONDITION, "round_has_begun", "2 gradients of this round are ready"};
        case ANOTHERS:
            return (Told){MDIST_ERR_INVALID_ARGUMENT, "", "another strategy"};
        case FORGETS:
            return (Told){MDIST_ERR_FAILED_PRECONDITION, "gradients_missing", "(float32 [2000]) is not ready"};
        case ENDS_EARLY:
        case ENDS_AT_ONCE:
            return (Told){MDIST_ERR_FAILED_PRECONDITION, NULL, "within a round of gradients"};
        case RETURNS:
            return (Told){MDIST_ERR_CALLBACK, NULL, "returned 5"};
        case ACCUMULATES:
            return n == 1 ? (Told){MDIST_OK, NULL, ""} : (Told){MDIST_ERR_MISMATCH, NULL, "returned before"};
        case BARRIER:
            return n == 1 ? (Told){MDIST_OK, NULL, ""} : (Told){MDIST_ERR_MISMATCH, "different_calls", "mdist_barrier"};
        case DESTROYS:
            return (Told){MDIST_ERR_BAD_HANDLE, NULL, "gradients that were destroyed"};
        default:
            return (Told){MDIST_OK, NULL, ""};
    }
}

static void fail_once(mdist_strategy_t *strategy, mdist_gradients_t *anothers, Wrong self) {
    const uint32_t n = mdist_strategy_local_replica_count(strategy);
    const Told told = told_of(self.fault, n);
    const Fault fault = self.fault;
    mdist_error_t *error = NULL;
    self.gradients = five(strategy, self.who == 0 ? 1 : 20000, 0);
    self.anothers = anothers;
    const mdist_status_t status = mdist_run(strategy, wrong_step, &self, NULL, &error);
    if (status != told.status)
        fail_msg("fault %d of replica %u of %u gave %s: %s", (int)fault, self.who, n, mdist_status_name(status),
                 mdist_error_message(error));
    if (told.status != MDIST_OK && fault != ACCUMULATES) WORDS(error, told.words);
    if (told.reason != NULL) assert_string_equal(self.reason, told.reason);
    mdist_error_free(error);
    if (fault == DESTROYS) self.gradients = five(strategy, 1, 0);
    if (told.status != MDIST_OK) require_right(strategy, &self);
    mdist_gradients_destroy(self.gradients);
}

static void every_fault_is_told_and_forgotten(void **state) {
    (void)state;
    mdist_strategy_t *other = make_strategy(1, NULL);
    mdist_gradients_t *anothers = five(other, 0, 0);
    for (uint32_t n = 1; n <= 3; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        for (int fault = NONE; fault < FAULTS; ++fault)
            for (uint32_t who = 0; who < n; who += 2)
                for (int before = 0; before < 2; ++before)
                    fail_once(strategy, anothers, (Wrong){.fault = (Fault)fault, .who = who, .rounds_before = before});
        mdist_strategy_destroy(strategy);
    }
    mdist_gradients_destroy(anothers);
    mdist_strategy_destroy(other);
}

// ---- Replicas with different numbers of rounds.

/// Replica 0 accumulates one round more than the others. The reduction must find the difference.
static int32_t uneven_step(mdist_replica_t *replica, void *user_data) {
    mdist_gradients_t *const gradients = user_data;
    for (int round = mdist_replica_id(replica) == 0 ? 0 : 1; round < 3; ++round) {
        if (round < 2 && mdist_gradients_accumulate(replica, gradients, NULL) != MDIST_OK) return 1;
        for (size_t g = 0; g < GRADIENTS; ++g)
            if (mdist_gradients_ready(replica, gradients, g, NULL) != MDIST_OK) return 2;
        if (mdist_gradients_wait(replica, gradients, NULL, NULL, NULL) != MDIST_OK) return 3;
    }
    return 0;
}

static void different_numbers_of_rounds_are_a_mismatch(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    Wrong self = {.gradients = five(strategy, 0, 0)};
    assert_int_equal(mdist_run(strategy, uneven_step, self.gradients, NULL, &error), MDIST_ERR_MISMATCH);
    WORDS(error, "3 rounds");
    WORDS(error, "2 rounds");
    mdist_error_free(error);
    require_right(strategy, &self);
    mdist_gradients_destroy(self.gradients);
    mdist_strategy_destroy(strategy);
}

/// Replica 0 accumulates a round, and replica 1 fails the run. The round must not count in the next run.
static int32_t half_step(mdist_replica_t *replica, void *user_data) {
    mdist_gradients_t *const gradients = user_data;
    if (mdist_replica_id(replica) == 1) return 9;
    if (mdist_gradients_accumulate(replica, gradients, NULL) != MDIST_OK) return 1;
    for (size_t g = 0; g < GRADIENTS; ++g)
        if (mdist_gradients_ready(replica, gradients, g, NULL) != MDIST_OK) return 2;
    return mdist_gradients_wait(replica, gradients, NULL, NULL, NULL) != MDIST_OK;
}

static void a_run_that_fails_takes_its_rounds_with_it(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    Wrong self = {.gradients = five(strategy, 0, 0)};
    FAILS(MDIST_ERR_CALLBACK, mdist_run(strategy, half_step, self.gradients, NULL, &error));
    require_right(strategy, &self);
    mdist_gradients_destroy(self.gradients);
    mdist_strategy_destroy(strategy);
}

// ---- Missing gradients.

typedef struct Sparse {
    mdist_gradients_t *gradients;
    float seen[2][GRADIENTS];
    Note notes[2];
} Sparse;

/// Gradients 0 and 4 are ready on all replicas, 1 on none, 2 only on replica 0, and 3 on all in the round before.
static int32_t sparse_step(mdist_replica_t *replica, void *user_data) {
    Sparse *const self = user_data;
    const uint32_t local = mdist_replica_local_index(replica);
    mdist_tensor_t tensors[GRADIENTS];
    for (size_t g = 0; g < GRADIENTS; ++g) {
        DO(mdist_gradients_tensor(self->gradients, local, g, &tensors[g], error_out));
        for (int i = 0; i < ELEMENTS; ++i) ((float *)tensors[g].data)[i] = 1;
    }
    DO(mdist_gradients_accumulate(replica, self->gradients, error_out));
    DO(mdist_gradients_ready(replica, self->gradients, 3, error_out));
    DO(mdist_gradients_wait(replica, self->gradients, NULL, NULL, error_out));
    if (local == 0) DO(mdist_gradients_ready(replica, self->gradients, 2, error_out));
    DO(mdist_gradients_ready(replica, self->gradients, 0, error_out));
    DO(mdist_gradients_ready(replica, self->gradients, 4, error_out));
    DO(mdist_gradients_wait(replica, self->gradients, NULL, NULL, error_out));
    for (size_t g = 0; g < GRADIENTS; ++g) self->seen[local][g] = ((float *)tensors[g].data)[ELEMENTS - 1];
    return 0;
}

static void missing_gradients_can_be_zeros(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    static const float wanted[GRADIENTS] = {2, 0, 1, 2, 2};
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    for (uint64_t bucket_bytes = 1; bucket_bytes < 100000; bucket_bytes *= 300) {
        Sparse self = {.gradients = five(strategy, bucket_bytes, MDIST_GRADIENTS_ZERO_MISSING)};
        OK(mdist_run(strategy, sparse_step, &self, NULL, &error));
        for (int r = 0; r < 2; ++r) {
            assert_string_equal(self.notes[r].text, "");
            for (int g = 0; g < GRADIENTS; ++g) assert_true(self.seen[r][g] == wanted[g]);
        }
        mdist_gradients_destroy(self.gradients);
    }
    mdist_strategy_destroy(strategy);
}

static int32_t wait_only(mdist_replica_t *replica, void *user_data) {
    return mdist_gradients_wait(replica, user_data, NULL, NULL, NULL) != MDIST_OK;
}

static void messages_name_those_that_are_missing(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    mdist_variable_t *variable = NULL;
    mdist_gradients_t *gradients = NULL;
    mdist_tensor_t like[6] = {0}, zeros = tensor_of(NULL, MDIST_FLOAT64, 4);
    OK(mdist_variable_create(strategy, "dense/kernel", &zeros, &variable, NULL, &error));
    for (int g = 0; g < 6; ++g) like[g] = like_of(MDIST_FLOAT16, 3);
    OK(mdist_variable_tensor(variable, 0, &like[1], &error));
    OK(mdist_gradients_create(strategy, like, 6, &gradients, NULL, &error));
    assert_int_equal(mdist_run(strategy, wait_only, gradients, NULL, &error), MDIST_ERR_FAILED_PRECONDITION);
    WORDS(error, "gradient 0 (float16 [3]), gradient 1 (\"dense/kernel\" float64 [4])");
    WORDS(error, "and 2 more are not ready");
    mdist_error_free(error);
    mdist_gradients_destroy(gradients);
    mdist_variable_destroy(variable);
    mdist_strategy_destroy(strategy);
}

// ---- Creating and destroying gradients.

static void wrong_options_are_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_gradients_t *out = NULL;
    const mdist_tensor_t fine = like_of(MDIST_FLOAT32, 3), whole = like_of(MDIST_INT32, 3);
    const mdist_tensor_t huge[2] = {like_of(MDIST_FLOAT32, UINT64_C(1) << 60),
                                    like_of(MDIST_FLOAT32, UINT64_C(1) << 60)};
    static const mdist_gradients_options_t wrong[] = {
        {.struct_size = 4},
        {.struct_size = sizeof *wrong, .flags = 8},
        {.struct_size = sizeof *wrong, .reserved = 1},
        {.struct_size = sizeof *wrong, .op = MDIST_MAX},
        {.struct_size = sizeof *wrong, .clip_norm = -1},
        {.struct_size = sizeof *wrong, .clip_norm = INFINITY},
        {.struct_size = sizeof *wrong, .clip_norm = NAN},
        {.struct_size = sizeof *wrong, .clip_norm = 1, .flags = MDIST_GRADIENTS_NO_NORM},
        {.struct_size = sizeof *wrong, .flags = MDIST_GRADIENTS_NO_NORM | MDIST_GRADIENTS_ZERO_NONFINITE},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i)
        FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_gradients_create(strategy, &fine, 1, &out, &wrong[i], &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_gradients_create(strategy, &fine, 0, &out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_gradients_create(strategy, NULL, 1, &out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_gradients_create(strategy, &fine, 1, NULL, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_gradients_create(strategy, &whole, 1, &out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_gradients_create(strategy, huge, 2, &out, NULL, &error));
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_gradients_create(NULL, &fine, 1, &out, NULL, &error));
    assert_null(out);
    mdist_strategy_destroy(strategy);
}

static void tensors_lie_apart_and_outlive_the_strategy(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_gradients_t *gradients = five(strategy, 1, 0);
    mdist_tensor_t all[2][GRADIENTS];
    for (uint32_t r = 0; r < 2; ++r)
        for (size_t g = 0; g < GRADIENTS; ++g) {
            OK(mdist_gradients_tensor(gradients, r, g, &all[r][g], &error));
            assert_int_equal((uintptr_t)all[r][g].data % 64, 0);
            for (int i = 0; i < ELEMENTS; ++i) assert_true(((float *)all[r][g].data)[i] == 0);
            for (int i = 0; i < ELEMENTS; ++i) ((float *)all[r][g].data)[i] = (float)(r * GRADIENTS + g);
        }
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_gradients_tensor(gradients, 2, 0, &all[0][0], &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_gradients_tensor(gradients, 0, GRADIENTS, &all[0][0], &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_gradients_tensor(gradients, 0, 0, NULL, &error));
    mdist_strategy_destroy(strategy);
    for (uint32_t r = 0; r < 2; ++r)
        for (size_t g = 0; g < GRADIENTS; ++g)
            for (int i = 0; i < ELEMENTS; ++i) assert_true(((float *)all[r][g].data)[i] == (float)(r * GRADIENTS + g));
    mdist_gradients_destroy(gradients);
    mdist_gradients_destroy(gradients);
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_gradients_tensor(gradients, 0, 0, &all[0][0], &error));
}

static void replicas_that_run_one_after_another_cannot_reduce(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, "caller");
    Wrong self = {.gradients = five(strategy, 0, 0)};
    FAILS(MDIST_ERR_FAILED_PRECONDITION, mdist_run(strategy, wrong_step, &self, NULL, &error));
    assert_string_equal(self.reason, "executor_caller");
    mdist_gradients_destroy(self.gradients);
    mdist_strategy_destroy(strategy);
}

/// An entered replica that leaves within a round gets the error itself, and so does the run.
static void leaving_within_a_round_is_told(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_gradients_t *gradients = five(strategy, 1, 0);
    Entered run;
    begin_and_enter(&run, strategy);
    OK(mdist_gradients_ready(run.replicas[0], gradients, 4, &error));
    REASON(MDIST_ERR_FAILED_PRECONDITION, mdist_replica_exit(run.replicas[0], 0, error_out), "work_under_way");
    OK(mdist_replica_exit(run.replicas[1], 0, &error));
    end_with(strategy, MDIST_ERR_FAILED_PRECONDITION, "work_under_way");
    Wrong self = {.gradients = gradients};
    require_right(strategy, &self);
    mdist_gradients_destroy(gradients);
    mdist_strategy_destroy(strategy);
}

static void a_strategy_destroyed_within_a_round_lets_all_go(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_gradients_t *gradients = five(strategy, 1, 0);
    Entered run;
    begin_and_enter(&run, strategy);
    for (size_t g = 0; g < GRADIENTS; ++g) OK(mdist_gradients_ready(run.replicas[0], gradients, g, &error));
    mdist_strategy_destroy(strategy);
    REASON(MDIST_ERR_ABORTED, mdist_gradients_wait(run.replicas[0], gradients, NULL, NULL, error_out),
           "strategy_failed");
    mdist_gradients_destroy(gradients);
    for (uint32_t r = 0; r < 2; ++r) {
        mdist_error_t *left = NULL;
        (void)mdist_replica_exit(run.replicas[r], 0, &left);
        mdist_error_free(left);
    }
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_is_told_and_forgotten),
        cmocka_unit_test(different_numbers_of_rounds_are_a_mismatch),
        cmocka_unit_test(a_run_that_fails_takes_its_rounds_with_it),
        cmocka_unit_test(missing_gradients_can_be_zeros),
        cmocka_unit_test(messages_name_those_that_are_missing),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(tensors_lie_apart_and_outlive_the_strategy),
        cmocka_unit_test(replicas_that_run_one_after_another_cannot_reduce),
        cmocka_unit_test(leaving_within_a_round_is_told),
        cmocka_unit_test(a_strategy_destroyed_within_a_round_lets_all_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
