// SPDX-License-Identifier: Apache-2.0
// Strategies: how they are created, what is refused, and every order of destruction.
#include "mdist_test.h"

#include <sched.h>
#include <time.h>

#include <pthread.h>
#include <stdatomic.h>

static mdist_status_t create_on(const char *devices, mdist_strategy_t **out, mdist_error_t **error) {
    mdist_config_t *config = NULL;
    mdist_error_t *none = NULL;
    CHECK(MDIST_OK, mdist_config_create(&config, &none), none);
    CHECK(MDIST_OK, mdist_config_set(config, "devices", devices, &none), none);
    const mdist_status_t status = mdist_strategy_create(config, out, error);
    mdist_config_destroy(config);
    return status;
}

static void without_config_the_environment_decides(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = NULL;
    setenv("MDIST_DEVICES", "cpu:0,cpu:1,cpu:2", 1);
    OK(mdist_strategy_create(NULL, &strategy, &error));
    assert_int_equal(mdist_strategy_local_replica_count(strategy), 3);
    mdist_strategy_destroy(strategy);

    setenv("MDIST_DEVICES", "toaster", 1);
    mdist_strategy_t *untouched = (mdist_strategy_t *)&error;
    FAILS(MDIST_ERR_CONFIG, mdist_strategy_create(NULL, &untouched, &error));
    assert_ptr_equal(untouched, &error);

    unsetenv("MDIST_DEVICES");
    OK(mdist_strategy_create(NULL, &strategy, &error));
    assert_int_equal(mdist_strategy_replica_count(strategy), 1);
    mdist_strategy_destroy(strategy);
}

static void devices_have_names(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = NULL;
    OK(create_on("cpu*3", &strategy, &error));
    assert_int_equal(mdist_strategy_replica_count(strategy), 3);
    assert_int_equal(mdist_strategy_local_replica_count(strategy), 3);
    for (uint32_t local = 0; local < 3; ++local) {
        char name[16], wanted[16];
        size_t needed = 0;
        snprintf(wanted, sizeof wanted, "cpu:%u", (unsigned)local);
        OK(mdist_strategy_device(strategy, local, name, sizeof name, &needed, &error));
        assert_string_equal(name, wanted);
        assert_int_equal(needed, strlen(wanted) + 1);
    }
    char little[3] = "xy";
    OK(mdist_strategy_device(strategy, 1, little, sizeof little, NULL, &error));
    assert_string_equal(little, "cp");
    size_t needed = 0;
    OK(mdist_strategy_device(strategy, 1, NULL, 0, &needed, &error));
    assert_int_equal(needed, 6);
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_strategy_device(strategy, 3, little, sizeof little, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_strategy_device(strategy, 0, NULL, 4, NULL, &error));
    mdist_strategy_destroy(strategy);
}

static void what_this_build_lacks_is_refused_by_name(void **state) {
    (void)state;
    const char *const devices[] = {"gpu", "gpu:0,gpu:1", "gpu:0*2"};
    mdist_strategy_t *strategy = NULL;
    mdist_error_t *error = NULL;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; ++i) {
        assert_int_equal(create_on(devices[i], &strategy, &error), MDIST_ERR_UNSUPPORTED);
        WORDS(error, "gpu:0");
        assert_string_equal(mdist_error_operation(error), "mdist_strategy_create");
        assert_null(strategy);
        mdist_error_free(error);
        error = NULL;
    }

    assert_int_equal(create_on("cpu:0,gpu:0", &strategy, &error), MDIST_ERR_CONFIG);
    WORDS(error, "cannot mix CPU and GPU replicas");
    mdist_error_free(error);
    error = NULL;

    mdist_config_t *config = NULL;
    OK(mdist_config_create(&config, &error));
    OK(mdist_config_set(config, "cluster.worker", "10.0.0.1:9000,10.0.0.2:9000", &error));
    OK(mdist_config_set(config, "task.type", "worker", &error));
    OK(mdist_config_set(config, "task.index", "0", &error));
    assert_true(mdist_strategy_create(config, &strategy, &error) < 0);
    assert_non_null(error);
    mdist_error_free(error);
    error = NULL;
    assert_null(strategy);
    FAILS(MDIST_ERR_CONFIG, mdist_config_set(config, "devices", "cpu*0", &error));
    FAILS(MDIST_ERR_CONFIG, mdist_config_set(config, "devices", "", &error));
    FAILS(MDIST_ERR_CONFIG, mdist_config_set(config, "devices", "cpu:0,cpu:0", &error));
    mdist_config_destroy(config);
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_strategy_create(config, &strategy, &error));
}

static void null_is_answered_not_followed(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_strategy_create(NULL, NULL, &error));
    assert_int_equal(mdist_strategy_create(NULL, NULL, NULL), MDIST_ERR_INVALID_ARGUMENT);
    assert_int_equal(mdist_strategy_replica_count(NULL), 0);
    assert_int_equal(mdist_strategy_local_replica_count(NULL), 0);
    mdist_strategy_destroy(NULL);
    mdist_strategy_abort(NULL);
}

static void a_config_may_go_before_its_strategy(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_config_t *config = NULL;
    mdist_strategy_t *one = NULL, *two = NULL;
    OK(mdist_config_create(&config, &error));
    OK(mdist_config_set(config, "devices", "cpu*2", &error));
    OK(mdist_strategy_create(config, &one, &error));
    OK(mdist_config_set(config, "devices", "cpu*4", &error));
    OK(mdist_strategy_create(config, &two, &error));
    mdist_config_destroy(config);
    assert_int_equal(mdist_strategy_replica_count(one), 2);
    assert_int_equal(mdist_strategy_replica_count(two), 4);
    mdist_strategy_destroy(one);
    mdist_strategy_destroy(two);
}

static int32_t do_nothing(mdist_replica_t *replica, void *user_data) {
    (void)replica;
    (void)user_data;
    return 0;
}

static int threads_of_this_process(void) {
    FILE *file = fopen("/proc/self/status", "r");
    char line[128];
    int threads = -1;
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "Threads: %d", &threads) == 1) break;
    if (file != NULL) fclose(file);
    return threads;
}

/// Waits until only the main thread is left, if need be until the test is ended. A thread that was joined still counts
/// for a moment.
static void wait_for_threads_to_end(void) {
#ifdef __SANITIZE_THREAD__
    const int left = 2; // the sanitizer has one of its own
#else
    const int left = 1;
#endif
    while (threads_of_this_process() != left) sched_yield();
}

static void a_thousand_strategies_leave_nothing_behind(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *last = NULL;
    for (int i = 0; i < 1000; ++i) {
        mdist_strategy_t *strategy = make_strategy(1 + i % 3, i % 2 ? "caller" : "threads");
        assert_ptr_not_equal(strategy, last);
        if (i % 5 == 0) OK(mdist_run(strategy, do_nothing, NULL, NULL, &error));
        mdist_strategy_destroy(strategy);
        last = strategy;
    }
    wait_for_threads_to_end();
}

static void many_strategies_live_side_by_side(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategies[20];
    for (int i = 0; i < 20; ++i) strategies[i] = make_strategy(2, NULL);
    for (int i = 0; i < 20; ++i) OK(mdist_run(strategies[i], do_nothing, NULL, NULL, &error));
    for (int i = 19; i >= 0; --i) mdist_strategy_destroy(strategies[i]);
}

static int32_t give_one(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    int32_t one = 1;
    const mdist_tensor_t tensor = tensor_of(&one, MDIST_INT32, 0);
    return mdist_replica_set_result(replica, 0, NULL, &tensor, NULL);
}

// Variables and values keep what they need of their strategy, so any order of destruction is allowed.
static void a_strategy_may_go_before_its_variables_and_values(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (int order = 0; order < 6; ++order) {
        mdist_strategy_t *strategy = make_strategy(3, NULL);
        int32_t seven = 7;
        const mdist_tensor_t initial = tensor_of(&seven, MDIST_INT32, 0);
        mdist_variable_t *variable = NULL;
        mdist_value_t *result = NULL;
        OK(mdist_variable_create(strategy, "v", &initial, &variable, NULL, &error));
        OK(mdist_run(strategy, give_one, NULL,
                     &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &result, .result_count = 1}, &error));
        const int turns[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
        int gone[3] = {0, 0, 0};
        for (int i = 0; i < 3; ++i) {
            gone[turns[order][i]] = 1;
            if (turns[order][i] == 0) mdist_strategy_destroy(strategy);
            if (turns[order][i] == 1) mdist_variable_destroy(variable);
            if (turns[order][i] == 2) mdist_value_destroy(result);
            mdist_tensor_t seen;
            if (!gone[1]) {
                OK(mdist_variable_tensor(variable, 2, &seen, &error));
                assert_int_equal(*(int32_t *)seen.data, 7);
                assert_string_equal(mdist_variable_name(variable), "v");
            }
            if (!gone[2]) {
                OK(mdist_value_tensor(result, 2, &seen, &error));
                assert_int_equal(*(int32_t *)seen.data, 1);
            }
        }
    }
}

static void a_destroyed_strategy_is_a_bad_handle(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_strategy_destroy(strategy);
    mdist_strategy_destroy(strategy);
    mdist_strategy_abort(strategy);
    assert_int_equal(mdist_strategy_replica_count(strategy), 0);
    assert_int_equal(mdist_run(strategy, do_nothing, NULL, NULL, &error), MDIST_ERR_BAD_HANDLE);
    WORDS(error, "a strategy that was destroyed");
    mdist_error_free(error);
    error = NULL;
    char name[8];
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_strategy_device(strategy, 0, name, sizeof name, NULL, &error));
    float x = 0;
    const mdist_tensor_t tensor = tensor_of(&x, MDIST_FLOAT32, 0);
    mdist_value_t *value = NULL;
    mdist_variable_t *variable = NULL;
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_strategy_broadcast(strategy, &tensor, &value, &error));
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_variable_create(strategy, "v", &tensor, &variable, NULL, &error));
    assert_null(value);
    assert_null(variable);
}

// ---- Destroying and aborting while another thread runs.

typedef struct Runner {
    mdist_strategy_t *strategy;
    atomic_uint inside;
    atomic_int go_on;
    int collective; // the others wait in a barrier for replica 0, which never comes; if 0, all spin
    mdist_status_t status;
    char message[256];
} Runner;

static int32_t wait_in_step(mdist_replica_t *replica, void *user_data) {
    Runner *self = user_data;
    atomic_fetch_add(&self->inside, 1);
    if (self->collective && mdist_replica_id(replica) != 0) {
        mdist_barrier(replica, NULL, NULL);
    } else {
        while (!atomic_load(&self->go_on)) sched_yield();
    }
    return 0;
}

static void *run_on_thread(void *argument) {
    Runner *self = argument;
    mdist_error_t *error = NULL;
    self->status = mdist_run(self->strategy, wait_in_step, self, NULL, &error);
    snprintf(self->message, sizeof self->message, "%s", mdist_error_message(error));
    mdist_error_free(error);
    return NULL;
}

static void destroying_a_strategy_that_runs_aborts_and_does_not_wait(void **state) {
    (void)state;
    for (int collective = 0; collective < 2; ++collective) {
        Runner runner = {.strategy = make_strategy(3, NULL), .collective = collective};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, run_on_thread, &runner), 0);
        while (atomic_load(&runner.inside) < 3) sched_yield();
        mdist_strategy_destroy(runner.strategy); // returns while the step continues
        assert_int_equal(mdist_strategy_replica_count(runner.strategy), 0);
        atomic_store(&runner.go_on, 1);
        pthread_join(thread, NULL);
        assert_int_equal(runner.status, MDIST_ERR_ABORTED);
        assert_non_null(strstr(runner.message, "destroyed"));
    }
}

static void a_second_thread_is_refused_while_one_runs(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    Runner runner = {.strategy = make_strategy(2, NULL)};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_on_thread, &runner), 0);
    while (atomic_load(&runner.inside) < 2) sched_yield();
    assert_int_equal(mdist_run(runner.strategy, do_nothing, NULL, NULL, &error), MDIST_ERR_FAILED_PRECONDITION);
    assert_string_equal(mdist_error_reason(error), "busy");
    mdist_error_free(error);
    float x = 1;
    const mdist_tensor_t tensor = tensor_of(&x, MDIST_FLOAT32, 0);
    mdist_value_t *value = NULL;
    error = NULL;
    FAILS(MDIST_ERR_FAILED_PRECONDITION, mdist_strategy_broadcast(runner.strategy, &tensor, &value, &error));
    assert_int_equal(mdist_strategy_replica_count(runner.strategy), 2); // queries still work
    atomic_store(&runner.go_on, 1);
    pthread_join(thread, NULL);
    assert_int_equal(runner.status, MDIST_OK);
    OK(mdist_run(runner.strategy, do_nothing, NULL, NULL, &error));
    mdist_strategy_destroy(runner.strategy);
}

static void aborting_lets_waiting_replicas_go_for_good(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    Runner runner = {.strategy = make_strategy(4, NULL), .collective = 1};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_on_thread, &runner), 0);
    while (atomic_load(&runner.inside) < 4) sched_yield();
    mdist_strategy_abort(runner.strategy);
    atomic_store(&runner.go_on, 1);
    pthread_join(thread, NULL);
    assert_int_equal(runner.status, MDIST_ERR_ABORTED);
    assert_int_equal(mdist_run(runner.strategy, do_nothing, NULL, NULL, &error), MDIST_ERR_ABORTED);
    WORDS(error, "mdist_strategy_abort");
    mdist_error_free(error);
    mdist_strategy_destroy(runner.strategy);
}

typedef struct Racer {
    mdist_strategy_t *strategy;
    atomic_ulong rounds;
    mdist_status_t status;
} Racer;

// Reduces until a call fails. The data is large enough that the replicas meet twice in each call.
static int32_t reduce_for_ever(mdist_replica_t *replica, void *user_data) {
    Racer *self = user_data;
    enum { ELEMENTS = 10000 };
    float *data = calloc(ELEMENTS, sizeof *data);
    if (data == NULL) return 1;
    const mdist_buffer_t buffer = buffer_of(data, MDIST_FLOAT32, ELEMENTS);
    while (mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL) == MDIST_OK)
        atomic_fetch_add(&self->rounds, 1);
    free(data);
    return 0;
}

static int32_t return_zero(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                           mdist_value_t **results, size_t result_count, void *user_data) {
    (void)strategy, (void)arguments, (void)argument_count, (void)results, (void)result_count, (void)user_data;
    return 0;
}

static int32_t merge_for_ever(mdist_replica_t *replica, void *user_data) {
    Racer *self = user_data;
    while (mdist_merge_call(replica, return_zero, NULL, NULL, 0, NULL, 0, NULL, NULL) == MDIST_OK)
        atomic_fetch_add(&self->rounds, 1);
    return 0;
}

static void *race_reduce(void *argument) {
    Racer *self = argument;
    self->status = mdist_run(self->strategy, reduce_for_ever, self, NULL, NULL);
    return NULL;
}

static void *race_merge(void *argument) {
    Racer *self = argument;
    self->status = mdist_run(self->strategy, merge_for_ever, self, NULL, NULL);
    return NULL;
}

// Each call ends when all replicas know that all have come. An abort may fall between two of them learning it.
static void an_abort_at_any_moment_lets_all_replicas_go(void **state) {
    (void)state;
    for (int i = 0; i < 60; ++i) {
        Racer racer = {.strategy = make_strategy(2 + i % 3, NULL)};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, i % 2 ? race_merge : race_reduce, &racer), 0);
        while (atomic_load(&racer.rounds) < (unsigned long)(i % 7) * 10 + 1) sched_yield();
        if (i % 4 < 2)
            mdist_strategy_abort(racer.strategy);
        else
            mdist_strategy_destroy(racer.strategy);
        pthread_join(thread, NULL);
        assert_int_equal(racer.status, MDIST_ERR_ABORTED);
        mdist_strategy_destroy(racer.strategy);
    }
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_config_the_environment_decides),
        cmocka_unit_test(devices_have_names),
        cmocka_unit_test(what_this_build_lacks_is_refused_by_name),
        cmocka_unit_test(null_is_answered_not_followed),
        cmocka_unit_test(a_config_may_go_before_its_strategy),
        cmocka_unit_test(a_thousand_strategies_leave_nothing_behind),
        cmocka_unit_test(many_strategies_live_side_by_side),
        cmocka_unit_test(a_strategy_may_go_before_its_variables_and_values),
        cmocka_unit_test(a_destroyed_strategy_is_a_bad_handle),
        cmocka_unit_test(destroying_a_strategy_that_runs_aborts_and_does_not_wait),
        cmocka_unit_test(a_second_thread_is_refused_while_one_runs),
        cmocka_unit_test(aborting_lets_waiting_replicas_go_for_good),
        cmocka_unit_test(an_abort_at_any_moment_lets_all_replicas_go),
    };
    setenv("MDIST_CUDA_MODULE", "/nonexistent/no-module.so", 0); // as on a host without GPUs
    return cmocka_run_group_tests(tests, NULL, NULL);
}
