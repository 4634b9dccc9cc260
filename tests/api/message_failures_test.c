// SPDX-License-Identifier: Apache-2.0
// Messages within one process: every way to fail. Where no call waits for another replica, one thread acts for all
// replicas, which makes the tests deterministic.
#include "collective_support.h"
#include "step_support.h"
#include "time_limits.h"

#include <stdatomic.h>

enum { SMALL = 4096 / 4, LARGE = 300000, MOST = 4 };

static float large[MOST][LARGE];

static mdist_buffer_t floats(float *data, uint64_t elements) {
    return buffer_of(data, MDIST_FLOAT32, elements);
}

// ---- Failures, by one thread

static void both_sides_of_a_mismatch_are_named(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    for (int first = 0; first < 2; ++first) {
        for (int what = 0; what < 2; ++what) {
            Entered run;
            mdist_work_t *work = NULL;
            int32_t done = 0;
            for (int i = 0; i < LARGE; ++i) large[1][i] = -1;
            const mdist_buffer_t mine = floats(large[0], 2000);
            const mdist_buffer_t theirs = buffer_of(large[1], what ? MDIST_INT32 : MDIST_FLOAT32, what ? 2000 : 2001);
            const char *const words = what ? "replica 0 sends 2000 float32 to replica 1 with tag 7, but replica 1 "
                                             "receives 2000 int32 there"
                                           : "replica 0 sends 2000 float32 to replica 1 with tag 7, but replica 1 "
                                             "receives 2001 float32 there";
            begin_and_enter(&run, strategy);
            const mdist_status_t begun = first
                                             ? mdist_send_start(run.replicas[0], 1, 7, &mine, &work, NULL, &error)
                                             : mdist_receive_start(run.replicas[1], 0, 7, &theirs, &work, NULL, &error);
            assert_int_equal(begun, MDIST_OK);
            const mdist_status_t status = first ? mdist_receive(run.replicas[1], 0, 7, &theirs, NULL, &error)
                                                : mdist_send(run.replicas[0], 1, 7, &mine, NULL, &error);
            expect_status(MDIST_ERR_MISMATCH, status, error, "the second side", __FILE__, __LINE__);
            WORDS(error, words);
            mdist_error_free(error);
            error = NULL;
            const mdist_status_t other = mdist_work_wait(work, MDIST_FOREVER, &done, &error);
            expect_status(MDIST_ERR_MISMATCH, other, error, "the first side", __FILE__, __LINE__);
            WORDS(error, words);
            mdist_error_free(error);
            mdist_work_destroy(work);
            assert_true(large[1][0] == -1 && large[1][1999] == -1);
            exit_all(&run);
            end_with(strategy, MDIST_ERR_MISMATCH, "different_calls");
            expect_runs(strategy);
        }
    }
    mdist_strategy_destroy(strategy);
}

static void who_leaves_its_step_is_not_waited_for(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    float x = 0;
    const mdist_buffer_t one = floats(&x, 1), many = floats(large[0], LARGE);
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    for (int how = 0; how < 4; ++how) {
        Entered run;
        mdist_work_t *work = NULL;
        int32_t done = 0;
        begin_and_enter(&run, strategy);
        if (how == 0) { // a receive waits, and its sender leaves
            OK(mdist_receive_start(run.replicas[0], 1, 0, &one, &work, NULL, &error));
            OK(mdist_replica_exit(run.replicas[1], 0, &error));
            REASON(MDIST_ERR_MISMATCH, mdist_work_wait(work, MDIST_FOREVER, &done, error_out), "step_returned");
        } else if (how == 1) { // the sender has left
            OK(mdist_replica_exit(run.replicas[1], 0, &error));
            REASON(MDIST_ERR_MISMATCH, mdist_receive(run.replicas[0], 1, 0, &one, NULL, error_out), "step_returned");
        } else if (how == 2) { // a send waits, and its receiver leaves
            OK(mdist_send_start(run.replicas[0], 1, 0, &many, &work, NULL, &error));
            OK(mdist_replica_exit(run.replicas[1], 0, &error));
            REASON(MDIST_ERR_MISMATCH, mdist_work_wait(work, MDIST_FOREVER, &done, error_out), "step_returned");
        } else { // a small message was sent, and nobody has received it
            OK(mdist_send(run.replicas[0], 1, 0, &one, NULL, &error));
            OK(mdist_replica_exit(run.replicas[1], 0, &error));
        }
        mdist_work_destroy(work);
        OK(mdist_replica_exit(run.replicas[0], 0, &error));
        const mdist_status_t status = mdist_run_end(strategy, NULL, 0, &error);
        expect_status(MDIST_ERR_MISMATCH, status, error, "mdist_run_end", __FILE__, __LINE__);
        WORDS(error, how < 2 ? "replica 1 returned from its step without sending what replica 0 waits to receive"
                             : "replica 1 returned from its step without receiving what replica 0 sends to it (tag 0");
        mdist_error_free(error);
        expect_runs(strategy);
        // Nothing of the failed run is left.
        begin_and_enter(&run, strategy);
        x = 5;
        OK(mdist_receive_start(run.replicas[1], 0, 0, &one, &work, NULL, &error));
        OK(mdist_work_test(work, &done, &error));
        assert_int_equal(done, 0);
        OK(mdist_send(run.replicas[0], 1, 0, &one, NULL, &error));
        OK(mdist_work_test(work, &done, &error));
        assert_int_equal(done, 1);
        mdist_work_destroy(work);
        exit_all(&run);
        end_with(strategy, MDIST_OK, "");
    }
    mdist_strategy_destroy(strategy);
}

static void started_messages_must_be_waited_for(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    float x = 0;
    const mdist_buffer_t one = floats(&x, 1);
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    for (int destroyed = 0; destroyed < 2; ++destroyed) {
        Entered run;
        mdist_work_t *work = NULL;
        int32_t done = 0;
        begin_and_enter(&run, strategy);
        OK(mdist_receive_start(run.replicas[0], 1, 0, &one, &work, NULL, &error));
        if (destroyed) {
            mdist_work_destroy(work);
            FAILS(MDIST_ERR_ABORTED, mdist_send(run.replicas[1], 0, 0, &one, NULL, &error));
            exit_all(&run);
            end_with(strategy, MDIST_ERR_ABORTED, "work_destroyed");
        } else {
            REASON(MDIST_ERR_FAILED_PRECONDITION, mdist_replica_exit(run.replicas[0], 0, error_out), "work_under_way");
            FAILS(MDIST_ERR_FAILED_PRECONDITION, mdist_work_test(work, &done, &error));
            OK(mdist_replica_exit(run.replicas[1], 0, &error));
            end_with(strategy, MDIST_ERR_FAILED_PRECONDITION, "work_under_way");
            mdist_work_destroy(work);
        }
        expect_runs(strategy);
    }
    Entered run;
    static mdist_work_t *works[1025];
    begin_and_enter(&run, strategy);
    for (int i = 0; i < 1024; ++i)
        OK(mdist_receive_start(run.replicas[0], 1, (uint64_t)i, &one, &works[i], NULL, &error));
    REASON(MDIST_ERR_RESOURCE, mdist_receive_start(run.replicas[0], 1, 0, &one, &works[1024], NULL, error_out),
           "too_many_works");
    for (int i = 0; i < 1024; ++i) mdist_work_destroy(works[i]);
    exit_all(&run);
    end_with(strategy, MDIST_ERR_RESOURCE, "too_many_works");
    expect_runs(strategy);
    mdist_strategy_destroy(strategy);
}

static void bad_arguments_are_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    float x = 0;
    const mdist_buffer_t good = floats(&x, 1), typeless = buffer_of(&x, (mdist_dtype_t)99, 1),
                         nowhere = floats(NULL, 1);
    const mdist_call_options_t packs = {.struct_size = sizeof packs, .bytes_per_pack = 1};
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    for (int what = 0; what < 6; ++what) {
        Entered run;
        mdist_work_t *work = NULL;
        begin_and_enter(&run, strategy);
        mdist_replica_t *const replica = run.replicas[0];
        if (what == 0) FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_send(replica, 2, 0, &good, NULL, &error));
        if (what == 1) FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_receive(replica, MDIST_NONE, 0, &good, NULL, &error));
        if (what == 2) FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_send(replica, 1, 0, &typeless, NULL, &error));
        if (what == 3) FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_receive(replica, 1, 0, &nowhere, NULL, &error));
        if (what == 4) FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_send_start(replica, 1, 0, NULL, &work, NULL, &error));
        if (what == 5) FAILS(MDIST_ERR_UNSUPPORTED, mdist_send(replica, 1, 0, &good, &packs, &error));
        assert_null(work);
        exit_all(&run);
        FAILS(what == 5 ? MDIST_ERR_UNSUPPORTED : MDIST_ERR_INVALID_ARGUMENT, mdist_run_end(strategy, NULL, 0, &error));
    }
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_send(NULL, 0, 0, &good, NULL, &error));
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_receive((mdist_replica_t *)strategy, 0, 0, &good, NULL, &error));
    mdist_strategy_destroy(strategy);
}

// ---- Threads

static atomic_int wrong;

typedef struct Circle {
    int sends;
    mdist_call_options_t soon;
} Circle;

/// Replica i waits for replica i + 1, in a circle; with 4 replicas the last one waits in a barrier.
static int32_t wait_in_a_circle(mdist_replica_t *replica, void *user_data) {
    const Circle *const self = user_data;
    const uint32_t n = (uint32_t)mdist_replica_count(replica), id = mdist_replica_id(replica);
    const mdist_buffer_t buffer = floats(large[id], LARGE);
    if (n == 4 && id == 3) return mdist_barrier(replica, NULL, NULL) == MDIST_OK;
    const uint32_t next = (id + 1) % n;
    const mdist_status_t status = self->sends ? mdist_send(replica, next, 3 + id, &buffer, &self->soon, NULL)
                                              : mdist_receive(replica, next, 3 + id, &buffer, &self->soon, NULL);
    if (status != MDIST_ERR_TIMEOUT) ++wrong;
    return 0;
}

/// Returns how many waits of `n` replicas the error names. Whichever replica was first, a circle is the same one, cut
/// elsewhere.
static uint32_t waits_named(const mdist_error_t *error, uint32_t n, int sends) {
    uint32_t named = 0;
    for (uint32_t id = 0; id < n && id < 3; ++id) {
        char link[64];
        snprintf(link, sizeof link, "waits to %s %u (tag %u)", sends ? "send to" : "receive from",
                 (unsigned)((id + 1) % n), (unsigned)(3 + id));
        named += strstr(mdist_error_message(error), link) != NULL;
    }
    return named;
}

/// How many waits there are from the replica that gave up first. In a line of 4, which ends in a barrier, it may be
/// any.
static uint32_t waits_from_first(const mdist_error_t *error, uint32_t n) {
    unsigned first = 0;
    const char *const begin = strstr(mdist_error_message(error), "replica ");
    if (begin == NULL || sscanf(begin, "replica %u waited", &first) != 1 || first >= 3) return UINT32_MAX;
    return n < 4 ? n : 3 - first;
}

static void a_timeout_says_who_waits_for_whom(void **state) {
    (void)state;
    static const char *const ends[] = {"", "replica 0 waits to receive from 0 (tag 3). So it waits for itself", "", "",
                                       "waits to receive from 3 (tag 5), which waits in mdist_barrier"};
    for (int sends = 0; sends < 2; ++sends) {
        for (uint32_t n = sends ? 2 : 1; n <= (sends ? 2 : 4); ++n) {
            Tries tries = {.what = sends ? "a circle of sends" : "a circle of receives", .limit_ms = 200};
            while (another_try(&tries)) {
                mdist_error_t *error = NULL;
                mdist_strategy_t *strategy = make_strategy(n, NULL);
                Circle circle = {.sends = sends, .soon = {.struct_size = sizeof circle.soon}};
                circle.soon.timeout_ns = tries.limit_ms * 1000000;
                const mdist_status_t status = mdist_run(strategy, wait_in_a_circle, &circle, NULL, &error);
                expect_status(MDIST_ERR_TIMEOUT, status, error, "mdist_run", __FILE__, __LINE__);
                assert_string_equal(mdist_error_operation(error), sends ? "mdist_send" : "mdist_receive");
                // Those that had not begun to wait, when the first one gave up, are not named.
                tries.late = waits_named(error, n, sends) < waits_from_first(error, n) ||
                             strstr(mdist_error_message(error), ends[n]) == NULL;
                if (tries.late) print_message("# %s\n", mdist_error_message(error));
                mdist_error_free(error);
                mdist_strategy_destroy(strategy);
            }
            assert_false(tries.late);
        }
    }
    assert_int_equal(wrong, 0);
}

/// Replica 0 gives up soon, long before replica 1 would tell others that it waits.
static int32_t wait_for_each_other(mdist_replica_t *replica, void *user_data) {
    const uint32_t id = mdist_replica_id(replica);
    float x = 0;
    const mdist_buffer_t buffer = floats(&x, 1);
    const mdist_call_options_t *const options = id == 0 ? user_data : NULL;
    if (mdist_receive(replica, 1 - id, 3 + id, &buffer, options, NULL) == MDIST_OK) ++wrong;
    return 0;
}

static void a_timeout_names_a_wait_that_has_just_begun(void **state) {
    (void)state;
    Tries tries = {.what = "a wait that has just begun", .limit_ms = 20};
    while (another_try(&tries)) {
        mdist_error_t *error = NULL;
        mdist_call_options_t soon = {.struct_size = sizeof soon, .timeout_ns = tries.limit_ms * 1000000};
        mdist_strategy_t *strategy = make_strategy(2, NULL);
        const mdist_status_t status = mdist_run(strategy, wait_for_each_other, &soon, NULL, &error);
        expect_status(MDIST_ERR_TIMEOUT, status, error, "mdist_run", __FILE__, __LINE__);
        tries.late = strstr(mdist_error_message(error),
                            "replica 0 waits to receive from 1 (tag 3), which waits to "
                            "receive from 0 (tag 4). So each waits for the other") == NULL;
        mdist_error_free(error);
        mdist_strategy_destroy(strategy);
    }
    assert_false(tries.late);
    assert_int_equal(wrong, 0);
}

static int32_t fail_or_wait(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    float x = 0;
    const mdist_buffer_t buffer = floats(&x, 1);
    if (mdist_replica_id(replica) == 1) return 42;
    if (mdist_receive(replica, 1, 0, &buffer, NULL, NULL) != MDIST_ERR_ABORTED) ++wrong;
    return 0;
}

static void a_failed_step_releases_who_waits(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    for (int i = 0; i < 5000; ++i) // some receives begin just as the step fails
        FAILS(MDIST_ERR_CALLBACK, mdist_run(strategy, fail_or_wait, NULL, NULL, &error));
    assert_int_equal(wrong, 0);
    expect_runs(strategy);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_sides_of_a_mismatch_are_named),
        cmocka_unit_test(who_leaves_its_step_is_not_waited_for),
        cmocka_unit_test(started_messages_must_be_waited_for),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(a_timeout_says_who_waits_for_whom),
        cmocka_unit_test(a_timeout_names_a_wait_that_has_just_begun),
        cmocka_unit_test(a_failed_step_releases_who_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
