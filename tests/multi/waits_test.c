// SPDX-License-Identifier: Apache-2.0
// A worker that waits long for others logs that: for which worker it waits, in which call, and when the wait is over.
// In these scenarios, the late worker comes once the log of another worker has reported the wait.
#include "multi.h"
#include "started.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/// Returns the name of a pipe. Opening it to read waits until another worker has logged a long wait.
static const char *pipe_name(void) {
    return getenv("TEST_PIPE");
}

static const char *words[2]; // words of the expected line; on a slow machine, others come before it
static atomic_int told, over;

static void keep(mdist_log_level_t level, const char *text, size_t length, void *user_data) {
    (void)user_data, (void)length;
    if (level != MDIST_LOG_WARN) return;
    if (strstr(text, "; the wait has ended") != NULL) ++over;
    if (strstr(text, " has waited ") == NULL || strstr(text, words[0]) == NULL || strstr(text, words[1]) == NULL)
        return;
    if (told++ != 0) return;
    const int file = open(pipe_name(), O_WRONLY | O_CLOEXEC);
    if (file >= 0) close(file);
}

/// Returns when another worker has logged its wait.
static void await_other(void) {
    const int file = open(pipe_name(), O_RDONLY | O_CLOEXEC);
    REQUIRE(file >= 0);
    close(file);
}

static void listen_for(const char *where, const char *whom) {
    words[0] = where;
    words[1] = whom;
    GIVES(MDIST_OK, mdist_log_set_sink(keep, NULL, NULL, &error));
}

static int32_t barrier_step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    return mdist_barrier(replica, NULL, NULL) == MDIST_OK ? 0 : 1;
}

static void barrier(mdist_strategy_t *strategy) {
    GIVES(MDIST_OK, mdist_run(strategy, barrier_step, NULL, NULL, &error));
}

static void late_in_a_collective(void) {
    mdist_strategy_t *strategy = join();
    barrier(strategy);
    if (rank == victim)
        await_other();
    else
        listen_for(" in mdist_barrier(), operation 2 of the job, for worker 1", "which has entered 1");
    barrier(strategy);
    REQUIRE(rank == victim || (told > 0 && over > 0));
    mdist_strategy_destroy(strategy);
}

static void late_in_joining(void) {
    if (rank == victim)
        await_other();
    else
        listen_for(" in mdist_strategy_create for ", "1 of 2 workers have joined; missing: 1");
    mdist_strategy_t *strategy = join();
    REQUIRE(rank == victim || (told > 0 && over > 0));
    barrier(strategy);
    mdist_strategy_destroy(strategy);
}

static void no_store(void) {
    mdist_strategy_t *strategy = NULL;
    listen_for(" in mdist_strategy_create for ", "the store at 127.0.0.1:1 (an address of this host only), which has not answered");
    GIVES(MDIST_ERR_TIMEOUT, mdist_strategy_create(NULL, &strategy, &error));
    REQUIRE_UNLESS_LATE(told > 0 && over > 0, last_status);
}

enum { SLOW_BYTES = 128 << 20 };

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/// A part of the time that a call took: a twentieth at first, and half of it where even a chunk takes long.
static uint64_t limit_of(uint64_t taken_ns) {
    const uint64_t parts = strtoull(getenv("TEST_PARTS"), NULL, 10); // 3, then more
    return taken_ns * (parts < 30 ? parts : 30) / 60;
}

/// Moves many bytes between two workers: by an all-reduce, or by a message.
static mdist_status_t move(mdist_replica_t *replica, int by_message, float *values, uint64_t limit_ns) {
    const mdist_buffer_t buffer = {values, SLOW_BYTES / sizeof *values, MDIST_FLOAT32, 0};
    const mdist_call_options_t options = {.struct_size = sizeof options, .timeout_ns = limit_ns};
    if (!by_message) return mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, &options, NULL);
    return rank == 0 ? mdist_send(replica, 1, 7, &buffer, &options, NULL)
                     : mdist_receive(replica, 0, 7, &buffer, &options, NULL);
}

static int32_t slow_step(mdist_replica_t *replica, void *values) {
    for (int by_message = 0; by_message < 2; ++by_message) {
        REQUIRE(move(replica, by_message, values, 0) == MDIST_OK); // the memory is there from here on
        REQUIRE(mdist_barrier(replica, NULL, NULL) == MDIST_OK);
        const uint64_t begin = now_ns();
        REQUIRE(move(replica, by_message, values, 0) == MDIST_OK);
        const uint64_t limit_ns = limit_of(now_ns() - begin);
        REQUIRE(mdist_barrier(replica, NULL, NULL) == MDIST_OK);
        const mdist_status_t status = move(replica, by_message, values, limit_ns);
        REQUIRE_UNLESS_LATE(status == MDIST_OK, status);
        REQUIRE(mdist_barrier(replica, NULL, NULL) == MDIST_OK);
    }
    return 0;
}

static void slow_bytes(void) {
    mdist_strategy_t *strategy = join();
    float *const values = calloc(SLOW_BYTES, 1);
    REQUIRE(values != NULL);
    GIVES(MDIST_OK, mdist_run(strategy, slow_step, values, NULL, &error));
    free(values);
    mdist_strategy_destroy(strategy);
}

// --- a whole call

static mdist_strategy_t *waiting;

/// The victim never comes. communication.timeout is long, so only the limit of a whole call can end the others' calls.
static int32_t endless_step(mdist_replica_t *replica, void *user_data) {
    const char *const way = user_data;
    mdist_error_t *error = NULL;
    mdist_status_t status;
    float number = 0;
    const mdist_buffer_t buffer = buffer_of(&number, MDIST_FLOAT32, 1);
    if (strcmp(way, "message") == 0) {
        status = mdist_receive(replica, first_replica_of[victim], 1, &buffer, NULL, &error);
    } else if (strcmp(way, "started") == 0) {
        mdist_work_t *work = NULL;
        int32_t done = 0;
        REQUIRE(start_barrier(replica, &work, NULL, NULL) == MDIST_OK);
        status = mdist_work_wait(work, MDIST_FOREVER, &done, &error);
        mdist_work_destroy(work);
    } else if (strcmp(way, "mate") == 0 && mdist_replica_local_index(replica) != 0) {
        while (mdist_strategy_check_health(waiting, NULL) == MDIST_OK) sched_yield();
        return 0;
    } else {
        status = mdist_barrier(replica, NULL, &error);
    }
    REQUIRE(status == MDIST_ERR_TIMEOUT);
    if (strcmp(way, "barrier") == 0) REQUIRE(mdist_error_rank(error) == victim);
    mdist_error_free(error);
    return 1;
}

static void endless_call(void) {
    waiting = join();
    if (rank == victim) {
        outlive_others();
        return;
    }
    mdist_error_t *error = NULL;
    char *const way = getenv("TEST_WAY");
    REQUIRE(mdist_run(waiting, endless_step, way, NULL, &error) == MDIST_ERR_TIMEOUT);
    REQUIRE(strstr(mdist_error_message(error), "communication.call_timeout") != NULL);
    mdist_error_free(error);
    mdist_strategy_destroy(waiting);
}

// --- the tests

#define SOON "MDIST_LOG_WAIT_AFTER=50ms"

static void check(const Workers *workers) {
    if (run_workers(workers) == 0) return;
    print_error("%s, %s\n", workers->scenario, workers->environment[2]);
    fail();
}

/// Runs the scenario once with shared memory, once with sockets.
static void check_links(const char *scenario) {
    static const char *const links[] = {"auto", "tcp"};
    for (int i = 0; i < 2; ++i) {
        char folder[] = "/tmp/mdist_waits_XXXXXX", path[64], line[80], link[64];
        assert_non_null(mkdtemp(folder));
        snprintf(path, sizeof path, "%s/told", folder);
        snprintf(line, sizeof line, "TEST_PIPE=%s", path);
        snprintf(link, sizeof link, "MDIST_COMMUNICATION_IMPLEMENTATION=%s", links[i]);
        assert_int_equal(mkfifo(path, 0600), 0);
        const char *const environment[] = {SOON, line, link, NULL};
        check(
            &(Workers){.scenario = scenario, .count = 2, .devices = "cpu*1", .environment = environment, .victim = 1});
        unlink(path);
        rmdir(folder);
    }
}

static void a_worker_that_comes_late_to_a_collective_is_named(void **unused) {
    (void)unused;
    check_links("late_in_a_collective");
}

static void a_worker_that_comes_late_to_the_job_is_named(void **unused) {
    (void)unused;
    check_links("late_in_joining");
}

static void a_store_that_cannot_be_reached_is_named(void **unused) {
    (void)unused;
    static const char *const environment[] = {SOON, "TEST_PIPE=/dev/null", NULL};
    const Workers job = {
        .scenario = "no_store", .count = 2, .devices = "cpu*1", .environment = environment, .store = "127.0.0.1:1"};
    assert_int_equal(run_workers_in_time(&job, "MDIST_COMMUNICATION_JOIN_TIMEOUT"), 0);
}

/// The limit is for the time without progress.
static void a_call_may_take_many_times_its_limit_while_bytes_move(void **unused) {
    (void)unused;
    static const char *const links[] = {"auto", "tcp"};
    for (int i = 0; i < 2; ++i) {
        char link[64];
        snprintf(link, sizeof link, "MDIST_COMMUNICATION_IMPLEMENTATION=%s", links[i]);
        const char *const environment[] = {link, NULL};
        const Workers job = {.scenario = "slow_bytes", .count = 2, .devices = "cpu*1", .environment = environment};
        assert_int_equal(run_workers_in_time(&job, "TEST_PARTS"), 0);
    }
}

static void a_call_may_have_a_limit_of_its_own(void **unused) {
    (void)unused;
    static const char *const ways[] = {"barrier", "started", "message", "mate"};
    for (int i = 0; i < 4; ++i) {
        char way[64];
        snprintf(way, sizeof way, "TEST_WAY=%s", ways[i]);
        const char *const environment[] = {way, NULL};
        const Workers job = {.scenario = "endless_call",
                             .count = 2,
                             .devices = i == 3 ? "cpu*2" : "cpu*1",
                             .environment = environment,
                             .victim = 1};
        assert_int_equal(run_workers_in_time(&job, "MDIST_COMMUNICATION_CALL_TIMEOUT"), 0);
    }
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_that_comes_late_to_a_collective_is_named),
        cmocka_unit_test(a_worker_that_comes_late_to_the_job_is_named),
        cmocka_unit_test(a_store_that_cannot_be_reached_is_named),
        cmocka_unit_test(a_call_may_take_many_times_its_limit_while_bytes_move),
        cmocka_unit_test(a_call_may_have_a_limit_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {
        {"late_in_a_collective", late_in_a_collective},
        {"late_in_joining", late_in_joining},
        {"no_store", no_store},
        {"slow_bytes", slow_bytes},
        {"endless_call", endless_call},
    };
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
