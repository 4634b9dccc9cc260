// SPDX-License-Identifier: Apache-2.0
#include "shortage_jobs.h"

static const char *(*name_of)(size_t i);

static void in_all(const char *devices, uint32_t count, const char *links) {
    char store[64], links_line[64], what_line[64], folder[] = "/tmp/mdist-shortage-XXXXXX", folder_line[64];
    mdist_store_t *const meeting_point = open_store(count, store, sizeof store);
    const char *const environment[] = {
        links_line, what_line, folder_line, "MDIST_LOG=off", "MDIST_COMMUNICATION_JOIN_TIMEOUT=60s", NULL};
    assert_non_null(meeting_point);
    assert_non_null(mkdtemp(folder));
    snprintf(links_line, sizeof links_line, "MDIST_COMMUNICATION_IMPLEMENTATION=%s", links);
    snprintf(folder_line, sizeof folder_line, "TEST_FOLDER=%s", folder);
    int failed = 0;
    for (size_t i = 0; name_of(i) != NULL; ++i) {
        snprintf(what_line, sizeof what_line, "TEST_WHAT=%s", name_of(i));
        Workers workers = {.scenario = "shortages", .count = count, .devices = devices, .victim = count - 1};
        workers.store = store;
        workers.environment = environment;
        failed += run_workers(&workers);
    }
    mdist_store_destroy(meeting_point);
    char remove[64];
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    assert_int_equal(system(remove), 0);
    assert_int_equal(failed, 0);
}

static void over_shared_memory(void **state) {
    (void)state;
    in_all("cpu*2", 2, "shm");
}

static void over_sockets(void **state) {
    (void)state;
    in_all("cpu*2", 2, "tcp");
}

static void by_relays(void **state) {
    (void)state;
    in_all("cpu*1", 4, "tcp");
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(over_shared_memory),
        cmocka_unit_test(over_sockets),
        cmocka_unit_test(by_relays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int shortage_main(int argument_count, char **arguments, Scenario shortages, const char *(*name)(size_t i)) {
    const NamedScenario scenarios[] = {{"shortages", shortages}};
    name_of = name;
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof *scenarios, test_all);
}
