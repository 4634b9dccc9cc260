// SPDX-License-Identifier: Apache-2.0
// Variables of several workers: the table of writes and reads.
#include "multi.h"

#include "variable_table.h"

static void follows_the_table(void) {
    mdist_strategy_t *strategy = join();
    REQUIRE(check_table(strategy) == 0);
    mdist_strategy_destroy(strategy);
}

static void check(const char *scenario) {
    static const char *const devices[] = {"cpu*1", "cpu*2"};
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; ++i) {
        const Workers job = {.scenario = scenario, .count = 2, .devices = devices[i]};
        assert_int_equal(run_workers(&job), 0);
    }
}

static void writes_and_reads_are_as_the_table_says(void **unused) {
    (void)unused;
    check("follows_the_table");
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_and_reads_are_as_the_table_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {
        {"follows_the_table", follows_the_table},
    };
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
