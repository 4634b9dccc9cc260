// SPDX-License-Identifier: Apache-2.0
// Compares random programs with the model, in jobs of several worker processes. Every worker makes the same programs,
// evaluates them in the model, and compares what its own replicas get. No program has a failure that ends the job.
#include "../multi/multi.h"
#include "compare.h"

static const char *environment[4]; // of the workers, besides the variables that describe the job

static Layout layout_of_job(void) {
    uint32_t counts[MOST_REPLICAS];
    REQUIRE(first_replica_of[worker_count] <= MOST_REPLICAS);
    for (uint32_t i = 0; i < worker_count; ++i) counts[i] = first_replica_of[i + 1] - first_replica_of[i];
    return layout_of(worker_count, counts);
}

static void performs_programs(void) {
    mdist_strategy_t *const strategy = join();
    const Layout layout = layout_of_job();
    const uint64_t first = strtoull(getenv("TEST_FIRST_SEED"), NULL, 10);
    const uint64_t count = strtoull(getenv("TEST_PROGRAMS"), NULL, 10);
    for (uint64_t seed = first; seed < first + count; ++seed)
        if (differs_and_print(strategy, make_program(seed, &layout))) GIVE_UP("a program differs");
    forget_tensors();
    mdist_strategy_destroy(strategy);
}

static void check(uint32_t workers, const char *devices, const char *way) {
    static char first[64], count[64];
    snprintf(first, sizeof first, "TEST_FIRST_SEED=%llu", (unsigned long long)test_seed(1));
    snprintf(count, sizeof count, "TEST_PROGRAMS=%u", seed_count(20, MDIST_TEST_SANITIZED ? 50 : 200));
    environment[0] = first;
    environment[1] = count;
    environment[2] = way;
    const Workers job = {
        .scenario = "performs_programs", .count = workers, .devices = devices, .environment = environment};
    assert_int_equal(run_workers(&job), 0);
}

static void two_workers_do_what_the_model_says(void **state) {
    (void)state;
    check(2, "cpu*1", NULL);
}

static void two_workers_of_two_replicas_do_what_the_model_says(void **state) {
    (void)state;
    check(2, "cpu*2", NULL);
}

static void three_workers_do_what_the_model_says(void **state) {
    (void)state;
    check(3, "cpu*1", NULL);
}

static void seven_replicas_on_three_workers_do_what_the_model_says(void **state) {
    (void)state;
    check(3, "cpu*3|cpu*3|cpu*1", NULL);
    check(3, "cpu*1|cpu*4|cpu*2", "MDIST_COMMUNICATION_IMPLEMENTATION=tcp");
}

static void five_replicas_on_four_workers_do_what_the_model_says(void **state) {
    (void)state;
    check(4, "cpu*2|cpu*1|cpu*1|cpu*1", "MDIST_COMMUNICATION_IMPLEMENTATION=tcp");
    check(4, "cpu*1|cpu*1|cpu*1|cpu*2", NULL);
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_workers_do_what_the_model_says),
        cmocka_unit_test(two_workers_of_two_replicas_do_what_the_model_says),
        cmocka_unit_test(three_workers_do_what_the_model_says),
        cmocka_unit_test(seven_replicas_on_three_workers_do_what_the_model_says),
        cmocka_unit_test(five_replicas_on_four_workers_do_what_the_model_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {{"performs_programs", performs_programs}};
    return multi_main(argument_count, arguments, scenarios, 1, test_all);
}
