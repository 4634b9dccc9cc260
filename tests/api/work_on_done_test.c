// SPDX-License-Identifier: Apache-2.0
// Functions that are called when a started operation is over: exactly once, with its status, within its step.
#include "started.h"
#include "step_support.h"

#include <sched.h>
#include <stdatomic.h>

enum { N = 3, DEPTH = 16, LONG = 70000 };

/// What a function has seen. It may run on any thread.
typedef struct Seen {
    atomic_int calls;
    atomic_int status;
    mdist_work_t *work; // it asks about this one
    atomic_int right;   // whether the work was done by then
} Seen;

static void see(mdist_status_t status, void *user_data) {
    Seen *const self = user_data;
    int32_t done = 0;
    if (self->work != NULL)
        atomic_store(&self->right, mdist_work_test(self->work, &done, NULL) == status && done == (status == MDIST_OK));
    atomic_store(&self->status, status);
    atomic_fetch_add(&self->calls, 1);
}

static void require_seen(Seen *self, mdist_status_t status) {
    assert_int_equal(atomic_load(&self->calls), 1);
    assert_int_equal(atomic_load(&self->status), status);
}

// ---- Many operations of several replicas.

typedef struct Mixed {
    int round;
    float numbers[N][DEPTH][LONG];
    mdist_work_t *works[N][DEPTH];
    Seen seen[N][DEPTH][2];
} Mixed;

/// One replica makes blocking calls, another waits, the third does neither: its functions tell it.
static int32_t mixed_step(mdist_replica_t *replica, void *user_data) {
    Mixed *const self = user_data;
    const uint32_t id = mdist_replica_id(replica);
    const uint32_t form = (id + (uint32_t)self->round) % N;
    for (int i = 0; i < DEPTH; ++i) {
        float *const numbers = self->numbers[id][i];
        mdist_work_t **const work = &self->works[id][i];
        const mdist_buffer_t buffer = buffer_of(numbers, MDIST_FLOAT32, i % 3 == 0 ? LONG : 10);
        for (uint64_t e = 0; e < buffer.elements; ++e) numbers[e] = (float)(id + 1);
        const mdist_status_t status = form == 0
                                          ? mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL)
                                          : start_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, work, NULL, NULL);
        if (status != MDIST_OK) return 1;
        for (int s = 0; s < 2 && form != 0; ++s) {
            Seen *const seen = &self->seen[id][i][s];
            seen->work = *work;
            if (mdist_work_on_done(*work, see, seen, NULL) != MDIST_OK) return 2;
        }
    }
    for (int i = 0; i < DEPTH && form != 0; ++i) {
        int32_t done = 0;
        if (form == 1 && mdist_work_wait(self->works[id][i], MDIST_FOREVER, &done, NULL) != MDIST_OK) return 3;
        while (form == 2 && atomic_load(&self->seen[id][i][1].calls) == 0)
            if (mdist_work_test(self->works[id][DEPTH - 1], &done, NULL) != MDIST_OK) return 4;
    }
    return 0;
}

static void each_is_called_once_and_within_the_step(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(N, NULL);
    Mixed *const self = calloc(1, sizeof *self);
    for (self->round = 0; self->round < 12; ++self->round) {
        memset(self->seen, 0, sizeof self->seen);
        memset((void *)self->works, 0, sizeof self->works);
        OK(mdist_run(strategy, mixed_step, self, NULL, &error));
        for (int id = 0; id < N; ++id)
            for (int i = 0; i < DEPTH; ++i) {
                assert_true(self->numbers[id][i][9] == 6);
                for (int s = 0; s < 2 && self->works[id][i] != NULL; ++s) {
                    require_seen(&self->seen[id][i][s], MDIST_OK);
                    assert_true(atomic_load(&self->seen[id][i][s].right));
                }
                mdist_work_destroy(self->works[id][i]);
            }
    }
    free(self);
    mdist_strategy_destroy(strategy);
}

static void wait_for(mdist_work_t *work) {
    mdist_error_t *error = NULL;
    int32_t done = 0;
    OK(mdist_work_wait(work, MDIST_FOREVER, &done, &error));
    assert_true(done);
    mdist_work_destroy(work);
}

// ---- One thread acts for all replicas, so that what happens when is certain.

static mdist_work_t *start_one(mdist_replica_t *replica, float *number, const mdist_call_options_t *options) {
    mdist_error_t *error = NULL;
    mdist_work_t *work = NULL;
    const mdist_buffer_t buffer = buffer_of(number, MDIST_FLOAT32, 1);
    OK(start_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, &work, options, &error));
    return work;
}

static void another_replicas_call_may_make_it(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    float numbers[2] = {1, 2};
    Seen early = {0}, late = {0};
    Entered run;
    begin_and_enter(&run, strategy);
    early.work = start_one(run.replicas[0], &numbers[0], NULL);
    OK(mdist_work_on_done(early.work, see, &early, &error));
    assert_int_equal(atomic_load(&early.calls), 0);
    mdist_work_t *other = start_one(run.replicas[1], &numbers[1], NULL);
    require_seen(&early, MDIST_OK);
    assert_true(atomic_load(&early.right) && numbers[0] == 3);
    OK(mdist_work_on_done(early.work, see, &late, &error)); // it is over already
    require_seen(&late, MDIST_OK);
    wait_for(other);
    OK(mdist_replica_exit(run.replicas[0], 0, &error)); // it has not waited; its function told it
    OK(mdist_replica_exit(run.replicas[1], 0, &error));
    end_with(strategy, MDIST_OK, "");
    mdist_work_destroy(early.work);
    mdist_strategy_destroy(strategy);
}

static void a_destroyed_work_is_aborted(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    float number = 1;
    Seen seen = {0};
    Entered run;
    begin_and_enter(&run, strategy);
    mdist_work_t *work = start_one(run.replicas[0], &number, NULL);
    OK(mdist_work_on_done(work, see, &seen, &error));
    mdist_work_destroy(work);
    require_seen(&seen, MDIST_ERR_ABORTED);
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_work_on_done(work, see, &seen, &error));
    for (int r = 0; r < 2; ++r) (void)mdist_replica_exit(run.replicas[r], 0, NULL);
    end_with(strategy, MDIST_ERR_ABORTED, "work_destroyed");
    require_seen(&seen, MDIST_ERR_ABORTED);
    mdist_strategy_destroy(strategy);
}

static void a_step_that_ends_or_is_aborted_calls_it(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (int aborted = 0; aborted < 2; ++aborted) {
        mdist_strategy_t *strategy = make_strategy(2, NULL);
        float number = 1;
        Seen first = {0}, second = {0};
        Entered run;
        begin_and_enter(&run, strategy);
        mdist_work_t *work = start_one(run.replicas[0], &number, NULL);
        mdist_work_t *behind = start_one(run.replicas[0], &number, NULL);
        OK(mdist_work_on_done(work, see, &first, &error));
        OK(mdist_work_on_done(behind, see, &second, &error));
        if (aborted) mdist_strategy_abort(strategy);
        (void)mdist_replica_exit(run.replicas[0], 0, NULL);
        require_seen(&first, aborted ? MDIST_ERR_ABORTED : MDIST_ERR_FAILED_PRECONDITION);
        assert_int_equal(atomic_load(&second.calls), 1);
        assert_true(atomic_load(&second.status) < MDIST_OK);
        (void)mdist_replica_exit(run.replicas[1], 0, NULL);
        mdist_error_t *ended = NULL;
        assert_int_not_equal(mdist_run_end(strategy, NULL, 0, &ended), MDIST_OK);
        mdist_error_free(ended);
        mdist_work_destroy(work);
        mdist_work_destroy(behind);
        require_seen(&first, aborted ? MDIST_ERR_ABORTED : MDIST_ERR_FAILED_PRECONDITION);
        mdist_strategy_destroy(strategy);
    }
}

static void a_late_replica_is_a_timeout(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    const mdist_call_options_t options = {.struct_size = sizeof options, .timeout_ns = 1000000};
    float number = 1;
    Seen seen = {0};
    Entered run;
    begin_and_enter(&run, strategy);
    mdist_work_t *work = start_one(run.replicas[0], &number, &options);
    OK(mdist_work_on_done(work, see, &seen, &error));
    int32_t done = 0;
    FAILS(MDIST_ERR_TIMEOUT, mdist_work_wait(work, MDIST_FOREVER, &done, &error));
    require_seen(&seen, MDIST_ERR_TIMEOUT);
    for (int r = 0; r < 2; ++r) (void)mdist_replica_exit(run.replicas[r], 0, NULL);
    end_with(strategy, MDIST_ERR_TIMEOUT, "");
    mdist_work_destroy(work);
    mdist_strategy_destroy(strategy);
}

// ---- What a function may do.

typedef struct Bold {
    mdist_strategy_t *strategy;
    mdist_replica_t *replica;
    mdist_work_t *own, *others;
    atomic_int calls, wrong;
} Bold;

static int32_t nothing(mdist_replica_t *replica, void *user_data) {
    (void)replica, (void)user_data;
    return 0;
}

static void be_bold(mdist_status_t status, void *user_data) {
    Bold *const self = user_data;
    int32_t done = 0;
    int wrong = status != MDIST_OK;
    wrong |= mdist_barrier(self->replica, NULL, NULL) != MDIST_ERR_WRONG_CONTEXT;
    wrong |= mdist_work_wait(self->own, MDIST_FOREVER, &done, NULL) != MDIST_ERR_WRONG_CONTEXT;
    wrong |= mdist_run(self->strategy, nothing, NULL, NULL, NULL) != MDIST_ERR_WRONG_CONTEXT;
    wrong |= mdist_work_test(self->own, &done, NULL) != MDIST_OK || !done;
    wrong |= mdist_replica_id(self->replica) > 1;
    mdist_work_destroy(self->own);
    mdist_work_destroy(self->others); // not done: it goes on
    atomic_store(&self->wrong, wrong);
    atomic_fetch_add(&self->calls, 1);
}

static void it_may_look_and_destroy_but_not_wait(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    float numbers[2] = {1, 2}, more[2] = {5, 6};
    Seen seen = {0};
    Entered run;
    begin_and_enter(&run, strategy);
    Bold self = {.strategy = strategy, .replica = run.replicas[0]};
    self.own = start_one(run.replicas[0], &numbers[0], NULL);
    self.others = start_one(run.replicas[0], &more[0], NULL);
    OK(mdist_work_on_done(self.own, be_bold, &self, &error));
    OK(mdist_work_on_done(self.others, see, &seen, &error));
    mdist_work_t *first = start_one(run.replicas[1], &numbers[1], NULL);
    assert_int_equal(atomic_load(&self.calls), 1);
    assert_int_equal(atomic_load(&self.wrong), 0);
    assert_int_equal(atomic_load(&seen.calls), 0);
    mdist_work_t *second = start_one(run.replicas[1], &more[1], NULL);
    require_seen(&seen, MDIST_OK);
    wait_for(first);
    wait_for(second);
    OK(mdist_replica_exit(run.replicas[0], 0, &error));
    OK(mdist_replica_exit(run.replicas[1], 0, &error));
    end_with(strategy, MDIST_OK, "");
    assert_true(numbers[0] == 3 && more[0] == 11); // on GPUs, too, now that the step has ended
    mdist_strategy_destroy(strategy);
}

static void wrong_arguments_are_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    float number = 1;
    Entered run;
    begin_and_enter(&run, strategy);
    mdist_work_t *work = start_one(run.replicas[0], &number, NULL);
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_work_on_done(work, NULL, NULL, &error));
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_work_on_done(NULL, see, NULL, &error));
    wait_for(work);
    OK(mdist_replica_exit(run.replicas[0], 0, &error));
    end_with(strategy, MDIST_OK, "");
    mdist_strategy_destroy(strategy);
}

// ---- A function that another thread makes while its replica's step returns.

enum { LOOKS = 20000 };

typedef struct Returning {
    atomic_int listens, called, returns; // what replica 0 has come to
    atomic_int known;                    // how often its function got its id
    mdist_replica_t *replica;
    mdist_work_t *works[2];
    float numbers[2];
} Returning;

static void ask_for_the_replica(mdist_status_t status, void *user_data) {
    Returning *const self = user_data;
    atomic_store(&self->called, 1);
    while (atomic_load(&self->returns) == 0) sched_yield();
    for (int i = 0; i < LOOKS && status == MDIST_OK; ++i)
        atomic_fetch_add(&self->known, mdist_replica_id(self->replica) == 0);
}

/// Replica 1 comes last, so it calls the function of replica 0.
static int32_t returning_step(mdist_replica_t *replica, void *user_data) {
    Returning *const self = user_data;
    const uint32_t id = mdist_replica_id(replica);
    const mdist_buffer_t buffer = buffer_of(&self->numbers[id], MDIST_FLOAT32, 1);
    mdist_work_t **const work = &self->works[id];
    while (id == 1 && atomic_load(&self->listens) == 0) sched_yield();
    if (start_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, work, NULL, NULL) != MDIST_OK) return 1;
    int32_t done = 0;
    if (id == 1) return mdist_work_wait(*work, MDIST_FOREVER, &done, NULL) != MDIST_OK;
    self->replica = replica;
    if (mdist_work_on_done(*work, ask_for_the_replica, self, NULL) != MDIST_OK) return 2;
    atomic_store(&self->listens, 1);
    while (atomic_load(&self->called) == 0) sched_yield();
    atomic_store(&self->returns, 1);
    return 0;
}

static void the_replica_is_known_until_all_are_called(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    Returning self = {0};
    OK(mdist_run(strategy, returning_step, &self, NULL, &error));
    assert_int_equal(atomic_load(&self.known), LOOKS);
    assert_int_equal(mdist_replica_id(self.replica), MDIST_NONE); // the step is over
    for (int r = 0; r < 2; ++r) mdist_work_destroy(self.works[r]);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_called_once_and_within_the_step),
        cmocka_unit_test(another_replicas_call_may_make_it),
        cmocka_unit_test(a_destroyed_work_is_aborted),
        cmocka_unit_test(a_step_that_ends_or_is_aborted_calls_it),
        cmocka_unit_test(a_late_replica_is_a_timeout),
        cmocka_unit_test(it_may_look_and_destroy_but_not_wait),
        cmocka_unit_test(the_replica_is_known_until_all_are_called),
        cmocka_unit_test(wrong_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
