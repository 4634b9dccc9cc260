// SPDX-License-Identifier: Apache-2.0
// mdist_strategy_destroy in functions of the program: it waits for none of them, so it may be called in each, or by a
// thread for which one waits.
#include "mdist_test.h"
#include "started.h"

#include <pthread.h>
#include <unistd.h>

static mdist_strategy_t *strategy;
static int destroyed;

static void *destroy_strategy(void *unused) {
    mdist_strategy_destroy(strategy);
    return unused;
}

/// Returns when a thread of its own has destroyed the strategy.
static void destroy_elsewhere(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, destroy_strategy, NULL) == 0) destroyed += pthread_join(thread, NULL) == 0;
}

static void free_and_destroy(void *user_data) {
    (void)user_data;
    destroy_elsewhere();
}

static void done_and_destroy(mdist_status_t status, void *user_data) {
    (void)status, (void)user_data;
    destroy_elsewhere();
}

static int begin(void **state) {
    (void)state;
    quiet_log();
    strategy = make_strategy(2, NULL);
    destroyed = 0;
    alarm(300); // a lock that is never given back must not last for ever
    return 0;
}

static int end(void **state) {
    (void)state;
    alarm(0);
    return 0;
}

static void enter_all(mdist_replica_t *replicas[2]) {
    mdist_error_t *error = NULL;
    for (uint32_t i = 0; i < 2; ++i) OK(mdist_replica_enter(strategy, i, &replicas[i], &error));
}

/// Replica 0 leaves with an operation under way, which its exit ends.
static void when_a_replica_leaves_and_an_operation_is_over(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    OK(mdist_run_begin(strategy, NULL, &error));
    mdist_replica_t *replicas[2];
    enter_all(replicas);
    float number = 1;
    const mdist_buffer_t buffer = {&number, 1, MDIST_FLOAT32, 0};
    mdist_work_t *work;
    OK(start_all_reduce(replicas[0], MDIST_SUM, &buffer, &buffer, 1, &work, NULL, &error));
    OK(mdist_work_on_done(work, done_and_destroy, NULL, &error));
    FAILS(MDIST_ERR_FAILED_PRECONDITION, mdist_replica_exit(replicas[0], 0, &error));
    assert_int_equal(destroyed, 1);
    OK(mdist_replica_exit(replicas[1], 0, &error));
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_run_end(strategy, NULL, 0, &error));
    mdist_work_destroy(work);
}

/// The run has the last reference to its argument.
static void when_a_run_ends_and_frees_its_argument(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    static float number;
    const mdist_tensor_t tensor = tensor_of(&number, MDIST_FLOAT32, 1);
    mdist_value_t *value;
    OK(mdist_value_wrap(&tensor, NULL, free_and_destroy, &value, &error));
    OK(mdist_run_begin(strategy, &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &value, .argument_count = 1},
                       &error));
    mdist_value_destroy(value);
    mdist_replica_t *replicas[2];
    enter_all(replicas);
    for (uint32_t i = 0; i < 2; ++i) OK(mdist_replica_exit(replicas[i], 0, &error));
    assert_int_equal(destroyed, 0);
    OK(mdist_run_end(strategy, NULL, 0, &error));
    assert_int_equal(destroyed, 1);
}

static void *take_built_in_replica(void *out) {
    return mdist_current_replica((mdist_replica_t **)out, NULL) == MDIST_OK ? out : NULL;
}

/// A thread's built-in replica lives as long as the thread, and so does the strategy it belongs to.
static void a_thread_takes_its_built_in_replica_along(void **state) {
    (void)state;
    mdist_replica_t *replica = NULL;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, take_built_in_replica, &replica), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_non_null(replica);
    assert_int_equal(mdist_replica_id(replica), MDIST_NONE);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(when_a_replica_leaves_and_an_operation_is_over, begin, end),
        cmocka_unit_test_setup_teardown(when_a_run_ends_and_frees_its_argument, begin, end),
        cmocka_unit_test_setup_teardown(a_thread_takes_its_built_in_replica_along, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
