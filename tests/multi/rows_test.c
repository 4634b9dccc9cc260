// SPDX-License-Identifier: Apache-2.0
// Rows of several workers are joined in replica order, in a step and outside of steps. Each replica has a different
// number of rows.
#include "multi.h"

enum { MOST = 8 };

/// The rows of one replica. Replica id has id rows, of indices id, id + 1, ...; row i is 100 * id + i.
typedef struct Own {
    int64_t indices[MOST];
    float values[MOST];
    mdist_tensor_t index_tensor, value_tensor;
} Own;

static void fill_own(Own *own, uint32_t id) {
    for (uint32_t i = 0; i < MOST; ++i) {
        own->indices[i] = id + i;
        own->values[i] = (float)(100 * id + i);
    }
    own->index_tensor = tensor_of(own->indices, MDIST_INT64, 1);
    own->value_tensor = tensor_of(own->values, MDIST_FLOAT32, 1);
    own->index_tensor.shape[0] = own->value_tensor.shape[0] = id;
}

/// Checks that the value holds the rows of all replicas; 1 if so.
static int is_all(const mdist_value_t *value, size_t index, uint32_t replicas, float divisor) {
    mdist_tensor_t indices, values;
    if (mdist_value_indices(value, index, &indices, NULL) != MDIST_OK ||
        mdist_value_tensor(value, index, &values, NULL) != MDIST_OK)
        return 0;
    uint64_t at = 0;
    for (uint32_t id = 0; id < replicas; ++id)
        for (uint32_t i = 0; i < id; ++i, ++at)
            if (at >= indices.shape[0] || ((const int64_t *)indices.data)[at] != id + i ||
                ((const float *)values.data)[at] != (float)(100 * id + i) / divisor)
                return 0;
    return indices.shape[0] == at && values.shape[0] == at;
}

static int32_t reduce_step(mdist_replica_t *replica, void *user_data) {
    const uint32_t n = mdist_replica_count(replica);
    (void)user_data;
    for (int op = MDIST_SUM; op <= MDIST_MEAN; ++op) {
        Own own;
        mdist_value_t *out = NULL;
        fill_own(&own, mdist_replica_id(replica));
        const mdist_status_t status = mdist_all_reduce_sparse(replica, (mdist_reduce_op_t)op, &own.index_tensor,
                                                              &own.value_tensor, &out, NULL, NULL);
        const int right = status == MDIST_OK && is_all(out, 0, n, op == MDIST_MEAN ? (float)n : 1);
        mdist_value_destroy(out);
        if (!right) return 1;
    }
    return 0;
}

static void joins_rows(void) {
    mdist_strategy_t *strategy = join();
    const uint32_t n = mdist_strategy_replica_count(strategy), locals = mdist_strategy_local_replica_count(strategy);
    GIVES(MDIST_OK, mdist_run(strategy, reduce_step, NULL, NULL, &error));

    Own own[MOST];
    mdist_tensor_t indices[MOST], values[MOST];
    mdist_value_t *which = NULL, *numbers = NULL, *rows = NULL, *out = NULL;
    for (uint32_t local = 0; local < locals; ++local) {
        fill_own(&own[local], first_replica_of[rank] + local);
        indices[local] = own[local].index_tensor;
        values[local] = own[local].value_tensor;
    }
    GIVES(MDIST_OK, mdist_value_per_replica(strategy, indices, locals, &which, &error));
    GIVES(MDIST_OK, mdist_value_per_replica(strategy, values, locals, &numbers, &error));
    GIVES(MDIST_OK, mdist_value_sparse(which, numbers, &rows, &error));
    GIVES(MDIST_OK, mdist_strategy_reduce(strategy, MDIST_SUM, rows, &out, NULL, &error));
    REQUIRE(is_all(out, 0, n, 1));
    mdist_value_destroy(out);
    GIVES(MDIST_OK, mdist_strategy_reduce_to(strategy, MDIST_MEAN, &rows, NULL, 1, &out, NULL, &error));
    for (uint32_t local = 0; local < locals; ++local) REQUIRE(is_all(out, local, n, (float)n));
    mdist_value_destroy(out);
    mdist_value_t *const made[] = {which, numbers, rows};
    for (int i = 0; i < 3; ++i) mdist_value_destroy(made[i]);
    mdist_strategy_destroy(strategy);
}

/// Worker 1 has rows of another type. Both workers are told.
static void disagrees(void) {
    mdist_strategy_t *strategy = join();
    int64_t index = 0;
    double number = 0;
    const mdist_tensor_t indices = tensor_of(&index, MDIST_INT64, 1);
    const mdist_tensor_t values = tensor_of(&number, rank == 1 ? MDIST_FLOAT64 : MDIST_FLOAT32, 1);
    mdist_value_t *which = NULL, *numbers = NULL, *rows = NULL, *out = NULL;
    GIVES(MDIST_OK, mdist_value_per_replica(strategy, &indices, 1, &which, &error));
    GIVES(MDIST_OK, mdist_value_per_replica(strategy, &values, 1, &numbers, &error));
    GIVES(MDIST_OK, mdist_value_sparse(which, numbers, &rows, &error));
    GIVES(MDIST_ERR_MISMATCH, mdist_strategy_reduce(strategy, MDIST_SUM, rows, &out, NULL, &error));
    REQUIRE(strstr(message, "float32 [*]") != NULL && strstr(message, "float64 [*]") != NULL);
    mdist_value_t *const made[] = {which, numbers, rows};
    for (int i = 0; i < 3; ++i) mdist_value_destroy(made[i]);
    mdist_strategy_destroy(strategy);
}

static void check(const char *scenario, uint32_t workers, const char *devices) {
    const Workers job = {.scenario = scenario, .count = workers, .devices = devices};
    assert_int_equal(run_workers(&job), 0);
}

static void rows_are_joined_in_replica_order(void **unused) {
    (void)unused;
    check("joins_rows", 2, "cpu*1");
    check("joins_rows", 2, "cpu*2");
    check("joins_rows", 3, "cpu*1");
    check("joins_rows", 3, "cpu*3|cpu*1|cpu*3");
}

static void workers_that_disagree_are_told(void **unused) {
    (void)unused;
    check("disagrees", 2, "cpu*1");
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_joined_in_replica_order),
        cmocka_unit_test(workers_that_disagree_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {{"joins_rows", joins_rows}, {"disagrees", disagrees}};
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
