// SPDX-License-Identifier: Apache-2.0
// Loops of steps with several workers. All workers see the same outputs, the same end and the same failure.
#include "multi.h"

#include "loop_body.h"

static void loops_together(void) {
    mdist_strategy_t *strategy = join();
    const int line = check_loops(strategy);
    if (line != 0) {
        char what[64];
        snprintf(what, sizeof what, "line %d of loop_body.h", line);
        GIVE_UP(what);
    }
    mdist_strategy_destroy(strategy);
}

static int32_t count_element(mdist_strategy_t *strategy, mdist_loop_t *loop, mdist_value_t *element, void *user_data) {
    (void)strategy, (void)loop, (void)element;
    ++*(int *)user_data;
    return 0;
}

/// Makes an iterator of this worker's own rows: rank + 2 of them.
static mdist_iterator_t *own_rows(void) {
    static float rows[16];
    const mdist_tensor_t array = tensor_of(rows, MDIST_FLOAT32, rank + 2);
    mdist_dataset_t *dataset = NULL;
    mdist_iterator_t *iterator = NULL;
    GIVES(MDIST_OK, mdist_dataset_from_tensors(&array, 1, NULL, NULL, &dataset, NULL, &error));
    GIVES(MDIST_OK, mdist_iterator_create(dataset, &iterator, &error));
    mdist_dataset_destroy(dataset);
    return iterator;
}

static void ends_with_the_first(void) {
    mdist_strategy_t *strategy = join();
    mdist_iterator_t *iterator = own_rows();
    mdist_loop_t *loop = NULL;
    int count = 0;
    GIVES(MDIST_END, mdist_run_steps(strategy, iterator, 9, count_element, &count, NULL, &loop, NULL, &error));
    REQUIRE(count == 2 && mdist_loop_iterations(loop) == 2);
    mdist_loop_destroy(loop);
    mdist_iterator_destroy(iterator);
    mdist_strategy_destroy(strategy);
}

/// Each worker asks for a different number of iterations.
static void differs_in_iterations(void) {
    mdist_strategy_t *strategy = join();
    mdist_iterator_t *iterator = own_rows();
    mdist_loop_t *loop = NULL;
    int count = 0;
    GIVES(MDIST_ERR_MISMATCH,
          mdist_run_steps(strategy, iterator, rank, count_element, &count, NULL, &loop, NULL, &error));
    REQUIRE(strstr(message, "iteration 0 of 0") != NULL && strstr(message, "iteration 0 of 1") != NULL);
    REQUIRE(count == 0 && loop == NULL);
    mdist_iterator_destroy(iterator);
    mdist_strategy_destroy(strategy);
}

static int32_t put_out_own_name(mdist_strategy_t *strategy, mdist_loop_t *loop, mdist_value_t *element,
                                void *user_data) {
    (void)element, (void)user_data;
    float numbers[4] = {0};
    mdist_tensor_t tensors[4];
    mdist_value_t *value = NULL;
    const uint32_t locals = mdist_strategy_local_replica_count(strategy);
    for (uint32_t i = 0; i < locals; ++i) tensors[i] = tensor_of(&numbers[i], MDIST_FLOAT32, 0);
    if (mdist_value_per_replica(strategy, tensors, locals, &value, NULL) != MDIST_OK) return 1;
    const mdist_status_t status =
        mdist_loop_set_output(loop, rank == 0 ? "a" : "b", value, MDIST_AGGREGATION_SUM, NULL);
    mdist_value_destroy(value);
    return status != MDIST_OK;
}

static void differs_in_outputs(void) {
    mdist_strategy_t *strategy = join();
    mdist_iterator_t *iterator = own_rows();
    mdist_loop_t *loop = NULL;
    GIVES(MDIST_ERR_MISMATCH,
          mdist_run_steps(strategy, iterator, 1, put_out_own_name, NULL, NULL, &loop, NULL, &error));
    REQUIRE(strstr(message, "\"a\"") != NULL && strstr(message, "\"b\"") != NULL);
    mdist_iterator_destroy(iterator);
    mdist_strategy_destroy(strategy);
}

/// Sets an output that only worker 1 reduces to one value.
static int32_t put_out_in_own_way(mdist_strategy_t *strategy, mdist_loop_t *loop, mdist_value_t *element,
                                  void *user_data) {
    (void)strategy, (void)user_data;
    const mdist_aggregation_t way = rank == 0 ? MDIST_AGGREGATION_NONE : MDIST_AGGREGATION_ONLY_FIRST_REPLICA;
    return mdist_loop_set_output(loop, "a", element, way, NULL) != MDIST_OK;
}

static void differs_in_ways(void) {
    mdist_strategy_t *strategy = join();
    mdist_iterator_t *iterator = own_rows();
    mdist_loop_t *loop = NULL;
    GIVES(MDIST_ERR_MISMATCH,
          mdist_run_steps(strategy, iterator, 1, put_out_in_own_way, NULL, NULL, &loop, NULL, &error));
    mdist_iterator_destroy(iterator);
    mdist_strategy_destroy(strategy);
}

static int32_t fail_on_the_last(mdist_strategy_t *strategy, mdist_loop_t *loop, mdist_value_t *element,
                                void *user_data) {
    (void)strategy, (void)element, (void)user_data;
    return rank + 1 == worker_count && mdist_loop_iterations(loop) == 1 ? 6 : 0;
}

/// One worker's function fails. All workers are told, although the functions of the others succeeded.
static void fails_for_all(void) {
    mdist_strategy_t *strategy = join();
    mdist_iterator_t *iterator = own_rows();
    mdist_loop_t *loop = NULL;
    mdist_error_t *error = NULL;
    const mdist_status_t status =
        mdist_run_steps(strategy, iterator, 2, fail_on_the_last, NULL, NULL, &loop, NULL, &error);
    REQUIRE(status == (rank + 1 == worker_count ? MDIST_ERR_CALLBACK : status) && status < 0);
    REQUIRE(strstr(mdist_error_message(error), "the loop's function returned 6") != NULL);
    REQUIRE(loop == NULL);
    mdist_error_free(error);
    mdist_iterator_destroy(iterator);
    mdist_strategy_destroy(strategy);
}

static void check(const char *scenario) {
    static const char *const devices[] = {"cpu*1", "cpu*2", "cpu*1|cpu*2"};
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; ++i) {
        const Workers job = {.scenario = scenario, .count = 2, .devices = devices[i]};
        assert_int_equal(run_workers(&job), 0);
    }
}

static void outputs_are_aggregated_over_all_workers(void **unused) {
    (void)unused;
    check("loops_together");
}

static void the_first_without_elements_ends_the_loop_for_all(void **unused) {
    (void)unused;
    check("ends_with_the_first");
}

static void workers_that_loop_differently_are_told_so(void **unused) {
    (void)unused;
    check("differs_in_iterations");
    check("differs_in_outputs");
    check("differs_in_ways");
}

static void what_fails_on_one_worker_fails_on_all(void **unused) {
    (void)unused;
    check("fails_for_all");
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_are_aggregated_over_all_workers),
        cmocka_unit_test(the_first_without_elements_ends_the_loop_for_all),
        cmocka_unit_test(workers_that_loop_differently_are_told_so),
        cmocka_unit_test(what_fails_on_one_worker_fails_on_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {
        {"loops_together", loops_together},         {"ends_with_the_first", ends_with_the_first},
        {"differs_in_outputs", differs_in_outputs}, {"differs_in_iterations", differs_in_iterations},
        {"fails_for_all", fails_for_all},           {"differs_in_ways", differs_in_ways},
    };
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
