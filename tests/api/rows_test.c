// SPDX-License-Identifier: Apache-2.0
// Values of rows: what they hold, how they are reduced outside of steps and in steps, and where they are refused.
#include "value_support.h"

enum { MOST = 3, WIDTH = 2, HEIGHT = 4 };

/// The rows of replica r. There are r + 1. Row i is {10 * r + i, -i} at index (r + i) % HEIGHT.
typedef struct Own {
    int64_t indices[MOST];
    float values[MOST][WIDTH];
    mdist_tensor_t index_tensor, value_tensor;
} Own;

static void fill_own(Own *own, uint32_t r) {
    for (uint32_t i = 0; i <= r; ++i) {
        own->indices[i] = (r + i) % HEIGHT;
        own->values[i][0] = (float)(10 * r + i);
        own->values[i][1] = -(float)i;
    }
    own->index_tensor = tensor_of(own->indices, MDIST_INT64, r + 1);
    own->value_tensor = shaped(own->values, MDIST_FLOAT32, r + 1, WIDTH, NO);
}

/// The rows of all replicas, joined.
typedef struct All {
    uint64_t count;
    int64_t indices[MOST * MOST];
    float values[MOST * MOST][WIDTH];
} All;

static All all_rows(uint32_t replicas, float divisor) {
    All all = {0};
    for (uint32_t r = 0; r < replicas; ++r) {
        Own own;
        fill_own(&own, r);
        for (uint32_t i = 0; i <= r; ++i, ++all.count) {
            all.indices[all.count] = own.indices[i];
            for (int k = 0; k < WIDTH; ++k) all.values[all.count][k] = own.values[i][k] / divisor;
        }
    }
    return all;
}

static mdist_value_t *join_rows(mdist_value_t *indices, mdist_value_t *values) {
    mdist_error_t *error = NULL;
    mdist_value_t *rows = NULL;
    OK(mdist_value_sparse(indices, values, &rows, &error));
    mdist_value_destroy(indices);
    mdist_value_destroy(values);
    return rows;
}

static mdist_value_t *rows_of_all(mdist_strategy_t *strategy) {
    Own own[MOST];
    mdist_tensor_t indices[MOST], values[MOST];
    for (uint32_t r = 0; r < MOST; ++r) {
        fill_own(&own[r], r);
        indices[r] = own[r].index_tensor;
        values[r] = own[r].value_tensor;
    }
    return join_rows(per_replica(strategy, indices), per_replica(strategy, values));
}

static void expect_rows(const mdist_value_t *value, size_t index, All wanted) {
    mdist_error_t *error = NULL;
    mdist_tensor_t indices;
    OK(mdist_value_indices(value, index, &indices, &error));
    assert_int_equal(indices.dtype, MDIST_INT64);
    assert_int_equal(indices.rank, 1);
    assert_int_equal(indices.shape[0], wanted.count);
    if (wanted.count != 0) assert_memory_equal(indices.data, wanted.indices, wanted.count * sizeof *wanted.indices);
    expect_tensor(value, index, shaped(wanted.values, MDIST_FLOAT32, wanted.count, WIDTH, NO));
}

static void a_value_of_rows_holds_both(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t replicas = 1; replicas <= MOST; ++replicas) {
        mdist_strategy_t *strategy = make_strategy(replicas, NULL);
        mdist_value_t *rows = rows_of_all(strategy);
        assert_int_equal(mdist_value_kind(rows), MDIST_VALUE_PER_REPLICA);
        assert_int_equal(mdist_value_count(rows), replicas);
        for (uint32_t r = 0; r < replicas; ++r) {
            Own own;
            fill_own(&own, r);
            mdist_tensor_t indices;
            OK(mdist_value_indices(rows, r, &indices, &error));
            assert_memory_equal(indices.data, own.indices, (r + 1) * sizeof(int64_t));
            expect_tensor(rows, r, own.value_tensor);
        }
        mdist_tensor_t none;
        FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_indices(rows, replicas, &none, &error));
        float one = 1;
        mdist_value_t *whole = make_value(&one, MDIST_FLOAT32, 0);
        OK(mdist_value_indices(whole, 0, &none, &error));
        assert_null(none.data);
        assert_int_equal(none.dtype, 0);
        mdist_value_destroy(whole);
        mdist_value_destroy(rows);
        mdist_strategy_destroy(strategy);
    }
}

static void what_does_not_go_together_is_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    int64_t indices[4] = {0, 1, 2, 3};
    int32_t narrow[2] = {0, 1};
    float numbers[4] = {1, 2, 3, 4};
    mdist_value_t *two = make_value(indices, MDIST_INT64, 2), *int32 = make_value(narrow, MDIST_INT32, 2);
    mdist_value_t *matrix = plain(shaped(indices, MDIST_INT64, 2, 2, NO));
    mdist_value_t *values = plain(shaped(numbers, MDIST_FLOAT32, 2, 2, NO)),
                  *scalar = make_value(numbers, MDIST_FLOAT32, 0);
    mdist_value_t *three = make_value(numbers, MDIST_FLOAT32, 3);
    mdist_value_t *copies = mirrored(strategy, shaped(numbers, MDIST_FLOAT32, 2, 2, NO));
    mdist_value_t *rows = NULL, *again = NULL;
    OK(mdist_value_sparse(two, values, &rows, &error));
    mdist_value_t *const bad[][2] = {{int32, values}, {matrix, values}, {two, scalar}, {two, three}, {two, copies}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i)
        FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_sparse(bad[i][0], bad[i][1], &again, &error));
    const char *const path = "a";
    mdist_value_t *structure = NULL;
    OK(mdist_value_structure(&path, &values, 1, &structure, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_sparse(structure, structure, &again, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_sparse(two, structure, &again, &error));
    mdist_value_destroy(structure);
    FAILS(MDIST_ERR_UNSUPPORTED, mdist_value_sparse(two, rows, &again, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_sparse(two, values, NULL, &error));
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_value_sparse(NULL, values, &again, &error));
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_value_sparse(two, NULL, &again, &error));
    assert_null(again);
    mdist_value_t *const made[] = {two, int32, matrix, values, scalar, three, copies, rows};
    for (size_t i = 0; i < sizeof made / sizeof *made; ++i) mdist_value_destroy(made[i]);
    mdist_strategy_destroy(strategy);
}

// ---- Outside of steps.

static void a_sum_is_all_rows_in_replica_order(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t replicas = 1; replicas <= MOST; ++replicas) {
        mdist_strategy_t *strategy = make_strategy(replicas, NULL);
        mdist_value_t *rows = rows_of_all(strategy), *out = NULL;
        for (int op = MDIST_SUM; op <= MDIST_MEAN; ++op) {
            const All wanted = all_rows(replicas, op == MDIST_MEAN ? (float)replicas : 1);
            out = reduced(strategy, op, rows, NULL, 0);
            assert_int_equal(mdist_value_kind(out), MDIST_VALUE_PLAIN);
            expect_rows(out, 0, wanted);
            mdist_value_destroy(out);
            OK(mdist_strategy_reduce_to(strategy, (mdist_reduce_op_t)op, &rows, NULL, 1, &out, NULL, &error));
            assert_int_equal(mdist_value_kind(out), MDIST_VALUE_MIRRORED);
            assert_int_equal(mdist_value_count(out), replicas);
            for (uint32_t r = 0; r < replicas; ++r) expect_rows(out, r, wanted);
            mdist_value_destroy(out);
        }
        OK(mdist_strategy_reduce_to(strategy, MDIST_SUM, &rows, (const char *const[]){device_name(0)}, 1, &out, NULL,
                                    &error));
        expect_rows(out, 0, all_rows(replicas, 1));
        mdist_value_destroy(out);
        mdist_value_destroy(rows);
        mdist_strategy_destroy(strategy);
    }
}

static void one_content_for_all_reduces_as_whole_tensors_do(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    Own own;
    fill_own(&own, 1);
    mdist_value_t *values[] = {join_rows(plain(own.index_tensor), plain(own.value_tensor)),
                               join_rows(mirrored(strategy, own.index_tensor), mirrored(strategy, own.value_tensor))};
    for (int i = 0; i < 2; ++i) {
        mdist_value_t *out = reduced(strategy, MDIST_MEAN, values[i], NULL, 0);
        expect_tensor(out, 0, own.value_tensor);
        mdist_tensor_t indices;
        OK(mdist_value_indices(out, 0, &indices, &error));
        assert_memory_equal(indices.data, own.indices, 2 * sizeof(int64_t));
        mdist_value_destroy(out);
        out = NULL;
        FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_strategy_reduce(strategy, MDIST_SUM, values[i], &out, NULL, &error));
        mdist_value_destroy(values[i]);
    }
    mdist_strategy_destroy(strategy);
}

static int32_t idle(mdist_replica_t *replica, void *user_data) {
    (void)replica, (void)user_data;
    return 0;
}

static int32_t idle_update(uint32_t local, const mdist_tensor_t *copy, const mdist_tensor_t *arguments, size_t count,
                           mdist_value_t **results, size_t result_count, void *user_data) {
    (void)local, (void)copy, (void)arguments, (void)count, (void)results, (void)result_count, (void)user_data;
    return 0;
}

static void who_would_take_rows_for_whole_tensors_refuses_them(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_value_t *rows = rows_of_all(strategy), *out = NULL;
    const int32_t axis = 0;
    FAILS(MDIST_ERR_UNSUPPORTED, mdist_strategy_gather(strategy, rows, 0, &out, NULL, &error));
    FAILS(MDIST_ERR_UNSUPPORTED, mdist_strategy_reduce_axes(strategy, MDIST_SUM, rows, &axis, 1, &out, NULL, &error));
    FAILS(MDIST_ERR_UNSUPPORTED, mdist_strategy_reduce(strategy, MDIST_MAX, rows, &out, NULL, &error));
    FAILS(MDIST_ERR_UNSUPPORTED, mdist_strategy_fetch(strategy, rows, NULL, NULL, NULL, &out, &error));
    FAILS(MDIST_ERR_UNSUPPORTED,
          mdist_run(strategy, idle, NULL,
                    &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &rows, .argument_count = 1}, &error));
    FAILS(MDIST_ERR_UNSUPPORTED,
          mdist_update_devices(strategy, idle_update, NULL,
                               &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &rows, .argument_count = 1},
                               &error));
    assert_null(out);
    mdist_value_destroy(rows);
    mdist_strategy_destroy(strategy);
}

// ---- In a step.

typedef struct Reducing {
    int op;
    int odd; // what replica 1 does differently
    mdist_value_t *out[MOST];
    Note notes[MOST];
    mdist_status_t status[MOST];
} Reducing;

static int32_t reduce_step(mdist_replica_t *replica, void *user_data) {
    Reducing *const self = user_data;
    const int32_t id = mdist_replica_id(replica);
    mdist_error_t *error = NULL;
    Own own;
    fill_own(&own, (uint32_t)id);
    if (id == 1 && self->odd == 1) own.value_tensor = shaped(own.values, MDIST_FLOAT32, 2, 1, NO);
    if (id == 1 && self->odd == 2) own.index_tensor.shape[0] = 1;
    if (id == 1 && self->odd == 3) own.index_tensor.shape[0] = own.value_tensor.shape[0] = 0;
    self->status[id] = mdist_all_reduce_sparse(replica, (mdist_reduce_op_t)self->op, &own.index_tensor,
                                               &own.value_tensor, &self->out[id], NULL, &error);
    snprintf(self->notes[id].text, sizeof self->notes[id].text, "%s", mdist_error_message(error));
    mdist_error_free(error);
    return 0;
}

static void replicas_reduce_rows_to_the_same_on_each(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t replicas = 1; replicas <= MOST; ++replicas) {
        mdist_strategy_t *strategy = make_strategy(replicas, NULL);
        for (int op = MDIST_SUM; op <= MDIST_MEAN; ++op) {
            Reducing self = {.op = op};
            OK(mdist_run(strategy, reduce_step, &self, NULL, &error));
            for (uint32_t r = 0; r < replicas; ++r) {
                assert_string_equal(self.notes[r].text, "");
                expect_rows(self.out[r], 0, all_rows(replicas, op == MDIST_MEAN ? (float)replicas : 1));
                mdist_value_destroy(self.out[r]);
            }
        }
        mdist_strategy_destroy(strategy);
    }
}

static void a_replica_may_have_no_rows(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    Reducing self = {.op = MDIST_SUM, .odd = 3};
    OK(mdist_run(strategy, reduce_step, &self, NULL, &error));
    for (uint32_t r = 0; r < 2; ++r) {
        expect_rows(self.out[r], 0, all_rows(1, 1));
        mdist_value_destroy(self.out[r]);
    }
    mdist_strategy_destroy(strategy);
}

static void what_replicas_disagree_about_is_told(void **state) {
    (void)state;
    static const struct {
        int op, odd;
        mdist_status_t wanted;
        const char *words;
    } cases[] = {{MDIST_SUM, 1, MDIST_ERR_MISMATCH, "float32 [*, 1]"},
                 {MDIST_SUM, 2, MDIST_ERR_INVALID_ARGUMENT, "come with 1 indices"},
                 {MDIST_MIN, 0, MDIST_ERR_UNSUPPORTED, "SUM or MEAN"},
                 {77, 0, MDIST_ERR_INVALID_ARGUMENT, "op is 77"}};
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        mdist_error_t *error = NULL;
        Reducing self = {.op = cases[i].op, .odd = cases[i].odd};
        const mdist_status_t status = mdist_run(strategy, reduce_step, &self, NULL, &error);
        WORDS(error, cases[i].words);
        assert_int_equal(status, cases[i].wanted);
        mdist_error_free(error);
        assert_int_equal(self.status[1], cases[i].wanted);
        for (int r = 0; r < 2; ++r) assert_null(self.out[r]);
    }
    expect_usable(strategy);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_of_rows_holds_both),
        cmocka_unit_test(what_does_not_go_together_is_refused),
        cmocka_unit_test(a_sum_is_all_rows_in_replica_order),
        cmocka_unit_test(one_content_for_all_reduces_as_whole_tensors_do),
        cmocka_unit_test(who_would_take_rows_for_whole_tensors_refuses_them),
        cmocka_unit_test(replicas_reduce_rows_to_the_same_on_each),
        cmocka_unit_test(a_replica_may_have_no_rows),
        cmocka_unit_test(what_replicas_disagree_about_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
