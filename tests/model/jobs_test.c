// SPDX-License-Identifier: Apache-2.0
// Random programs against the model, in jobs of several worker processes: every worker makes the same programs, goes
// through them in the model, and compares what its own replicas get. No program has a failure that ends the job.
#include "../multi/multi.h"
#include "compare.h"

#include <time.h>

static const char *environment[3]; // of the workers, beside what describes the job

static void performs_programs(void) {
    mdist_strategy_t *const strategy = join();
    const uint32_t locals = mdist_strategy_local_replica_count(strategy);
    const uint64_t first = strtoull(getenv("TEST_FIRST_SEED"), NULL, 10);
    const uint64_t count = strtoull(getenv("TEST_PROGRAMS"), NULL, 10);
    for (uint64_t seed = first; seed < first + count; ++seed)
        if (differs_and_print(strategy, make_program(seed, worker_count, locals))) GIVE_UP("a program differs");
    forget_tensors();
    mdist_strategy_destroy(strategy);
}

static void check(uint32_t workers, const char *devices) {
    const char *const given = getenv("MDIST_TEST_SEED");
    static char first[64], count[64];
    snprintf(first, sizeof first, "TEST_FIRST_SEED=%llu",
             given != NULL ? strtoull(given, NULL, 10) : (unsigned long long)time(NULL) * 100000);
    snprintf(count, sizeof count, "TEST_PROGRAMS=%d",
             given != NULL          ? 1
             : !is_long()           ? 20
             : MDIST_TEST_SANITIZED ? 50
                                    : 200);
    print_message("# %u workers with %s, seeds from %s; MDIST_TEST_SEED=... repeats one\n", workers, devices,
                  strchr(first, '=') + 1);
    environment[0] = first;
    environment[1] = count;
    const Workers job = {
        .scenario = "performs_programs", .count = workers, .devices = devices, .environment = environment};
    assert_int_equal(run_workers(&job), 0);
}

static void two_workers_do_what_the_model_says(void **state) {
    (void)state;
    check(2, "cpu*1");
}

static void two_workers_of_two_replicas_do_what_the_model_says(void **state) {
    (void)state;
    check(2, "cpu*2");
}

static void three_workers_do_what_the_model_says(void **state) {
    (void)state;
    check(3, "cpu*1");
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_workers_do_what_the_model_says),
        cmocka_unit_test(two_workers_of_two_replicas_do_what_the_model_says),
        cmocka_unit_test(three_workers_do_what_the_model_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {{"performs_programs", performs_programs}};
    return multi_main(argument_count, arguments, scenarios, 1, test_all);
}
