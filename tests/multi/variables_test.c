// SPDX-License-Identifier: Apache-2.0
// Variables of several workers: the table of writes and reads, and losses divided by the examples of all workers.
#include "multi.h"

#include "variable_table.h"

static void follows_the_table(void) {
    mdist_strategy_t *strategy = join();
    REQUIRE(check_table(strategy, first_replica_of[rank]) == 0);
    mdist_strategy_destroy(strategy);
}

/// Worker w has w + 1 examples per replica, each with the loss 1. The parts of all replicas add up to 1.
static int32_t average_step(mdist_replica_t *replica, void *user_data) {
    float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    const mdist_tensor_t tensor = tensor_of(ones, MDIST_FLOAT32, rank + 1);
    uint64_t counted = 0;
    double loss = 0;
    if (mdist_average_loss(replica, &tensor, NULL, &counted, &loss, NULL, NULL) != MDIST_OK) return 1;
    if (counted != *(const uint64_t *)user_data) return 2;
    const mdist_buffer_t buffer = buffer_of(&loss, MDIST_FLOAT64, 1);
    if (mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL) != MDIST_OK) return 3;
    return loss > 1 - 1e-12 && loss < 1 + 1e-12 ? 0 : 4;
}

static void divides_by_all_examples(void) {
    mdist_strategy_t *strategy = join();
    uint64_t examples = 0;
    for (uint32_t i = 0; i < worker_count; ++i) examples += (first_replica_of[i + 1] - first_replica_of[i]) * (i + 1);
    GIVES(MDIST_OK, mdist_run(strategy, average_step, &examples, NULL, &error));
    mdist_strategy_destroy(strategy);
}

static void check(const char *scenario) {
    static const char *const devices[] = {"cpu*1", "cpu*2", "cpu*1|cpu*3"};
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; ++i) {
        const Workers job = {.scenario = scenario, .count = 2, .devices = devices[i]};
        assert_int_equal(run_workers(&job), 0);
    }
}

static void writes_and_reads_are_as_the_table_says(void **unused) {
    (void)unused;
    check("follows_the_table");
}

static void losses_are_divided_by_the_examples_of_all(void **unused) {
    (void)unused;
    check("divides_by_all_examples");
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_and_reads_are_as_the_table_says),
        cmocka_unit_test(losses_are_divided_by_the_examples_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {
        {"follows_the_table", follows_the_table},
        {"divides_by_all_examples", divides_by_all_examples},
    };
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
