// SPDX-License-Identifier: Apache-2.0
// Works in an event loop. A work's descriptor is readable when mdist_work_test can make progress or has a result. One
// thread that only polls and tests can complete every operation.
#include "started.h"
#include "step_support.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LONG = 40000, DEPTH = 5, PATIENCE_MS = 20000 };

static float numbers[MOST_ENTERED][DEPTH][LONG];

static mdist_status_t start(mdist_replica_t *replica, uint32_t r, int at, uint64_t elements, mdist_work_t **work,
                            mdist_error_t **error) {
    const mdist_buffer_t buffer = buffer_of(numbers[r][at], MDIST_FLOAT32, elements);
    for (uint64_t i = 0; i < elements; ++i) numbers[r][at][i] = (float)(r + 1);
    return start_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, work, NULL, error);
}

static int descriptor_of(mdist_work_t *work) {
    mdist_error_t *error = NULL;
    int32_t descriptor = -1;
    OK(mdist_work_descriptor(work, &descriptor, &error));
    assert_true(descriptor >= 0);
    assert_int_equal(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    return descriptor;
}

static int is_readable(int descriptor, int timeout_ms) {
    struct pollfd self = {.fd = descriptor, .events = POLLIN};
    int ready;
    while ((ready = poll(&self, 1, timeout_ms)) < 0 && errno == EINTR) {
    }
    return ready == 1 && self.revents == POLLIN;
}

/// Polls and tests like an event loop, until the work is done or fails. Returns the last status.
static mdist_status_t poll_until_over(int descriptor, mdist_work_t *work) {
    for (;;) {
        int32_t done = 0;
        if (!is_readable(descriptor, PATIENCE_MS)) return MDIST_ERR_INTERNAL;
        const mdist_status_t status = mdist_work_test(work, &done, NULL);
        if (status != MDIST_OK || done) return status;
    }
}

static const uint64_t sizes[] = {1, 3000, LONG};

static void it_is_readable_when_all_have_come(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    for (int s = 0; s < 3; ++s) {
        for (int asked = 0; asked < 2; ++asked) { // polls before any test, or after one
            Entered run;
            int32_t done = -1;
            mdist_work_t *work = NULL, *other = NULL;
            begin_and_enter(&run, strategy);
            OK(start(run.replicas[0], 0, 0, sizes[s], &work, &error));
            const int descriptor = descriptor_of(work), twin = descriptor_of(work);
            if (asked) OK(mdist_work_test(work, &done, &error));
            assert_false(is_readable(descriptor, 0));
            assert_false(is_readable(twin, 0));
            OK(start(run.replicas[1], 1, 0, sizes[s], &other, &error));
            assert_int_equal(poll_until_over(descriptor, work), MDIST_OK);
            assert_true(is_readable(twin, PATIENCE_MS));
            assert_true(numbers[0][0][0] == 3 && numbers[0][0][sizes[s] - 1] == 3);
            const int late = descriptor_of(other);
            assert_int_equal(poll_until_over(late, other), MDIST_OK);
            assert_true(numbers[1][0][sizes[s] - 1] == 3);
            mdist_work_destroy(work);
            mdist_work_destroy(other);
            assert_true(is_readable(descriptor, PATIENCE_MS)); // stays readable
            close(descriptor);
            assert_true(is_readable(twin, PATIENCE_MS));
            close(twin);
            close(late);
            exit_all(&run);
            end_with(strategy, MDIST_OK, "");
        }
    }
    mdist_strategy_destroy(strategy);
}

static void a_single_replica_has_something_to_do_at_once(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    for (int s = 0; s < 3; ++s) {
        Entered run;
        mdist_work_t *works[DEPTH];
        begin_and_enter(&run, strategy);
        for (int at = 0; at < DEPTH; ++at) OK(start(run.replicas[0], 0, at, sizes[s], &works[at], &error));
        for (int at = 0; at < DEPTH; ++at) {
            const int descriptor = descriptor_of(works[at]);
            assert_int_equal(poll_until_over(descriptor, works[at]), MDIST_OK);
            close(descriptor);
            mdist_work_destroy(works[at]);
        }
        exit_all(&run);
        end_with(strategy, MDIST_OK, "");
    }
    mdist_strategy_destroy(strategy);
}

/// After the start, makes a call only when epoll reports a descriptor.
static void one_thread_brings_everything_to_its_end(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (uint32_t n = 2; n <= 4; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        for (int order = 0; order < 6; ++order) {
            Entered run;
            mdist_work_t *works[MOST_ENTERED][DEPTH];
            int descriptors[MOST_ENTERED][DEPTH], left = 0;
            const int loop = epoll_create1(EPOLL_CLOEXEC);
            begin_and_enter(&run, strategy);
            for (uint32_t i = 0; i < n * DEPTH; ++i) {
                const uint32_t r = order % 2 == 0 ? i % n : i / DEPTH; // interleaved, or one replica after another
                const int at = (int)(order % 2 == 0 ? i / n : i % DEPTH);
                OK(start(run.replicas[r], r, at, sizes[(at + order) % 3], &works[r][at], &error));
                struct epoll_event event = {.events = EPOLLIN, .data.u32 = r * DEPTH + (uint32_t)at};
                descriptors[r][at] = descriptor_of(works[r][at]);
                assert_int_equal(epoll_ctl(loop, EPOLL_CTL_ADD, descriptors[r][at], &event), 0);
                ++left;
            }
            while (left > 0) {
                struct epoll_event event;
                int32_t done = 0;
                const int ready = epoll_wait(loop, &event, 1, PATIENCE_MS);
                if (ready < 0 && errno == EINTR) continue;
                assert_int_equal(ready, 1);
                const uint32_t r = event.data.u32 / DEPTH, at = event.data.u32 % DEPTH;
                OK(mdist_work_test(works[r][at], &done, &error));
                if (!done) continue;
                assert_int_equal(epoll_ctl(loop, EPOLL_CTL_DEL, descriptors[r][at], NULL), 0);
                assert_true(numbers[r][at][0] == (float)(n * (n + 1) / 2));
                mdist_work_destroy(works[r][at]);
                close(descriptors[r][at]);
                --left;
            }
            close(loop);
            exit_all(&run);
            end_with(strategy, MDIST_OK, "");
        }
        mdist_strategy_destroy(strategy);
    }
}

/// Polls on each replica's own thread, like one event loop per core.
static int32_t poll_in_step(mdist_replica_t *replica, void *user_data) {
    const uint32_t r = mdist_replica_id(replica), n = (uint32_t)mdist_replica_count(replica);
    const int round = *(const int *)user_data;
    mdist_work_t *works[DEPTH];
    int32_t descriptors[DEPTH];
    for (int at = 0; at < DEPTH; ++at)
        if (start(replica, r, at, sizes[(at + round) % 3], &works[at], NULL) != MDIST_OK ||
            mdist_work_descriptor(works[at], &descriptors[at], NULL) != MDIST_OK)
            return 1;
    int wrong = 0;
    for (int i = 0; i < DEPTH; ++i) {
        const int at = (i * 2 + round) % DEPTH;
        wrong += poll_until_over(descriptors[at], works[at]) != MDIST_OK;
        wrong += numbers[r][at][0] != (float)(n * (n + 1) / 2);
        mdist_work_destroy(works[at]);
        close(descriptors[at]);
    }
    return wrong;
}

static void threads_may_poll_too(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    for (int round = 0; round < 100; ++round) OK(mdist_run(strategy, poll_in_step, &round, NULL, &error));
    mdist_strategy_destroy(strategy);
}

// ---- Failures.

enum Fault { ABORT, DESTROY_STRATEGY, MISMATCH, LEAVE, LEAVE_BADLY, DESTROY_WORK, TIMEOUT, FAULTS };

static void every_failure_is_told(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (enum Fault fault = ABORT; fault < FAULTS; ++fault) {
        for (int queued = 0; queued < 2; ++queued) { // the polled one is not the first in its queue
            const mdist_call_options_t soon = {.struct_size = sizeof soon, .timeout_ns = 30000000};
            mdist_strategy_t *strategy = make_strategy(3, NULL);
            Entered run;
            mdist_work_t *works[2] = {NULL, NULL}, *other = NULL;
            begin_and_enter(&run, strategy);
            for (int i = queued ? 0 : 1; i < 2; ++i)
                OK(start_barrier(run.replicas[0], &works[i], fault == TIMEOUT ? &soon : NULL, &error));
            const int descriptor = descriptor_of(works[1]);
            assert_false(is_readable(descriptor, 0) && fault != TIMEOUT);
            mdist_status_t wanted = MDIST_ERR_ABORTED;
            switch (fault) {
                case ABORT:
                    mdist_strategy_abort(strategy);
                    break;
                case DESTROY_STRATEGY:
                    mdist_strategy_destroy(strategy);
                    break;
                case MISMATCH:
                    OK(start(run.replicas[1], 1, 0, 1, &other, &error));
                    FAILS(MDIST_ERR_MISMATCH, mdist_barrier(run.replicas[2], NULL, &error));
                    wanted = queued ? MDIST_ERR_ABORTED : MDIST_ERR_MISMATCH;
                    break;
                case LEAVE:
                    OK(mdist_replica_exit(run.replicas[1], 0, &error));
                    wanted = queued ? MDIST_ERR_ABORTED : MDIST_ERR_MISMATCH;
                    break;
                case LEAVE_BADLY:
                    OK(mdist_replica_exit(run.replicas[1], 5, &error));
                    break;
                case DESTROY_WORK:
                    OK(start_barrier(run.replicas[1], &other, NULL, &error));
                    mdist_work_destroy(other);
                    other = NULL;
                    break;
                default:
                    wanted = queued ? MDIST_ERR_ABORTED : MDIST_ERR_TIMEOUT;
            }
            assert_int_equal(poll_until_over(descriptor, works[1]), wanted);
            mdist_work_destroy(other);
            for (int i = 0; i < 2; ++i) mdist_work_destroy(works[i]);
            assert_true(is_readable(descriptor, PATIENCE_MS));
            close(descriptor);
            for (uint32_t r = 0; r < 3; ++r) (void)mdist_replica_exit(run.replicas[r], 0, NULL);
            (void)mdist_run_end(strategy, NULL, 0, NULL);
            mdist_strategy_destroy(strategy);
        }
    }
}

typedef struct Polling {
    int descriptor, was_readable;
} Polling;

static void *poll_elsewhere(void *argument) {
    Polling *self = argument;
    self->was_readable = is_readable(self->descriptor, PATIENCE_MS);
    return NULL;
}

static void destroying_a_work_wakes_who_polls(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    for (int i = 0; i < 20; ++i) {
        Entered run;
        mdist_work_t *work = NULL;
        pthread_t thread;
        begin_and_enter(&run, strategy);
        OK(start_barrier(run.replicas[0], &work, NULL, &error));
        Polling polling = {.descriptor = descriptor_of(work)};
        assert_int_equal(pthread_create(&thread, NULL, poll_elsewhere, &polling), 0);
        mdist_work_destroy(work);
        pthread_join(thread, NULL);
        assert_true(polling.was_readable);
        close(polling.descriptor);
        exit_all(&run);
        end_with(strategy, MDIST_ERR_ABORTED, "work_destroyed");
    }
    mdist_strategy_destroy(strategy);
}

static void bad_calls_are_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    Entered run;
    int32_t descriptor = -7, done = 0;
    mdist_work_t *work = NULL;
    struct rlimit before, none;
    begin_and_enter(&run, strategy);
    OK(start_barrier(run.replicas[0], &work, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_work_descriptor(work, NULL, &error));
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    const mdist_status_t status = mdist_work_descriptor(work, &descriptor, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(status, MDIST_ERR_RESOURCE);
    assert_int_equal(mdist_error_native(error), EMFILE);
    mdist_error_free(error);
    error = NULL;
    assert_int_equal(descriptor, -7);
    OK(mdist_work_wait(work, MDIST_FOREVER, &done, &error)); // the failed call has not changed the work
    assert_int_equal(done, 1);
    mdist_work_destroy(work);
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_work_descriptor(work, &descriptor, &error));
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_work_descriptor(NULL, &descriptor, &error));
    exit_all(&run);
    end_with(strategy, MDIST_OK, "");
    mdist_strategy_destroy(strategy);
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_readable_when_all_have_come),
        cmocka_unit_test(a_single_replica_has_something_to_do_at_once),
        cmocka_unit_test(one_thread_brings_everything_to_its_end),
        cmocka_unit_test(threads_may_poll_too),
        cmocka_unit_test(every_failure_is_told),
        cmocka_unit_test(destroying_a_work_wakes_who_polls),
        cmocka_unit_test(bad_calls_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
