// SPDX-License-Identifier: Apache-2.0
// Tests every cell of the table of variables (synchronization, aggregation, place, operation) with 1, 2 and 3 replicas.
// tests/multi/variables_test.c does it with several workers.
#include "variable_table.h"

static void writes_and_reads_are_as_the_table_says(void **state) {
    (void)state;
    for (uint32_t replicas = 1; replicas <= 3; ++replicas) {
        mdist_strategy_t *strategy = make_strategy(replicas, NULL);
        assert_int_equal(check_table(strategy, 0), 0);
        mdist_strategy_destroy(strategy);
    }
}

static int32_t count_one(mdist_replica_t *replica, void *user_data) {
    int64_t one = 1;
    const mdist_tensor_t tensor = tensor_of(&one, MDIST_INT64, 0);
    return mdist_replica_assign(replica, (mdist_variable_t *)user_data, MDIST_ASSIGN_ADD, &tensor, NULL, NULL);
}

static void a_global_step_counts_once_whatever_the_replicas(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t replicas = 1; replicas <= 3; ++replicas) {
        mdist_strategy_t *strategy = make_strategy(replicas, NULL);
        int64_t zero = 0;
        const mdist_tensor_t initial = tensor_of(&zero, MDIST_INT64, 0);
        const mdist_variable_options_t options = {.struct_size = sizeof options,
                                                  .aggregation = MDIST_AGGREGATION_ONLY_FIRST_REPLICA};
        mdist_variable_t *step = NULL;
        OK(mdist_variable_create(strategy, "global_step", &initial, &step, &options, &error));
        for (int64_t done = 1; done <= 2; ++done) {
            OK(mdist_run(strategy, count_one, step, NULL, &error));
            for (uint32_t local = 0; local < replicas; ++local) {
                mdist_tensor_t copy;
                OK(mdist_variable_tensor(step, local, &copy, &error));
                assert_int_equal(*(const int64_t *)copy.data, done);
            }
        }
        mdist_variable_destroy(step);
        mdist_strategy_destroy(strategy);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_and_reads_are_as_the_table_says),
        cmocka_unit_test(a_global_step_counts_once_whatever_the_replicas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
