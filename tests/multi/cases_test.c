// SPDX-License-Identifier: Apache-2.0
// Runs TensorFlow's worked examples with two workers. The bodies are the same as in one process.
#include "multi.h"

#include "cases_variables.h"

static void tries_all_cases(void) {
    mdist_strategy_t *strategy = join();
    char said[128] = "";
    if (!try_cases(strategy, said, sizeof said)) GIVE_UP(said);
    mdist_strategy_destroy(strategy);
}

static void examples_come_out_over_workers(void **unused) {
    (void)unused;
    static const char *const devices[] = {"cpu*1", "cpu*2"};
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; ++i) {
        const Workers job = {.scenario = "tries_all_cases", .count = 2, .devices = devices[i]};
        assert_int_equal(run_workers(&job), 0);
    }
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_come_out_over_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {{"tries_all_cases", tries_all_cases}};
    return multi_main(argument_count, arguments, scenarios, 1, test_all);
}
