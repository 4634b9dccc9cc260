// SPDX-License-Identifier: Apache-2.0
// Two workers are in different calls while a third has not come to either. The two must find that out without it.
#include "multi.h"

enum { LENGTH = 50000 };

/// The victim waits for a message that nobody sends, so it comes to no collective before the others have failed.
static int32_t apart_step(mdist_replica_t *replica, void *user_data) {
    float *memory = user_data;
    const uint32_t count = mdist_replica_count(replica);
    const mdist_buffer_t one = buffer_of(memory, MDIST_FLOAT32, LENGTH);
    const mdist_buffer_t all = buffer_of(memory + LENGTH, MDIST_FLOAT32, (uint64_t)LENGTH * count);
    if (rank == victim) return mdist_receive(replica, (rank + 1) % count, 0, &one, NULL, NULL) != MDIST_OK;
    if (rank == (victim + 1) % count) return mdist_all_gather(replica, &one, &all, 1, NULL, NULL) != MDIST_OK;
    return mdist_all_reduce(replica, MDIST_SUM, &one, &one, 1, NULL, NULL) != MDIST_OK;
}

static void two_are_apart(void) {
    mdist_strategy_t *strategy = join();
    float *memory = calloc(LENGTH * 4, sizeof *memory);
    REQUIRE(memory != NULL);
    if (rank == victim) { // it may wait already when the others fail, or not yet
        REQUIRE(mdist_run(strategy, apart_step, memory, NULL, NULL) != MDIST_OK);
        free(memory);
        mdist_strategy_destroy(strategy);
        return;
    }
    GIVES(MDIST_ERR_MISMATCH, mdist_run(strategy, apart_step, memory, NULL, &error));
    REQUIRE(strcmp(reason, "different_calls") == 0);
    REQUIRE(strstr(message, "mdist_all_reduce") != NULL && strstr(message, "mdist_all_gather") != NULL);
    free(memory);
    mdist_strategy_destroy(strategy);
}

static void two_that_differ_do_not_wait_for_a_third(void **unused) {
    (void)unused;
    for (uint32_t victim_rank = 0; victim_rank < 3; ++victim_rank) {
        const Workers job = {.scenario = "two_are_apart", .count = 3, .devices = "cpu*1", .victim = victim_rank};
        if (run_workers(&job) == 0) continue;
        print_error("victim %u\n", victim_rank);
        fail();
    }
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_that_differ_do_not_wait_for_a_third)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {{"two_are_apart", two_are_apart}};
    return multi_main(argument_count, arguments, scenarios, 1, test_all);
}
