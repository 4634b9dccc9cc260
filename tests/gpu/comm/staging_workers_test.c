// SPDX-License-Identifier: Apache-2.0
// Collectives of GPU memory over worker processes without NCCL. They go through page-locked memory, which started
// operations share.
#include "multi.h"

enum { ELEMENTS = 500, ROUNDS = 20 };

static int all_are(const int32_t *numbers, size_t count, int32_t wanted) {
    for (size_t i = 0; i < count; ++i)
        if (numbers[i] != wanted) return 0;
    return 1;
}

/// Starts a small operation, then a large one. The large one's inputs go to the memory that holds the small one's
/// results.
static const char *small_and_large(mdist_replica_t *replica, int32_t round) {
    int32_t small[ELEMENTS], large[2 * ELEMENTS];
    for (size_t i = 0; i < 2 * ELEMENTS; ++i) small[i / 2] = large[i] = round;
    const mdist_buffer_t first = buffer_of(small, MDIST_INT32, ELEMENTS);
    const mdist_buffer_t second = buffer_of(large, MDIST_INT32, 2 * ELEMENTS);
    mdist_work_t *works[2] = {NULL, NULL};
    int32_t done = 0;
    if (mdist_all_reduce_start(replica, MDIST_SUM, &first, &first, 1, &works[0], NULL, NULL) != MDIST_OK ||
        mdist_all_reduce_start(replica, MDIST_MAX, &second, &second, 1, &works[1], NULL, NULL) != MDIST_OK)
        return "start";
    for (int i = 0; i < 2; ++i) {
        if (mdist_work_wait(works[i], MDIST_FOREVER, &done, NULL) != MDIST_OK || !done) return "wait";
        mdist_work_destroy(works[i]);
    }
    if (!all_are(small, ELEMENTS, 4 * round)) return "the small one";
    return all_are(large, 2 * ELEMENTS, round) ? NULL : "the large one";
}

static int32_t rounds(mdist_replica_t *replica, void *user_data) {
    Note *const own = (Note *)user_data + mdist_replica_local_index(replica);
    for (int32_t round = 1; round <= ROUNDS; ++round) {
        const char *const wrong = small_and_large(replica, round);
        if (wrong == NULL) continue;
        snprintf(own->text, sizeof own->text, "round %d: %s", (int)round, wrong);
        return 1;
    }
    return 0;
}

static void in_a_row(void) {
    Note notes[3] = {{""}};
    mdist_strategy_t *strategy = NULL;
    mdist_config_t *config = NULL;
    GIVES(MDIST_OK, mdist_config_create(&config, &error));
    GIVES(MDIST_OK, mdist_config_load_environment(config, &error));
    GIVES(MDIST_OK, mdist_strategy_create(config, &strategy, &error));
    mdist_config_destroy(config);
    GIVES(MDIST_OK, mdist_run(strategy, rounds, notes, NULL, 0, NULL, 0, NULL, &error));
    mdist_strategy_destroy(strategy);
}

static const NamedScenario scenarios[] = {{"in_a_row", in_a_row}};

static void started_operations_share_memory(void **state) {
    (void)state;
    const Workers workers = {.scenario = "in_a_row", .count = 2, .devices = "cpu*2"};
    assert_int_equal(run_workers(&workers), 0);
    const Workers uneven = {.scenario = "in_a_row", .count = 2, .devices = "cpu*1|cpu*3"};
    assert_int_equal(run_workers(&uneven), 0);
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(started_operations_share_memory)};
    return cmocka_run_group_tests_name("gpu/comm/staging_workers", tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
