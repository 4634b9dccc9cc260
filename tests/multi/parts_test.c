// SPDX-License-Identifier: Apache-2.0
// All-to-all of parts over workers x replicas, with equal and unequal numbers of replicas: every byte, and a mismatch.
#include "multi.h"

#include "parts_support.h"

static void random_parts(void) {
    mdist_strategy_t *strategy = join();
    const uint32_t local_replicas = mdist_strategy_local_replica_count(strategy);
    mdist_group_t *group = last_first(strategy);
    REQUIRE(group != NULL);
    for (int i = 0; i < (is_long() ? 60 : 6); ++i) {
        Parts self = {.seed = test_seed(900) + (uint64_t)i, .longest = i % 3 == 2 ? 30000 : 300};
        self.group = i % 2 == 1 ? group : NULL;
        mdist_error_t *cause = NULL;
        const mdist_status_t status = mdist_run(strategy, parts_step, &self, NULL, &cause);
        for (uint32_t r = 0; r < local_replicas; ++r)
            if (self.notes[r].text[0] != '\0') GIVE_UP(self.notes[r].text);
        check_status(MDIST_OK, status, cause, "mdist_run", __FILE__, __LINE__);
    }
    mdist_group_destroy(group);
    mdist_strategy_destroy(strategy);
}

static void mismatch(void) {
    mdist_strategy_t *strategy = join();
    Parts self = {0};
    GIVES(MDIST_ERR_MISMATCH, mdist_run(strategy, parts_mismatch_step, &self, NULL, &error));
    for (int r = 0; r < PART_REPLICAS; ++r)
        if (self.notes[r].text[0] != '\0') GIVE_UP(self.notes[r].text);
    mdist_strategy_destroy(strategy);
}

static const char *const sockets[] = {"MDIST_COMMUNICATION_IMPLEMENTATION=tcp", NULL};

static void check(const char *scenario, uint32_t workers, const char *devices, const char *const *environment) {
    const Workers job = {.scenario = scenario, .count = workers, .devices = devices, .environment = environment};
    assert_int_equal(run_workers(&job), 0);
}

static void every_part_arrives_over_workers(void **unused) {
    (void)unused;
    check("random_parts", 2, "cpu*1", NULL);
    check("random_parts", 2, "cpu*2", sockets);
    check("random_parts", 3, "cpu*1", sockets);
    check("random_parts", 3, "cpu*1|cpu*4|cpu*2", NULL);
    check("random_parts", 3, "cpu*3|cpu*1|cpu*2", sockets);
}

static void parts_that_do_not_fit_are_a_mismatch_on_all_workers(void **unused) {
    (void)unused;
    check("mismatch", 2, "cpu*1", NULL);
    check("mismatch", 3, "cpu*1", sockets);
    check("mismatch", 2, "cpu*3|cpu*1", NULL);
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_arrives_over_workers),
        cmocka_unit_test(parts_that_do_not_fit_are_a_mismatch_on_all_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {{"random_parts", random_parts}, {"mismatch", mismatch}};
    return multi_main(argument_count, arguments, scenarios, 2, test_all);
}
