// SPDX-License-Identifier: Apache-2.0
// Messages within one process: matching, rings, and both forms. Where no call waits for another replica, one thread
// acts for all replicas, which makes the tests deterministic.
#include "collective_support.h"
#include "step_support.h"
#include "time_limits.h"

#include <poll.h>
#include <stdatomic.h>
#include <unistd.h>

enum { SMALL = 4096 / 4, LARGE = 300000, MOST = 4, MANY = 10000 };

static const mdist_call_options_t patient = {.struct_size = sizeof patient, .timeout_ns = LONG_ENOUGH_MS * 1000000ull};

static float large[MOST][LARGE];

static mdist_buffer_t floats(float *data, uint64_t elements) {
    return buffer_of(data, MDIST_FLOAT32, elements);
}

// ---- Matching, by one thread

static void tags_may_come_in_any_order_and_equal_ones_keep_theirs(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    Entered run;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    begin_and_enter(&run, strategy);
    for (int i = 0; i < 8; ++i) {
        const float x = (float)i;
        const mdist_buffer_t buffer = floats((float *)&x, 1);
        OK(mdist_send(run.replicas[0], 1, i % 2 ? UINT64_MAX : 0, &buffer, NULL, &error)); // the library keeps it
        OK(mdist_send(run.replicas[2], 1, 0, &buffer, NULL, &error));
    }
    static const int order[] = {1, 3, 0, 2, 5, 7, 4, 6};
    for (int i = 0; i < 8; ++i) {
        float x = -1;
        const mdist_buffer_t buffer = floats(&x, 1);
        OK(mdist_receive(run.replicas[1], 0, order[i] % 2 ? UINT64_MAX : 0, &buffer, NULL, &error));
        assert_true(x == (float)order[i]);
        OK(mdist_receive(run.replicas[1], 2, 0, &buffer, NULL, &error));
        assert_true(x == (float)i);
    }
    exit_all(&run);
    end_with(strategy, MDIST_OK, "");
    mdist_strategy_destroy(strategy);
}

static void either_side_may_start_first(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    static const uint64_t sizes[] = {0, 1, SMALL, SMALL + 1, LARGE};
    for (int which = 0; which < 5; ++which) {
        for (int first = 0; first < 2; ++first) { // 0: the receive
            for (int to = 0; to < 2; ++to) {      // 0: to itself
                Entered run;
                mdist_work_t *work = NULL;
                int32_t done = -1;
                const uint64_t n = sizes[which];
                for (uint64_t i = 0; i < LARGE; ++i) large[0][i] = (float)i, large[1][i] = -1;
                const mdist_buffer_t mine = floats(large[0], n), theirs = floats(large[1], n);
                begin_and_enter(&run, strategy);
                if (first == 0) {
                    OK(mdist_receive_start(run.replicas[to], 0, 5, &theirs, &work, NULL, &error));
                    OK(mdist_work_test(work, &done, &error));
                    assert_int_equal(done, 0);
                    OK(mdist_send(run.replicas[0], (uint32_t)to, 5, &mine, NULL, &error));
                } else {
                    OK(mdist_send_start(run.replicas[0], (uint32_t)to, 5, &mine, &work, NULL, &error));
                    OK(mdist_work_test(work, &done, &error));
                    assert_int_equal(done, n <= SMALL); // kept by the library
                    if (done) large[0][0] = 77;         // so the buffer is free
                    OK(mdist_receive(run.replicas[to], 0, 5, &theirs, NULL, &error));
                }
                OK(mdist_work_wait(work, MDIST_FOREVER, &done, &error));
                assert_int_equal(done, 1);
                mdist_work_destroy(work);
                for (uint64_t i = 0; i < n; ++i) assert_true(large[1][i] == (float)i);
                assert_true(n == LARGE || large[1][n] == -1);
                exit_all(&run);
                end_with(strategy, MDIST_OK, "");
            }
        }
    }
    mdist_strategy_destroy(strategy);
}

static void sixteen_small_messages_wait_for_their_receiver(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    Entered run;
    float x[SMALL] = {0};
    const mdist_buffer_t buffer = floats(x, SMALL);
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    begin_and_enter(&run, strategy);
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 16; ++i) OK(mdist_send(run.replicas[0], 1, 0, &buffer, &patient, &error));
        for (int i = 0; i < 16; ++i) OK(mdist_receive(run.replicas[1], 0, 0, &buffer, NULL, &error));
    }
    exit_all(&run);
    end_with(strategy, MDIST_OK, "");
    mdist_strategy_destroy(strategy);
}

static void a_descriptor_tells_when_a_message_is_there(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    Entered run;
    mdist_work_t *work = NULL;
    int32_t descriptor = -1, done = -1;
    float x = 3, y = 0;
    const mdist_buffer_t mine = floats(&x, 1), theirs = floats(&y, 1);
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    begin_and_enter(&run, strategy);
    OK(mdist_receive_start(run.replicas[1], 0, 0, &theirs, &work, NULL, &error));
    OK(mdist_work_descriptor(work, &descriptor, &error));
    struct pollfd poller = {.fd = descriptor, .events = POLLIN};
    assert_int_equal(poll(&poller, 1, 0), 0);
    OK(mdist_send(run.replicas[0], 1, 0, &mine, NULL, &error));
    assert_int_equal(poll(&poller, 1, 0), 1);
    OK(mdist_work_test(work, &done, &error));
    assert_true(done == 1 && y == 3);
    mdist_work_destroy(work);
    close(descriptor);
    exit_all(&run);
    end_with(strategy, MDIST_OK, "");
    mdist_strategy_destroy(strategy);
}

// ---- Threads

static atomic_int wrong;

static int32_t ring(mdist_replica_t *replica, void *user_data) {
    const uint64_t elements = *(const uint64_t *)user_data;
    const uint32_t n = (uint32_t)mdist_replica_count(replica), id = mdist_replica_id(replica);
    float *const mine = large[id], *const theirs = malloc(LARGE * sizeof *theirs);
    int32_t done = 0;
    if (theirs == NULL) return 1;
    for (uint64_t i = 0; i < elements; ++i) mine[i] = (float)(id * 1000 + i % 999);
    const mdist_buffer_t out = floats(mine, elements), in = floats(theirs, elements);
    for (uint32_t trip = 0; trip < 2 * n; ++trip) {
        mdist_work_t *work = NULL;
        if (mdist_send_start(replica, (id + 1) % n, trip, &out, &work, NULL, NULL) != MDIST_OK) ++wrong;
        if (mdist_receive(replica, (id + n - 1) % n, trip, &in, NULL, NULL) != MDIST_OK) ++wrong;
        if (mdist_work_wait(work, MDIST_FOREVER, &done, NULL) != MDIST_OK || done != 1) ++wrong;
        mdist_work_destroy(work);
        memcpy(mine, theirs, elements * sizeof *mine);
        if (trip % 3 == 0 && mdist_barrier(replica, NULL, NULL) != MDIST_OK) ++wrong;
    }
    for (uint64_t i = 0; i < elements; ++i) // twice around
        if (mine[i] != (float)(id * 1000 + i % 999)) ++wrong;
    free(theirs);
    return 0;
}

static void a_ring_goes_around(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    static const uint64_t sizes[] = {1, SMALL, SMALL + 1, LARGE};
    for (uint32_t n = 1; n <= MOST; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        for (int i = 0; i < 4; ++i) {
            OK(mdist_run(strategy, ring, (void *)&sizes[i], NULL, &error));
            OK(run_own(strategy, ring, (void *)&sizes[i], NULL, &error));
        }
        mdist_strategy_destroy(strategy);
    }
    assert_int_equal(wrong, 0);
}

/// A send is open while its replica takes part in collectives.
static int32_t beside_collectives(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    const uint32_t id = mdist_replica_id(replica);
    const mdist_buffer_t buffer = floats(large[id], LARGE);
    mdist_work_t *work = NULL;
    int32_t done = 0;
    if (id == 0 && mdist_send_start(replica, 1, 0, &buffer, &work, NULL, NULL) != MDIST_OK) ++wrong;
    for (int i = 0; i < 20; ++i)
        if (sum_of_ones(replica, NULL) != 0) ++wrong;
    if (id == 1 && mdist_receive(replica, 0, 0, &buffer, NULL, NULL) != MDIST_OK) ++wrong;
    if (sum_of_ones(replica, NULL) != 0) ++wrong;
    if (work != NULL && (mdist_work_wait(work, MDIST_FOREVER, &done, NULL) != MDIST_OK || !done)) ++wrong;
    mdist_work_destroy(work);
    return 0;
}

static void collectives_go_on_beside_a_message(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    for (int i = 0; i < LARGE; ++i) large[0][i] = (float)i, large[1][i] = -1;
    OK(mdist_run(strategy, beside_collectives, NULL, NULL, &error));
    assert_int_equal(wrong, 0);
    for (int i = 0; i < LARGE; ++i) assert_true(large[1][i] == (float)i);
    mdist_strategy_destroy(strategy);
}

static int32_t many(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    const uint32_t id = mdist_replica_id(replica);
    for (int i = 0; i < MANY; ++i) {
        float x = (float)i;
        const mdist_buffer_t buffer = floats(&x, 1);
        const mdist_status_t status = id == 0 ? mdist_send(replica, 1, (uint64_t)i % 3, &buffer, NULL, NULL)
                                              : mdist_receive(replica, 0, (uint64_t)i % 3, &buffer, NULL, NULL);
        if (status != MDIST_OK || x != (float)i) ++wrong;
    }
    return 0;
}

static long descriptors(void) {
    long count = 0;
    for (int i = 0; i < 1024; ++i) {
        struct pollfd one = {.fd = i};
        if (poll(&one, 1, 0) >= 0 && (one.revents & POLLNVAL) == 0) ++count;
    }
    return count;
}

static void many_messages_leave_nothing(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    OK(mdist_run(strategy, many, NULL, NULL, &error));
    const long before = descriptors();
    OK(mdist_run(strategy, many, NULL, NULL, &error));
    assert_int_equal(descriptors(), before);
    assert_int_equal(wrong, 0);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_may_come_in_any_order_and_equal_ones_keep_theirs),
        cmocka_unit_test(either_side_may_start_first),
        cmocka_unit_test(sixteen_small_messages_wait_for_their_receiver),
        cmocka_unit_test(a_descriptor_tells_when_a_message_is_there),
        cmocka_unit_test(a_ring_goes_around),
        cmocka_unit_test(collectives_go_on_beside_a_message),
        cmocka_unit_test(many_messages_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
