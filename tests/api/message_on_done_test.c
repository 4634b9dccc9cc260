// SPDX-License-Identifier: Apache-2.0
// Functions that are called when a started message is over: exactly once, with its status, within its step. And
// messages beside groups.
#include "collective_support.h"
#include "step_support.h"
#include "time_limits.h"

#include <stdatomic.h>

enum { LARGE = 50000, N = 3, ROUNDS = 40 };

/// What a function has seen. It may run on any thread.
typedef struct Seen {
    atomic_int calls;
    atomic_int status;
    mdist_work_t *work; // it asks about this one
    atomic_int right;   // whether the work was done by then
    mdist_work_t *destroys;
} Seen;

static void see(mdist_status_t status, void *user_data) {
    Seen *const self = user_data;
    int32_t done = 0;
    if (self->work != NULL)
        atomic_store(&self->right, mdist_work_test(self->work, &done, NULL) == status && done == (status == MDIST_OK));
    mdist_work_destroy(self->destroys);
    atomic_store(&self->status, status);
    atomic_fetch_add(&self->calls, 1);
}

static void require_seen(Seen *self, mdist_status_t status) {
    assert_int_equal(atomic_load(&self->calls), 1);
    assert_int_equal(atomic_load(&self->status), status);
}

static float large[N][LARGE];

static mdist_buffer_t floats(float *data, uint64_t elements) {
    return buffer_of(data, MDIST_FLOAT32, elements);
}

// ---- One thread acts for all replicas, so that what happens when is certain.

static void the_other_sides_call_makes_it(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    for (int sends = 0; sends < 2; ++sends) {
        Entered run;
        Seen early = {0}, late = {0};
        for (int i = 0; i < LARGE; ++i) large[0][i] = (float)i, large[1][i] = -1;
        const mdist_buffer_t mine = floats(large[0], LARGE), theirs = floats(large[1], LARGE);
        begin_and_enter(&run, strategy);
        if (sends)
            OK(mdist_send_start(run.replicas[0], 1, 0, &mine, &early.work, NULL, &error));
        else
            OK(mdist_receive_start(run.replicas[1], 0, 0, &theirs, &early.work, NULL, &error));
        OK(mdist_work_on_done(early.work, see, &early, &error));
        assert_int_equal(atomic_load(&early.calls), 0);
        if (sends)
            OK(mdist_receive(run.replicas[1], 0, 0, &theirs, NULL, &error));
        else
            OK(mdist_send(run.replicas[0], 1, 0, &mine, NULL, &error));
        require_seen(&early, MDIST_OK);
        assert_true(atomic_load(&early.right) && large[1][LARGE - 1] == LARGE - 1);
        OK(mdist_work_on_done(early.work, see, &late, &error)); // it is over already
        require_seen(&late, MDIST_OK);
        exit_all(&run); // nobody has waited; the function told it
        end_with(strategy, MDIST_OK, "");
        mdist_work_destroy(early.work);
        FAILS(MDIST_ERR_BAD_HANDLE, mdist_work_on_done(early.work, see, &late, &error));
    }
    mdist_strategy_destroy(strategy);
}

static void every_end_is_told(void **state) {
    (void)state;
    static const mdist_status_t all[] = {MDIST_ERR_ABORTED, MDIST_ERR_MISMATCH, MDIST_ERR_MISMATCH, MDIST_ERR_ABORTED,
                                         MDIST_ERR_FAILED_PRECONDITION};
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    for (int how = 0; how < 5; ++how) {
        Entered run;
        Seen seen = {0};
        float x = 0;
        const mdist_buffer_t one = floats(&x, 1), two = floats(large[0], 2);
        mdist_work_t *work = NULL;
        begin_and_enter(&run, strategy);
        OK(mdist_receive_start(run.replicas[0], 1, 0, &one, &work, NULL, &error));
        OK(mdist_work_on_done(work, see, &seen, &error));
        if (how == 0) mdist_work_destroy(work);
        if (how == 1) FAILS(MDIST_ERR_MISMATCH, mdist_send(run.replicas[1], 0, 0, &two, NULL, &error));
        if (how == 2) OK(mdist_replica_exit(run.replicas[1], 0, &error));  // it will send nothing
        if (how == 3) OK(mdist_replica_exit(run.replicas[2], 42, &error)); // its step fails
        if (how == 4) (void)mdist_replica_exit(run.replicas[0], 0, NULL);  // the message is still under way
        for (int i = 0; i < 3; ++i) (void)mdist_replica_exit(run.replicas[i], 0, NULL);
        require_seen(&seen, all[how]);
        assert_true(mdist_run_end(strategy, NULL, 0, NULL) != MDIST_OK);
        if (how != 0) mdist_work_destroy(work);
        require_seen(&seen, all[how]);
        expect_runs(strategy);
    }
    mdist_strategy_destroy(strategy);
}

static void a_timeout_is_told_by_any_call(void **state) {
    (void)state;
    const mdist_call_options_t soon = {.struct_size = sizeof soon, .timeout_ns = 1000000};
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    Entered run;
    Seen seen = {0};
    float x = 0, y = 0;
    const mdist_buffer_t one = floats(&x, 1), other = floats(&y, 1);
    begin_and_enter(&run, strategy);
    OK(mdist_receive_start(run.replicas[0], 1, 0, &one, &seen.work, &soon, &error));
    OK(mdist_work_on_done(seen.work, see, &seen, &error));
    while (atomic_load(&seen.calls) == 0) {
        if (mdist_send(run.replicas[1], 1, 1, &other, NULL, NULL) != MDIST_OK) break;
        if (mdist_receive(run.replicas[1], 1, 1, &other, NULL, NULL) != MDIST_OK) break;
    }
    require_seen(&seen, MDIST_ERR_TIMEOUT);
    assert_true(atomic_load(&seen.right));
    for (int i = 0; i < 2; ++i) (void)mdist_replica_exit(run.replicas[i], 0, NULL);
    end_with(strategy, MDIST_ERR_TIMEOUT, "");
    mdist_work_destroy(seen.work);
    mdist_strategy_destroy(strategy);
}

static void a_function_may_destroy_the_work_of_another_message(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    for (int arrives = 0; arrives < 2; ++arrives) {
        Entered run;
        Seen seen = {0};
        float x = 0, y = 0, z = 5;
        const mdist_buffer_t first = floats(&x, 1), second = floats(&y, 1), sent = floats(&z, 1);
        begin_and_enter(&run, strategy);
        OK(mdist_receive_start(run.replicas[0], 1, 0, &first, &seen.work, NULL, &error));
        OK(mdist_receive_start(run.replicas[0], 1, 1, &second, &seen.destroys, NULL, &error));
        OK(mdist_work_on_done(seen.work, see, &seen, &error));
        OK(mdist_send(run.replicas[1], 0, 0, &sent, NULL, &error));
        require_seen(&seen, MDIST_OK);
        if (arrives) { // the other message goes on
            OK(mdist_send(run.replicas[1], 0, 1, &sent, NULL, &error));
            assert_true(y == 5);
            exit_all(&run);
            end_with(strategy, MDIST_OK, "");
        } else {
            REASON(MDIST_ERR_FAILED_PRECONDITION, mdist_replica_exit(run.replicas[0], 0, error_out), "work_under_way");
            OK(mdist_replica_exit(run.replicas[1], 0, &error));
            end_with(strategy, MDIST_ERR_FAILED_PRECONDITION, "work_under_way");
        }
        mdist_work_destroy(seen.work);
        expect_runs(strategy);
    }
    mdist_strategy_destroy(strategy);
}

// ---- Threads

typedef struct Trip {
    Seen seen[N][2];
    float out[N][LARGE], in[N][LARGE];
    mdist_group_t *group; // {2, 0}
    atomic_int wrong;
} Trip;

/// A ring in which nobody waits for a message: the functions tell. Members of the group meet in between.
static int32_t ring_step(mdist_replica_t *replica, void *user_data) {
    Trip *const self = user_data;
    const uint32_t id = mdist_replica_id(replica);
    const mdist_call_options_t options = {.struct_size = sizeof options, .group = self->group};
    for (int i = 0; i < ROUNDS; ++i) {
        const mdist_buffer_t out = floats(self->out[id], i % 2 ? LARGE : 3), in = floats(self->in[id], out.elements);
        Seen *const seen = self->seen[id];
        memset(seen, 0, sizeof self->seen[id]);
        for (uint64_t e = 0; e < out.elements; ++e) self->out[id][e] = (float)(id * 100 + (uint32_t)i + e % 5);
        if (mdist_receive_start(replica, (id + 1) % N, 0, &in, &seen[0].work, NULL, NULL) != MDIST_OK) return 1;
        if (mdist_send_start(replica, (id + N - 1) % N, 0, &out, &seen[1].work, NULL, NULL) != MDIST_OK) return 2;
        for (int s = 0; s < 2; ++s)
            if (mdist_work_on_done(seen[s].work, see, &seen[s], NULL) != MDIST_OK) return 3;
        if (id != 1) {
            float x = (float)(id + 1);
            const mdist_buffer_t buffer = floats(&x, 1);
            if (mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, &options, NULL) != MDIST_OK || x != 4)
                return 4;
        }
        if (mdist_barrier(replica, NULL, NULL) != MDIST_OK) return 5; // all are posted, so all have ended
        for (int s = 0; s < 2; ++s) {
            if (atomic_load(&seen[s].calls) == 0) (void)mdist_work_test(seen[s].work, &(int32_t){0}, NULL);
            while (atomic_load(&seen[s].calls) == 0) sched_yield(); // another thread is about to
            if (atomic_load(&seen[s].calls) != 1 || atomic_load(&seen[s].status) != MDIST_OK ||
                !atomic_load(&seen[s].right))
                atomic_fetch_add(&self->wrong, 1);
            mdist_work_destroy(seen[s].work);
        }
        for (uint64_t e = 0; e < in.elements; ++e)
            if (self->in[id][e] != (float)((id + 1) % N * 100 + (uint32_t)i + e % 5)) return 6;
        if (mdist_barrier(replica, NULL, NULL) != MDIST_OK) return 7;
    }
    return 0;
}

static void a_ring_that_only_functions_tell(void **state) {
    (void)state;
    static const uint32_t members[] = {2, 0};
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(N, NULL);
    Trip *const trip = calloc(1, sizeof *trip);
    OK(mdist_group_create(strategy, members, 2, &trip->group, &error));
    for (int i = 0; i < 3; ++i) OK(mdist_run(strategy, ring_step, trip, NULL, &error));
    assert_int_equal(atomic_load(&trip->wrong), 0);
    mdist_group_destroy(trip->group);
    free(trip);
    mdist_strategy_destroy(strategy);
}

// ---- Groups

static void a_message_takes_no_group(void **state) {
    (void)state;
    static const uint32_t members[] = {0, 1};
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(3, NULL);
    mdist_call_options_t options = {.struct_size = sizeof options};
    float x = 0;
    const mdist_buffer_t one = floats(&x, 1);
    mdist_group_t *group = NULL;
    OK(mdist_group_create(strategy, members, 2, &group, &error));
    options.group = group;
    for (int starts = 0; starts < 2; ++starts) {
        Entered run;
        mdist_work_t *work = NULL;
        begin_and_enter(&run, strategy);
        const mdist_status_t status = starts ? mdist_receive_start(run.replicas[0], 1, 0, &one, &work, &options, &error)
                                             : mdist_send(run.replicas[0], 1, 0, &one, &options, &error);
        expect_status(MDIST_ERR_UNSUPPORTED, status, error, "with a group", __FILE__, __LINE__);
        WORDS(error, "a message belongs to no group");
        assert_string_equal(mdist_error_reason(error), "no_group");
        mdist_error_free(error);
        error = NULL;
        exit_all(&run);
        end_with(strategy, MDIST_ERR_UNSUPPORTED, "no_group");
    }
    mdist_group_destroy(group);
    mdist_strategy_destroy(strategy);
}

/// What replicas 0 and 1 wait with.
typedef struct Circle {
    mdist_call_options_t soon, with_group;
} Circle;

/// 0 waits for a message of 1, which waits for 2 in a group; 2 waits for a message of 0.
static int32_t circle_step(mdist_replica_t *replica, void *user_data) {
    const Circle *const self = user_data;
    const uint32_t id = mdist_replica_id(replica);
    float x = 0;
    const mdist_buffer_t one = floats(&x, 1);
    if (id == 1) return mdist_barrier(replica, &self->with_group, NULL) == MDIST_OK;
    return mdist_receive(replica, id == 0 ? 1 : 0, 7, &one, id == 0 ? &self->soon : NULL, NULL) == MDIST_OK;
}

static void a_wait_in_a_group_is_named(void **state) {
    (void)state;
    static const uint32_t members[] = {2, 1};
    Tries tries = {.what = "a wait in a group", .limit_ms = 200};
    while (another_try(&tries)) {
        mdist_error_t *error = NULL;
        mdist_strategy_t *strategy = make_strategy(3, NULL);
        Circle circle = {{.struct_size = sizeof circle.soon, .timeout_ns = tries.limit_ms * 1000000},
                         {.struct_size = sizeof circle.with_group}};
        mdist_group_t *group = NULL;
        OK(mdist_group_create(strategy, members, 2, &group, &error));
        circle.with_group.group = group;
        const mdist_status_t status = mdist_run(strategy, circle_step, &circle, NULL, &error);
        expect_status(MDIST_ERR_TIMEOUT, status, error, "mdist_run", __FILE__, __LINE__);
        WORDS(error, "replica 0 waits to receive from 1 (tag 7)");
        tries.late = strstr(mdist_error_message(error), ", which waits in mdist_barrier") == NULL; // it did not yet
        mdist_error_free(error);
        mdist_group_destroy(group);
        mdist_strategy_destroy(strategy);
    }
    assert_false(tries.late);
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_other_sides_call_makes_it),
        cmocka_unit_test(every_end_is_told),
        cmocka_unit_test(a_timeout_is_told_by_any_call),
        cmocka_unit_test(a_function_may_destroy_the_work_of_another_message),
        cmocka_unit_test(a_ring_that_only_functions_tell),
        cmocka_unit_test(a_message_takes_no_group),
        cmocka_unit_test(a_wait_in_a_group_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
