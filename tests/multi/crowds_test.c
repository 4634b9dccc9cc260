// SPDX-License-Identifier: Apache-2.0
// Runs many more workers than there are cores. They form a group, and do each collective once with the right values.
#include "multi.h"

enum { MOST = 256, SANITIZED = 40 };

static uint64_t sum_of_ranks;

static int32_t one_of_each(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    const uint32_t n = mdist_replica_count(replica), id = mdist_replica_id(replica), root = n / 2;
    uint64_t one = id, many[MOST], others[MOST], sum = 0;
    const mdist_buffer_t single = {&one, 1, MDIST_UINT64, 0}, result = {&sum, 1, MDIST_UINT64, 0};
    const mdist_buffer_t all = {many, n, MDIST_UINT64, 0}, received = {others, n, MDIST_UINT64, 0};

    GIVES(MDIST_OK, mdist_barrier(replica, NULL, &error));
    GIVES(MDIST_OK, mdist_all_reduce(replica, MDIST_SUM, &single, &result, 1, NULL, &error));
    REQUIRE(sum == sum_of_ranks);
    GIVES(MDIST_OK, mdist_all_gather(replica, &single, &all, 1, NULL, &error));
    for (uint32_t i = 0; i < n; ++i) REQUIRE(many[i] == i);
    GIVES(MDIST_OK, mdist_reduce_scatter(replica, MDIST_SUM, &all, &result, 1, NULL, &error));
    REQUIRE(sum == (uint64_t)id * n);
    GIVES(MDIST_OK, mdist_broadcast(replica, root, &single, 1, NULL, &error));
    REQUIRE(one == root);

    one = id;
    for (uint32_t i = 0; i < n; ++i) many[i] = id * MOST + i;
    GIVES(MDIST_OK, mdist_all_to_all(replica, &all, &received, 1, NULL, &error));
    for (uint32_t i = 0; i < n; ++i) REQUIRE(others[i] == i * MOST + id);
    GIVES(MDIST_OK, mdist_reduce_to_root(replica, MDIST_SUM, root, &single, &result, 1, NULL, &error));
    REQUIRE(id != root || sum == sum_of_ranks);
    GIVES(MDIST_OK, mdist_gather_to_root(replica, root, &single, &received, 1, NULL, &error));
    for (uint32_t i = 0; i < n && id == root; ++i) REQUIRE(others[i] == i);
    for (uint32_t i = 0; i < n; ++i) many[i] = 7 * i;
    GIVES(MDIST_OK, mdist_scatter(replica, root, &all, &single, 1, NULL, &error));
    REQUIRE(one == 7 * id);
    return 0;
}

static void use_every_collective(void) {
    mdist_strategy_t *strategy = join();
    sum_of_ranks = (uint64_t)worker_count * (worker_count - 1) / 2;
    GIVES(MDIST_OK, mdist_run(strategy, one_of_each, NULL, NULL, &error));
    mdist_strategy_destroy(strategy);
}

/// Some leave before others know that the job has formed.
static void join_and_leave(void) {
    mdist_strategy_destroy(join());
}

static void run_crowd(const char *scenario, uint32_t workers, const char *link) {
    char implementation[64];
    snprintf(implementation, sizeof implementation, "MDIST_COMMUNICATION_IMPLEMENTATION=%s", link);
    const char *const environment[] = {implementation, NULL};
    assert_int_equal(run_workers(&(Workers){scenario, workers, "cpu*1", environment, 0, 0, NULL, NULL}), 0);
}

static void test_a_crowd_that_shares_memory(void **state) {
    (void)state;
    // The thread sanitizer leaves no room for the reservations of so many workers. There the library chooses the link.
    run_crowd("use_every_collective",
              MDIST_TEST_SANITIZED ? SANITIZED
              : is_long()          ? MOST
                                   : MOST / 2,
              MDIST_TEST_SANITIZED ? "auto" : "shm");
}

static void test_a_crowd_on_sockets(void **state) {
    (void)state;
    run_crowd("use_every_collective", MDIST_TEST_SANITIZED ? SANITIZED : is_long() ? MOST : MOST / 2, "tcp");
}

static void test_a_crowd_that_leaves_at_once(void **state) {
    (void)state;
    for (uint32_t workers = 2; workers <= 64; workers *= 2) run_crowd("join_and_leave", workers, "tcp");
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_crowd_that_shares_memory),
        cmocka_unit_test(test_a_crowd_on_sockets),
        cmocka_unit_test(test_a_crowd_that_leaves_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {{"use_every_collective", use_every_collective},
                                              {"join_and_leave", join_and_leave}};
    return multi_main(argument_count, arguments, scenarios, 2, test_all);
}
