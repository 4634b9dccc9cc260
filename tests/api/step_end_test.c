// SPDX-License-Identifier: Apache-2.0
// Destroys or aborts a strategy in every state of a run in brackets. Nothing hangs, entered replicas can leave, and the
// run's memory is freed with the last of them. Also tests fork.
#include "started.h"
#include "step_support.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 3 };

typedef enum State {
    BEGUN,         // no replica has entered
    ALL_LEFT,      // all have left; the run is not ended
    ONE_INSIDE,    // one has entered; the others never do
    INSIDE,        // all have entered and do nothing
    IN_BARRIER,    // one waits in a barrier, on a thread
    STARTED,       // operations are started
    MERGING,       // a merge is open
    CLOSING_MERGE, // a replica waits for replica 0 to close the merge
    NESTED_BEGUN,  // a run is open in the merge; no replica has entered
    NESTED_INSIDE, // all have entered that run
    NESTED_RUN,    // mdist_run runs in the merge, on a thread
    STATES
} State;

typedef struct Scene {
    mdist_strategy_t *strategy;
    Entered run, inner;
    mdist_work_t *works[N];
    pthread_t thread;
    int threaded;
    mdist_replica_t *waiting; // the replica with which the thread waits
    mdist_status_t status;    // the result of that wait
    atomic_int in_step, go_on;
    atomic_int freed;
    float number;
} Scene;

static void count_free(void *scene) {
    atomic_fetch_add(&((Scene *)scene)->freed, 1);
}

static void *stand_in_barrier(void *argument) {
    Scene *self = argument;
    self->status = mdist_barrier(self->waiting, NULL, NULL);
    return NULL;
}

static void *stand_in_merge_end(void *argument) {
    Scene *self = argument;
    self->status = mdist_merge_end(self->waiting, 0, NULL, NULL, 0, NULL);
    return NULL;
}

static int32_t wait_in_step(mdist_replica_t *replica, void *user_data) {
    Scene *self = user_data;
    atomic_fetch_add(&self->in_step, 1);
    if (mdist_replica_id(replica) != 1) return mdist_barrier(replica, NULL, NULL) == MDIST_ERR_ABORTED ? 0 : 9;
    while (!self->go_on) sched_yield();
    return 0;
}

static void *stand_in_run(void *argument) {
    Scene *self = argument;
    self->status = mdist_run(self->strategy, wait_in_step, self, NULL, NULL);
    return NULL;
}

static void start_thread(Scene *self, void *(*function)(void *), mdist_replica_t *waiting) {
    self->waiting = waiting;
    self->threaded = 1;
    assert_int_equal(pthread_create(&self->thread, NULL, function, self), 0);
}

static void *begin_merge(void *replica) {
    return mdist_merge_begin(replica, NULL, 0, NULL, NULL, NULL) == MDIST_OK ? replica : NULL;
}

static void open_merge(Scene *self) {
    mdist_error_t *error = NULL;
    pthread_t threads[N];
    for (uint32_t i = 1; i < N; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, begin_merge, self->run.replicas[i]), 0);
    OK(mdist_merge_begin(self->run.replicas[0], NULL, 0, NULL, NULL, &error));
    for (uint32_t i = 1; i < N; ++i) pthread_join(threads[i], NULL);
}

static void set(Scene *self, State state) {
    mdist_error_t *error = NULL;
    mdist_value_t *argument = NULL;
    const mdist_tensor_t tensor = tensor_of(&self->number, MDIST_FLOAT32, 0);
    self->strategy = make_strategy(N, NULL);
    OK(mdist_value_wrap(&tensor, self, count_free, &argument, &error));
    OK(mdist_run_begin(self->strategy,
                       &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &argument, .argument_count = 1}, &error));
    mdist_value_destroy(argument); // the run keeps the value
    self->run.n = state == BEGUN ? 0 : state == ONE_INSIDE ? 1 : N;
    for (uint32_t i = 0; i < self->run.n; ++i)
        OK(mdist_replica_enter(self->strategy, i, &self->run.replicas[i], &error));
    if (state == ALL_LEFT) {
        exit_all(&self->run);
        self->run.n = 0;
    }
    if (state == IN_BARRIER) start_thread(self, stand_in_barrier, self->run.replicas[1]);
    for (uint32_t i = 0; state == STARTED && i + 1 < N; ++i)
        OK(start_barrier(self->run.replicas[i], &self->works[i], NULL, &error));
    if (state >= MERGING) open_merge(self);
    if (state == CLOSING_MERGE) start_thread(self, stand_in_merge_end, self->run.replicas[2]);
    if (state == NESTED_BEGUN) OK(mdist_run_begin(self->strategy, NULL, &error));
    if (state == NESTED_INSIDE) begin_and_enter(&self->inner, self->strategy);
    if (state == NESTED_RUN) {
        start_thread(self, stand_in_run, NULL);
        while (self->in_step != N) sched_yield();
    }
    assert_int_equal(self->freed, 0);
}

static void exit_anyhow(const Entered *run, uint32_t first) {
    for (uint32_t i = 0; i < run->n; ++i) mdist_replica_exit(run->replicas[(first + i) % run->n], 0, NULL);
    for (uint32_t i = 0; i < run->n; ++i) assert_int_equal(mdist_replica_id(run->replicas[i]), MDIST_NONE);
}

/// Exits all replicas, the inner ones first, beginning with replica `first`.
static void leave(Scene *self, State state, uint32_t first) {
    self->go_on = 1;
    if (self->threaded) pthread_join(self->thread, NULL);
    if (self->threaded) assert_true(self->status < 0);
    if (self->inner.n != 0) exit_anyhow(&self->inner, first);
    if (self->run.n != 0) assert_int_equal(self->freed, 0); // the replicas may still read the argument
    // Replica 0 cannot leave the merge while a run is open in it.
    if (state == NESTED_BEGUN || state == NESTED_INSIDE) mdist_run_end(self->strategy, NULL, 0, NULL);
    if (self->run.n != 0) exit_anyhow(&self->run, first);
}

static void after_its_destruction_replicas_find_their_way_out(void **state) {
    (void)state;
    for (State at = BEGUN; at < STATES; ++at) {
        for (uint32_t first = 0; first < N; ++first) {
            Scene self = {.number = 1};
            mdist_tensor_t seen;
            mdist_error_t *error = NULL;
            set(&self, at);
            mdist_strategy_destroy(self.strategy);
            mdist_strategy_destroy(self.strategy);
            if (at == BEGUN || at == ALL_LEFT) assert_int_equal(self.freed, 1);
            FAILS(MDIST_ERR_BAD_HANDLE, mdist_run_end(self.strategy, NULL, 0, &error));
            FAILS(MDIST_ERR_BAD_HANDLE, mdist_replica_enter(self.strategy, 2, &self.run.replicas[2], &error));
            if (at == INSIDE || at == ONE_INSIDE) { // calls that need no other replica still work
                OK(mdist_replica_argument(self.run.replicas[0], 0, NULL, &seen, &error));
                assert_true(*(float *)seen.data == 1);
                FAILS(MDIST_ERR_ABORTED, mdist_barrier(self.run.replicas[0], NULL, &error));
            }
            leave(&self, at, first);
            if (self.freed != 1) fail_msg("state %d, %u first: freed %d times", at, (unsigned)first, self.freed);
            for (uint32_t i = 0; i < N; ++i) mdist_work_destroy(self.works[i]);
        }
    }
}

static void an_abort_is_what_the_run_ends_with(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (State at = BEGUN; at < STATES; ++at) {
        for (uint32_t first = 0; first < N; ++first) {
            Scene self = {.number = 1};
            set(&self, at);
            mdist_strategy_abort(self.strategy);
            leave(&self, at, first);
            FAILS(MDIST_ERR_ABORTED, mdist_run_end(self.strategy, NULL, 0, &error));
            assert_int_equal(self.freed, 1);
            FAILS(MDIST_ERR_ABORTED, mdist_run_begin(self.strategy, NULL, &error));
            for (uint32_t i = 0; i < N; ++i) mdist_work_destroy(self.works[i]);
            mdist_strategy_destroy(self.strategy);
        }
    }
}

// ---- The end at any moment of a busy run.

static int32_t busy_step(mdist_replica_t *replica, void *user_data) {
    Scene *self = user_data;
    float large[3000] = {0};
    mdist_work_t *work = NULL;
    int32_t done = 0;
    const mdist_buffer_t buffer = buffer_of(large, MDIST_FLOAT32, 3000);
    for (int i = 0; i < 20; ++i) {
        if (start_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, &work, NULL, NULL) != MDIST_OK) return 1;
        const mdist_status_t status = mdist_work_wait(work, MDIST_FOREVER, &done, NULL);
        mdist_work_destroy(work);
        if (status != MDIST_OK) return 2;
        if (mdist_merge_begin(replica, NULL, 0, NULL, NULL, NULL) != MDIST_OK) return 3;
        if (mdist_replica_id(replica) == 0 && i % 4 == 0 && self->strategy != NULL)
            run_own(self->strategy, sum_of_ones, NULL, NULL, NULL);
        if (mdist_merge_end(replica, 0, NULL, NULL, 0, NULL) != MDIST_OK) return 4;
    }
    return 0;
}

static void *run_busy(void *argument) {
    Scene *self = argument;
    mdist_error_t *error = NULL;
    self->status = MDIST_OK;
    for (int i = 0; self->status == MDIST_OK; ++i) {
        self->status = run_own(self->strategy, busy_step, self, NULL, &error);
        mdist_error_free(error);
        error = NULL;
        atomic_fetch_add(&self->in_step, 1);
    }
    return NULL;
}

static void the_end_may_come_at_any_moment(void **state) {
    (void)state;
    for (int i = 0; i < 60; ++i) {
        Scene self = {.strategy = make_strategy(2 + (uint32_t)i % 2, NULL)};
        mdist_strategy_t *strategy = self.strategy;
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, run_busy, &self), 0);
        while (self.in_step < i % 3) sched_yield();
        for (int turn = 0; turn < i * 7 % 50; ++turn) sched_yield();
        if (i % 2 == 0) mdist_strategy_abort(strategy);
        mdist_strategy_destroy(strategy);
        pthread_join(thread, NULL);
        assert_true(self.status < 0);
    }
}

// ---- A child of fork.

static int child_is_refused(Scene *self) {
    mdist_error_t *error = NULL;
    mdist_replica_t *replica = NULL;
    int32_t done = 0;
    void *memory = NULL;
    const mdist_status_t wanted = MDIST_ERR_FAILED_PRECONDITION;
    int wrong = 0;
    wrong |= mdist_run_begin(self->strategy, NULL, &error) != wanted;
    wrong |= strcmp(mdist_error_reason(error), "forked") != 0;
    wrong |= mdist_run_end(self->strategy, NULL, 0, NULL) != wanted;
    wrong |= mdist_replica_enter(self->strategy, 2, &replica, NULL) != wanted;
    wrong |= mdist_replica_exit(self->run.replicas[0], 0, NULL) != wanted;
    wrong |= mdist_merge_begin(self->run.replicas[0], NULL, 0, NULL, NULL, NULL) != wanted;
    wrong |= mdist_merge_end(self->run.replicas[0], 0, NULL, NULL, 0, NULL) != wanted;
    wrong |= mdist_work_test(self->works[0], &done, NULL) != wanted;
    wrong |= mdist_work_wait(self->works[0], MDIST_FOREVER, &done, NULL) != wanted;
    wrong |= start_barrier(self->run.replicas[2], &self->works[2], NULL, NULL) != wanted;
    wrong |= mdist_alloc(NULL, 0, 8, &memory, NULL) != wanted;
    mdist_work_destroy(self->works[0]);
    mdist_strategy_destroy(self->strategy);
    return wrong;
}

static void a_forked_child_is_refused_and_the_parent_goes_on(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (State at = STARTED; at <= MERGING; ++at) {
        Scene self = {.number = 1};
        int status = -1, done = 0;
        set(&self, at);
        const pid_t child = fork();
        if (child == 0) {
            alarm(120); // what may hang must not last
            _exit(child_is_refused(&self));
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        if (at == STARTED) {
            OK(mdist_barrier(self.run.replicas[2], NULL, &error));
            for (uint32_t i = 0; i < 2; ++i) {
                OK(mdist_work_test(self.works[i], &done, &error));
                assert_int_equal(done, 1);
                mdist_work_destroy(self.works[i]);
            }
        }
        for (uint32_t i = 0; at == MERGING && i < N; ++i)
            OK(mdist_merge_end(self.run.replicas[i], 0, NULL, NULL, 0, &error));
        exit_all(&self.run);
        end_with(self.strategy, MDIST_OK, "");
        mdist_strategy_destroy(self.strategy);
        assert_int_equal(self.freed, 1);
    }
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_its_destruction_replicas_find_their_way_out),
        cmocka_unit_test(an_abort_is_what_the_run_ends_with),
        cmocka_unit_test(the_end_may_come_at_any_moment),
        cmocka_unit_test(a_forked_child_is_refused_and_the_parent_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
