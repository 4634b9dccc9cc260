// SPDX-License-Identifier: Apache-2.0
// The end of a round without waiting: one thread has entered all replicas, so a call that waits would never return.
#include "gradients_support.h"
#include "started.h"
#include "step_support.h"

enum { REPLICAS = 3, LENGTH = 3000 };

/// Two gradients, in buckets of their own. Each replica's have its number and one, twice as much.
typedef struct Ends {
    mdist_strategy_t *strategy;
    mdist_gradients_t *gradients, *others;
    Entered run;
} Ends;

static mdist_gradients_t *two_gradients(mdist_strategy_t *strategy, double clip_norm) {
    mdist_error_t *error = NULL;
    mdist_gradients_t *out = NULL;
    const mdist_tensor_t like[] = {like_of(MDIST_FLOAT32, LENGTH), like_of(MDIST_FLOAT64, 1)};
    const mdist_gradients_options_t options = {
        .struct_size = sizeof options, .bucket_bytes = 1, .clip_norm = clip_norm};
    OK(mdist_gradients_create(strategy, like, 2, &out, &options, &error));
    return out;
}

static Ends begin(double clip_norm) {
    Ends self = {.strategy = make_strategy(REPLICAS, NULL)};
    self.gradients = two_gradients(self.strategy, clip_norm);
    self.others = two_gradients(self.strategy, clip_norm);
    begin_and_enter(&self.run, self.strategy);
    return self;
}

static void end(Ends *self) {
    mdist_gradients_destroy(self->gradients);
    mdist_gradients_destroy(self->others);
    mdist_strategy_destroy(self->strategy);
}

static void hand_in(Ends *self, uint32_t r) {
    mdist_error_t *error = NULL;
    mdist_tensor_t tensors[2];
    for (size_t g = 2; g-- > 0;) {
        OK(mdist_gradients_tensor(self->gradients, r, g, &tensors[g], &error));
        for (int i = 0; g == 0 && i < LENGTH; ++i) ((float *)tensors[0].data)[i] = (float)r + 1;
        if (g == 1) *(double *)tensors[1].data = 2 * ((double)r + 1);
        OK(mdist_gradients_ready(self->run.replicas[r], self->gradients, g, &error));
    }
}

static int over(Ends *self, uint32_t r, double *norm) {
    mdist_error_t *error = NULL;
    int32_t done = 7, finite = 7;
    *norm = -1;
    OK(mdist_gradients_test(self->run.replicas[r], self->gradients, &done, norm, &finite, &error));
    assert_true(done == 0 || done == 1);
    assert_int_equal(finite, done ? 1 : 7);
    assert_true(done == (*norm != -1));
    return done;
}

static void one_thread_ends_the_rounds_of_all_replicas(void **state) {
    (void)state;
    Ends self = begin(1.5);
    const double sum = REPLICAS * (REPLICAS + 1) / 2, norm = sqrt(sum * sum * LENGTH + 4 * sum * sum);
    for (int round = 0; round < 3; ++round) {
        int ended = 0, done[REPLICAS] = {0};
        double got;
        for (uint32_t r = 0; r < REPLICAS; ++r) {
            hand_in(&self, r);
            if (r + 1 < REPLICAS) assert_false(over(&self, r, &got)); // the others have nothing ready yet
        }
        for (uint32_t r = 0; ended < REPLICAS; r = (r + 1) % REPLICAS) {
            if (done[r] || !over(&self, r, &got)) continue;
            done[r] = 1;
            ++ended;
            assert_true(fabs(got - norm) < 1e-9 * norm);
        }
        mdist_error_t *error = NULL;
        mdist_tensor_t tensor;
        for (uint32_t r = 0; r < REPLICAS; ++r) {
            OK(mdist_gradients_tensor(self.gradients, r, 0, &tensor, &error));
            assert_true(fabs(((float *)tensor.data)[LENGTH - 1] - sum * 1.5 / norm) < 1e-6);
        }
    }
    exit_all(&self.run);
    end_with(self.strategy, MDIST_OK, "");
    end(&self);
}

static void an_accumulating_round_ends_at_once(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    Ends self = begin(0);
    double norm;
    for (uint32_t r = 0; r < REPLICAS; ++r) {
        OK(mdist_gradients_accumulate(self.run.replicas[r], self.gradients, &error));
        hand_in(&self, r);
        assert_true(over(&self, r, &norm));
        assert_true(norm == 0);
    }
    exit_all(&self.run);
    end_with(self.strategy, MDIST_OK, "");
    end(&self);
}

// ---- What a replica must not do while its round ends.

static mdist_status_t a_barrier(const Ends *self, mdist_error_t **error) {
    return mdist_barrier(self->run.replicas[0], NULL, error);
}

static mdist_status_t a_started_sum(const Ends *self, mdist_error_t **error) {
    float x = 1;
    const mdist_buffer_t buffer = buffer_of(&x, MDIST_FLOAT32, 1);
    mdist_work_t *work = NULL;
    return start_all_reduce(self->run.replicas[0], MDIST_SUM, &buffer, &buffer, 1, &work, NULL, error);
}

static mdist_status_t a_message(const Ends *self, mdist_error_t **error) {
    float x = 1;
    const mdist_buffer_t buffer = buffer_of(&x, MDIST_FLOAT32, 1);
    return mdist_send(self->run.replicas[0], 1, 5, &buffer, NULL, error);
}

static mdist_status_t a_merge(const Ends *self, mdist_error_t **error) {
    return mdist_merge_begin(self->run.replicas[0], NULL, 0, NULL, NULL, error);
}

static mdist_status_t another_round(const Ends *self, mdist_error_t **error) {
    return mdist_gradients_ready(self->run.replicas[0], self->others, 0, error);
}

static mdist_status_t the_end_of_another_round(const Ends *self, mdist_error_t **error) {
    int32_t done = 0;
    return mdist_gradients_test(self->run.replicas[0], self->others, &done, NULL, NULL, error);
}

static void nothing_else_may_begin_while_a_round_ends(void **state) {
    (void)state;
    static mdist_status_t (*const calls[])(const Ends *, mdist_error_t **) = {
        a_barrier, a_started_sum, a_message, a_merge, another_round, the_end_of_another_round,
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i) {
        Ends self = begin(0);
        double norm;
        hand_in(&self, 0);
        assert_false(over(&self, 0, &norm));
        REASON(MDIST_ERR_FAILED_PRECONDITION, calls[i](&self, error_out), "round_ends");
        for (uint32_t r = 0; r < REPLICAS; ++r) {
            mdist_error_t *left = NULL;
            (void)mdist_replica_exit(self.run.replicas[r], r == 0, &left);
            mdist_error_free(left);
        }
        mdist_error_t *failed = NULL;
        assert_true(mdist_run_end(self.strategy, NULL, 0, &failed) < 0);
        mdist_error_free(failed);
        expect_runs(self.strategy);
        end(&self);
    }
}

/// Whoever asks learns that the others are late, as if it had waited.
static void asking_for_longer_than_the_limit_fails(void **state) {
    (void)state;
    Ends self = {.strategy = make_strategy(REPLICAS, NULL)};
    self.gradients = two_gradients(self.strategy, 0);
    const mdist_run_io_t limited = {.struct_size = sizeof limited, .timeout_ns = 30 * 1000 * 1000};
    begin_and_enter_with(&self.run, self.strategy, &limited);
    mdist_error_t *error = NULL;
    mdist_status_t status = MDIST_OK;
    hand_in(&self, 0);
    for (int32_t done = 0; status == MDIST_OK; sched_yield()) {
        status = mdist_gradients_test(self.run.replicas[0], self.gradients, &done, NULL, NULL, &error);
        assert_false(done);
    }
    assert_int_equal(status, MDIST_ERR_TIMEOUT);
    WORDS(error, "mdist_gradients_wait");
    WORDS(error, "replica 1");
    mdist_error_free(error);
    for (uint32_t r = 0; r < REPLICAS; ++r) {
        mdist_error_t *left = NULL;
        (void)mdist_replica_exit(self.run.replicas[r], r == 0, &left);
        mdist_error_free(left);
    }
    end_with(self.strategy, MDIST_ERR_TIMEOUT, "");
    end(&self);
}

static void a_step_that_leaves_while_its_round_ends_is_told(void **state) {
    (void)state;
    Ends self = begin(0);
    double norm;
    hand_in(&self, 0);
    assert_false(over(&self, 0, &norm));
    REASON(MDIST_ERR_FAILED_PRECONDITION, mdist_replica_exit(self.run.replicas[0], 0, error_out), "work_under_way");
    for (uint32_t r = 1; r < REPLICAS; ++r) {
        mdist_error_t *left = NULL;
        (void)mdist_replica_exit(self.run.replicas[r], 0, &left);
        mdist_error_free(left);
    }
    end_with(self.strategy, MDIST_ERR_FAILED_PRECONDITION, "work_under_way");
    expect_runs(self.strategy);
    end(&self);
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_ends_the_rounds_of_all_replicas),
        cmocka_unit_test(an_accumulating_round_ends_at_once),
        cmocka_unit_test(nothing_else_may_begin_while_a_round_ends),
        cmocka_unit_test(asking_for_longer_than_the_limit_fails),
        cmocka_unit_test(a_step_that_leaves_while_its_round_ends_is_told),
    };
    return cmocka_run_group_tests_name("gradients/ends", tests, NULL, NULL);
}
