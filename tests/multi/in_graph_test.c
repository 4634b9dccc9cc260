// SPDX-License-Identifier: Apache-2.0
// One worker, the client, leads the others. What it does must reach the replicas of all workers. A call that is refused
// must have no other effect.
#include "in_graph.h"

static void lead(mdist_strategy_t *strategy) {
    const uint32_t replicas = mdist_strategy_replica_count(strategy);
    Client self = {strategy, replicas};
    its_local_replicas_are_all(&self);
    a_run_is_everybodys(&self);
    collectives_and_merges_are_among_all(&self);
    values_are_reduced_here(&self);
    a_mirrored_variable_is_one(&self);
    an_update_takes_structures(&self);
    one_synchronized_on_read_is_summed_over_all(&self);
    rows_and_long_tensors_get_there(&self);
    input_is_cut_for_all(&self);
    a_loop_goes_over_all_replicas(&self);
    what_the_client_has_cached_is_its_own(&self);
    a_fetch_function_may_command(&self);
    a_checkpoint_is_everybodys(&self);
    what_cannot_be_is_refused(&self);
    a_run_is_everybodys(&self);
}

static void serve(mdist_strategy_t *strategy) {
    mdist_value_t *result = NULL;
    const uint32_t locals = first_replica_of[rank + 1] - first_replica_of[rank];
    REQUIRE(mdist_strategy_local_replica_count(strategy) == locals);
    REQUIRE(mdist_strategy_replica_count(strategy) == first_replica_of[worker_count]);
    GIVES(MDIST_ERR_WRONG_CONTEXT,
          mdist_run_named(strategy, "double",
                          &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &result, .result_count = 1}, &error));
    REQUIRE(strstr(message, "mdist_serve") != NULL);
    GIVES(MDIST_ERR_WRONG_CONTEXT, mdist_run(strategy, twice, NULL, NULL, &error));
    GIVES(MDIST_OK, mdist_serve(strategy, NULL, &error));
}

static void all_that_there_is(void) {
    mdist_strategy_t *strategy = join();
    register_all(strategy);
    rank == 0 ? lead(strategy) : serve(strategy);
    mdist_strategy_destroy(strategy);
}

// --- a client that says nothing

static void nothing_to_do(void) {
    mdist_strategy_t *strategy = join();
    if (rank != 0) GIVES(MDIST_OK, mdist_serve(strategy, NULL, &error));
    mdist_strategy_destroy(strategy);
}

// --- the tests

#define IN_GRAPH "MDIST_STRATEGY=in_graph"

static void check(const char *scenario, uint32_t workers, const char *devices, const char *variable) {
    const char *const environment[] = {IN_GRAPH, variable, NULL};
    const Workers job = {.scenario = scenario, .count = workers, .devices = devices, .environment = environment};
    assert_int_equal(run_workers(&job), 0);
}

static void the_clients_doings_go_for_the_replicas_of_all(void **unused) {
    (void)unused;
    check("all_that_there_is", 2, "cpu*1", NULL);
    check("all_that_there_is", 2, "cpu*2", NULL);
    check("all_that_there_is", 3, "cpu*1", NULL);
    check("all_that_there_is", 2, "cpu*2", "MDIST_COMMUNICATION_IMPLEMENTATION=tcp");
    check("all_that_there_is", 2, "cpu*1", "MDIST_EXECUTOR=caller");
    check("all_that_there_is", 2, "cpu*1|cpu*3", NULL);
    check("all_that_there_is", 3, "cpu*2|cpu*1|cpu*1", "MDIST_COMMUNICATION_IMPLEMENTATION=tcp");
}

static void serving_ends_with_the_client(void **unused) {
    (void)unused;
    check("nothing_to_do", 3, "cpu*1", NULL);
    check("nothing_to_do", 2, "cpu*2", "MDIST_COMMUNICATION_IMPLEMENTATION=tcp");
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clients_doings_go_for_the_replicas_of_all),
        cmocka_unit_test(serving_ends_with_the_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {
        {"all_that_there_is", all_that_there_is},
        {"nothing_to_do", nothing_to_do},
    };
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
