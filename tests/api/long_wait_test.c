// SPDX-License-Identifier: Apache-2.0
// The log reports a long wait: which replica waits, in which call, and for which replica. It also reports the end of
// the wait. The late replica comes only after the log line, so a test ends only if the line is written.
#include "mdist_test.h"
#include "started.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { REPLICAS = 3, MOST_LINES = 64, LINE_BYTES = 1024 };

// Log lines about waits. The library calls a sink on one thread at a time.
static char lines[MOST_LINES][LINE_BYTES];
static atomic_int line_count, long_count, merge_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t came = PTHREAD_COND_INITIALIZER;

static void keep(mdist_log_level_t level, const char *text, size_t length, void *user_data) {
    (void)user_data;
    if (level != MDIST_LOG_WARN || strstr(text, " waited ") == NULL) return;
    pthread_mutex_lock(&lock);
    if (line_count < MOST_LINES) snprintf(lines[line_count++], LINE_BYTES, "%.*s", (int)length, text);
    if (strstr(text, " has waited ") != NULL) ++long_count;
    if (strstr(text, " has waited ") != NULL && strstr(text, " in a merge") != NULL) ++merge_count;
    pthread_cond_broadcast(&came);
    pthread_mutex_unlock(&lock);
}

/// Waits until the log has reported a wait `times` times.
static void await_lines(int times) {
    pthread_mutex_lock(&lock);
    while (long_count < times) pthread_cond_wait(&came, &lock);
    pthread_mutex_unlock(&lock);
}

/// The same of a wait for a merge function. On a slow machine there may be others before.
static void await_merge_line(void) {
    pthread_mutex_lock(&lock);
    while (merge_count == 0) pthread_cond_wait(&came, &lock);
    pthread_mutex_unlock(&lock);
}

static mdist_strategy_t *make(const char *wait_after) {
    mdist_error_t *error = NULL;
    mdist_config_t *config = NULL;
    mdist_strategy_t *strategy = NULL;
    line_count = long_count = merge_count = 0;
    OK(mdist_log_set_sink(keep, NULL, NULL, &error));
    OK(mdist_config_create(&config, &error));
    set_devices(config, REPLICAS);
    OK(mdist_config_set(config, "log.wait_after", wait_after, &error));
    OK(mdist_strategy_create(config, &strategy, &error));
    mdist_config_destroy(config);
    return strategy;
}

static void expect_in(const char *line, const char *words) {
    if (strstr(line, words) != NULL) return;
    print_error("no \"%s\" in: %s\n", words, line);
    fail();
}

/// Checks the log lines about a wait in this place. The last says that it has ended. The others, at least `times`, say
/// that it lasts. All come from one replica. On a slow machine there are lines about other waits, too.
static void expect_lines(int times, const char *where, const char *whom) {
    const char *here[MOST_LINES];
    int count = 0;
    for (int i = 0; i < line_count; ++i)
        if (strstr(lines[i], where) != NULL) here[count++] = lines[i];
    if (count <= times) {
        print_error("%d lines, but %d with \"%s\"; the first: %s\n", (int)line_count, count, where, lines[0]);
        fail();
    }
    for (int i = 0; i < count; ++i) {
        const int last = i + 1 == count;
        expect_in(here[i], last ? "; the wait has ended" : whom);
        assert_null(strstr(here[i], ",;"));
        expect_in(here[i], last ? " waited " : " has waited ");
        assert_memory_equal(here[i], here[0], strcspn(here[0], "0123456789") + 1);
    }
}

typedef struct Plan {
    enum { IN_A_COLLECTIVE, IN_A_STARTED_ONE, AT_THE_END, IN_A_MERGE } late;
    int times; // number of reports before the wait ends
} Plan;

static int32_t merge(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                     mdist_value_t **results, size_t result_count, void *user_data) {
    (void)strategy, (void)arguments, (void)argument_count, (void)results, (void)result_count, (void)user_data;
    await_merge_line();
    return 0;
}

static int32_t reduce_started(mdist_replica_t *replica, const mdist_buffer_t *buffer) {
    mdist_work_t *work = NULL;
    int32_t done = 0;
    mdist_status_t status = start_all_reduce(replica, MDIST_SUM, buffer, buffer, 1, &work, NULL, NULL);
    if (status == MDIST_OK) status = mdist_work_wait(work, MDIST_FOREVER, &done, NULL);
    mdist_work_destroy(work);
    return status == MDIST_OK && done ? 0 : 1;
}

/// A step whose last replica comes late.
static int32_t step(mdist_replica_t *replica, void *user_data) {
    const Plan *plan = user_data;
    const int is_late = mdist_replica_local_index(replica) == REPLICAS - 1;
    float one = 1;
    const mdist_buffer_t buffer = buffer_of(&one, MDIST_FLOAT32, 1);
    if (plan->late == IN_A_MERGE) return mdist_merge_call(replica, merge, NULL, NULL, 0, NULL, 0, NULL, NULL);
    if (is_late) await_lines(plan->times);
    if (plan->late == AT_THE_END) return 0;
    if (plan->late == IN_A_STARTED_ONE) return reduce_started(replica, &buffer);
    return mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL) == MDIST_OK && one == REPLICAS ? 0 : 1;
}

static void run(Plan plan) {
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make("20ms");
    OK(mdist_run(strategy, step, &plan, NULL, &error));
    mdist_strategy_destroy(strategy);
    quiet_log();
}

static void a_replica_that_comes_late_to_a_collective_is_named(void **state) {
    (void)state;
    run((Plan){IN_A_COLLECTIVE, 3});
    expect_lines(3, " in mdist_all_reduce(SUM, 1 buffer", // on GPUs it goes on with " on the GPU"
                 "replica 2, which has entered 0");       // replica 1 may be late, too
}

static void a_replica_that_comes_late_to_a_started_operation_is_named(void **state) {
    (void)state;
    run((Plan){IN_A_STARTED_ONE, 1});
    expect_lines(1, " in mdist_all_reduce(SUM, 1 buffer", // on GPUs it goes on with " on the GPU"
                 "replica 2, which has entered 0");       // replica 1 may be late, too
}

static void a_step_that_holds_up_the_end_of_a_run_is_named(void **state) {
    (void)state;
    run((Plan){AT_THE_END, 1});
    expect_lines(1, "local replica 0 ", "2, whose step has not returned");
}

static void a_merge_function_that_holds_up_the_others_is_named(void **state) {
    (void)state;
    run((Plan){IN_A_MERGE, 1});
    expect_lines(1, " in a merge", " for local replica 0, whose merge function has not returned");
}

static int32_t reduce_often(mdist_replica_t *replica, void *user_data) {
    float one = 1;
    const mdist_buffer_t buffer = buffer_of(&one, MDIST_FLOAT32, 1);
    (void)user_data;
    for (int i = 0; i < 1000; ++i)
        if (mdist_all_reduce(replica, MDIST_MAX, &buffer, &buffer, 1, NULL, NULL) != MDIST_OK) return 1;
    return 0;
}

static void waits_that_stay_short_are_not_told(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make("1h");
    OK(mdist_run(strategy, reduce_often, NULL, NULL, &error));
    mdist_strategy_destroy(strategy);
    assert_int_equal(line_count, 0);
}

static atomic_int timed_out;

/// Replica 0 waits for 5 ms, the others come when it has given up.
static int32_t give_up_early(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    const mdist_call_options_t options = {.struct_size = sizeof options, .timeout_ns = 5000000};
    const int is_first = mdist_replica_local_index(replica) == 0;
    while (!is_first && !timed_out) sched_yield();
    if (mdist_barrier(replica, &options, NULL) == MDIST_OK) return 1;
    timed_out = 1;
    return 0;
}

static void a_wait_that_times_out_earlier_is_not_told(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make("1h");
    FAILS(MDIST_ERR_TIMEOUT, mdist_run(strategy, give_up_early, NULL, NULL, &error));
    mdist_strategy_destroy(strategy);
    quiet_log();
    assert_int_equal(line_count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_replica_that_comes_late_to_a_collective_is_named),
        cmocka_unit_test(a_replica_that_comes_late_to_a_started_operation_is_named),
        cmocka_unit_test(a_step_that_holds_up_the_end_of_a_run_is_named),
        cmocka_unit_test(a_merge_function_that_holds_up_the_others_is_named),
        cmocka_unit_test(waits_that_stay_short_are_not_told),
        cmocka_unit_test(a_wait_that_times_out_earlier_is_not_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
