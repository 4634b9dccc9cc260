// SPDX-License-Identifier: Apache-2.0
// Two strategies of a process on the same cards, both with NCCL: their operations are ordered. If both have other
// workers, the second one must do without NCCL.
#include "multi.h"

#include <pthread.h>

enum { ELEMENTS = 300, ROUNDS = 150 };

/// Makes a strategy with these keys, or not: then the call gives `wanted`.
static mdist_strategy_t *make(mdist_status_t wanted, const char *implementation, const char *store,
                              const char *devices) {
    mdist_strategy_t *strategy = NULL;
    mdist_config_t *config = NULL;
    if (store != NULL) setenv("MDIST_STORE", store, 1);
    GIVES(MDIST_OK, mdist_config_create(&config, &error));
    if (devices == NULL) GIVES(MDIST_OK, mdist_config_load_environment(config, &error));
    if (devices != NULL) GIVES(MDIST_OK, mdist_config_set(config, "devices", devices, &error));
    if (devices != NULL) GIVES(MDIST_OK, mdist_config_set(config, "strategy", "mirrored", &error));
    GIVES(MDIST_OK, mdist_config_set(config, "communication.implementation", implementation, &error));
    GIVES(MDIST_OK, mdist_config_set(config, "communication.timeout", "60s", &error));
    GIVES(MDIST_OK, mdist_config_set(config, "gpu.blocking", "true", &error));
    GIVES(wanted, mdist_strategy_create(config, &strategy, &error));
    mdist_config_destroy(config);
    return strategy;
}

static int32_t add_up(mdist_replica_t *replica, void *user_data) {
    const int32_t *const number = user_data;
    for (int round = 0; round < ROUNDS; ++round) {
        int32_t numbers[ELEMENTS];
        for (size_t i = 0; i < ELEMENTS; ++i) numbers[i] = *number;
        const mdist_buffer_t buffer = buffer_of(numbers, MDIST_INT32, ELEMENTS);
        if (mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL) != MDIST_OK) return 1;
        for (size_t i = 0; i < ELEMENTS; ++i)
            if (numbers[i] != *number * (int32_t)mdist_replica_count(replica)) return 2;
    }
    return 0;
}

typedef struct Task {
    mdist_strategy_t *strategy;
    int32_t number;
    mdist_status_t status;
    char text[512];
} Task;

static void *run_task(void *argument) {
    Task *const self = argument;
    mdist_error_t *error = NULL;
    self->status = mdist_run(self->strategy, add_up, &self->number, NULL, &error);
    if (error != NULL) snprintf(self->text, sizeof self->text, "%s", mdist_error_message(error));
    mdist_error_free(error);
    return NULL;
}

static void run_both(Task *tasks) {
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) REQUIRE(pthread_create(&threads[i], NULL, run_task, &tasks[i]) == 0);
    for (int i = 0; i < 2; ++i) REQUIRE(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < 2; ++i) {
        if (tasks[i].status != MDIST_OK) GIVE_UP(tasks[i].text);
        mdist_strategy_destroy(tasks[i].strategy);
    }
}

static void in_one_process(void) {
    Task tasks[2] = {{make(MDIST_OK, "nccl", NULL, "gpu:0,gpu:1"), 3, MDIST_OK, ""},
                     {make(MDIST_OK, "nccl", NULL, "gpu:1,gpu:0"), 5, MDIST_OK, ""}};
    run_both(tasks);
}

static void over_workers(void) {
    const char *const other = getenv("TEST_OTHER_STORE"), *const third = getenv("TEST_THIRD_STORE");
    Task tasks[2] = {{make(MDIST_OK, "nccl", NULL, NULL), 3, MDIST_OK, ""}, {NULL, 5, MDIST_OK, ""}};
    REQUIRE(make(MDIST_ERR_UNSUPPORTED, "nccl", other, NULL) == NULL);
    REQUIRE(strcmp(reason, "no_nccl") == 0);
    REQUIRE(strstr(message, "another strategy of this process uses NCCL on gpu:") != NULL);
    tasks[1].strategy = make(MDIST_OK, "auto", third, NULL);
    run_both(tasks);
    mdist_strategy_destroy(make(MDIST_OK, "nccl", getenv("TEST_LAST_STORE"), NULL)); // the first one is gone
}

static const NamedScenario scenarios[] = {{"in_one_process", in_one_process}, {"over_workers", over_workers}};

static void strategies_of_a_process_take_turns(void **state) {
    (void)state;
    const Workers workers = {.scenario = "in_one_process", .count = 1, .devices = "cpu*2"};
    assert_int_equal(run_workers(&workers), 0);
}

static void a_second_strategy_with_workers_does_without_nccl(void **state) {
    (void)state;
    static const char *const names[] = {"TEST_OTHER_STORE", "TEST_THIRD_STORE", "TEST_LAST_STORE"};
    char addresses[3][64], variables[3][128];
    mdist_store_t *stores[3];
    const char *environment[4] = {NULL};
    for (int i = 0; i < 3; ++i) {
        stores[i] = open_store(2, addresses[i], sizeof addresses[i]);
        assert_non_null(stores[i]);
        snprintf(variables[i], sizeof variables[i], "%s=%s", names[i], addresses[i]);
        environment[i] = variables[i];
    }
    const Workers workers = {.scenario = "over_workers", .count = 2, .devices = "cpu*2", .environment = environment};
    assert_int_equal(run_workers(&workers), 0);
    for (int i = 0; i < 3; ++i) mdist_store_destroy(stores[i]);
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(strategies_of_a_process_take_turns),
                                       cmocka_unit_test(a_second_strategy_with_workers_does_without_nccl)};
    return cmocka_run_group_tests_name("gpu/comm/two_strategies", tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
