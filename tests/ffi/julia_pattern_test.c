// SPDX-License-Identifier: Apache-2.0
// What the Julia module does, done in C: the same calls in the same order, on threads that change. No callbacks; runs
// in brackets; collectives started and tested; everything destroyed by a thread of finalizers, in every order, while
// others work. See examples/ffi/julia/src.
#include "julia_tasks.h"

#include <dirent.h>
#include <stdatomic.h>
#include <unistd.h>

static const mdist_call_options_t defaults = {sizeof(mdist_call_options_t), 0, 0}; // as the module passes them

static float brought(uint32_t local, int round, int element) {
    return (float)(local + 1) * 0.5f + (float)round + (float)(element % 7);
}

static float sum_of(uint32_t replicas, int round, int element) {
    float sum = 0; // halves and small: exact in any order
    for (uint32_t i = 0; i < replicas; ++i) sum += brought(i, round, element);
    return sum;
}

// ---- A replica's part of a run: what `perform` and `wait(work)` do.

enum { ENTER, START, TEST, LEAVE };

static int wrong(Task *self, mdist_status_t wanted, mdist_status_t status, mdist_error_t **error, const char *what) {
    return note(&self->note, wanted, status, error, what);
}

static Slice leave(Task *self, int32_t code) {
    mdist_error_t *error = NULL;
    const mdist_status_t status = mdist_replica_exit(self->replica, code, &error);
    mdist_work_destroy(self->work);
    wrong(self, MDIST_OK, status, &error, "mdist_replica_exit");
    return ENDED;
}

static Slice enter(Task *self) {
    mdist_error_t *error = NULL;
    mdist_tensor_t argument;
    if (wrong(self, MDIST_OK, mdist_replica_enter(self->strategy, self->local, &self->replica, &error), &error,
              "enter"))
        return ENDED;
    wrong(self, MDIST_OK, mdist_replica_argument(self->replica, 0, &argument, &error), &error, "argument");
    self->stage = START;
    return YIELDED;
}

static Slice start(Task *self) {
    mdist_error_t *error = NULL;
    if (self->round == self->rounds) {
        self->stage = LEAVE;
        return YIELDED;
    }
    for (int i = 0; i < ELEMENTS; ++i) self->x[i] = brought(self->local, self->round, i);
    const mdist_buffer_t buffer = buffer_of(self->x, MDIST_FLOAT32, ELEMENTS);
    const mdist_status_t status =
        mdist_all_reduce_start(self->replica, MDIST_SUM, &buffer, &buffer, 1, &self->work, &defaults, &error);
    self->stage = TEST;
    return wrong(self, MDIST_OK, status, &error, "start") ? leave(self, 1) : YIELDED;
}

static Slice test(Task *self) {
    mdist_error_t *error = NULL;
    int32_t done = 0;
    const mdist_status_t status = mdist_work_test(self->work, &done, &error);
    if (wrong(self, MDIST_OK, status, &error, "test")) return leave(self, 1);
    if (!done) return YIELDED;
    mdist_work_destroy(self->work);
    self->work = NULL;
    for (int i = 0; i < ELEMENTS; ++i)
        if (self->x[i] != sum_of(mdist_replica_count(self->replica), self->round, i))
            snprintf(self->note.text, sizeof self->note.text, "element %d of round %d is %g", i, self->round,
                     (double)self->x[i]);
    ++self->round;
    self->stage = START;
    return YIELDED;
}

static Slice give_result(Task *self) {
    mdist_error_t *error = NULL;
    const mdist_tensor_t result = tensor_of(self->x, MDIST_FLOAT32, ELEMENTS);
    wrong(self, MDIST_OK, mdist_replica_set_result(self->replica, 0, &result, &error), &error, "set_result");
    return leave(self, self->code);
}

static Slice perform(Task *self) {
    switch (self->stage) {
        case ENTER:
            return enter(self);
        case START:
            return start(self);
        case TEST:
            return test(self);
        default:
            return give_result(self);
    }
}

// ---- A run around them.

typedef struct Run {
    mdist_strategy_t *strategy;
    uint32_t replicas;
    unsigned threads;
    Task tasks[MOST_REPLICAS];
    mdist_value_t *argument, *result;
    mdist_status_t status;
    mdist_error_t *error;
} Run;

static Run *make_run(uint32_t replicas, unsigned threads, int rounds) {
    static Run run; // too large for a stack of threads; tests run one after another
    memset(&run, 0, sizeof run);
    run.strategy = make_strategy(replicas, "caller");
    run.replicas = replicas;
    run.threads = threads;
    for (uint32_t i = 0; i < replicas; ++i)
        run.tasks[i] = (Task){.slice = perform, .strategy = run.strategy, .local = i, .rounds = rounds};
    return &run;
}

static void *begin_run(void *argument) {
    Run *self = argument;
    float one = 1;
    const mdist_tensor_t tensor = tensor_of(&one, MDIST_FLOAT32, 0);
    self->status = mdist_value_create(&tensor, &self->argument, &self->error);
    if (self->status == MDIST_OK)
        self->status = mdist_run_begin(self->strategy, &self->argument, 1, 1, &defaults, &self->error);
    return NULL;
}

static void *end_run(void *argument) {
    Run *self = argument;
    self->status = mdist_run_end(self->strategy, &self->result, 1, &self->error);
    return NULL;
}

static void *drop_run(void *argument) {
    Run *self = argument;
    mdist_value_destroy(self->result);
    mdist_value_destroy(self->argument);
    mdist_strategy_destroy(self->strategy);
    return NULL;
}

static void elsewhere(void *(*function)(void *), void *argument) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, function, argument), 0);
    pthread_join(thread, NULL);
}

static void assert_status(Run *self, mdist_status_t wanted) {
    expect_status(wanted, self->status, self->error, "the run", __FILE__, __LINE__);
}

static void assert_no_notes(const Run *self) {
    for (uint32_t i = 0; i < self->replicas; ++i) assert_string_equal(self->tasks[i].note.text, "");
}

static void every_slice_may_run_on_another_thread(void **state) {
    (void)state;
    for (uint32_t replicas = 1; replicas <= MOST_REPLICAS; ++replicas) {
        for (unsigned threads = 1; threads <= MOST_THREADS; ++threads) { // one thread for five replicas, too
            Run *run = make_run(replicas, threads, 5);
            elsewhere(begin_run, run);
            assert_status(run, MDIST_OK);
            run_tasks(run->tasks, replicas, threads);
            elsewhere(end_run, run);
            assert_no_notes(run);
            assert_status(run, MDIST_OK);
            mdist_tensor_t tensor;
            mdist_error_t *error = NULL;
            OK(mdist_value_tensor(run->result, replicas - 1, &tensor, &error));
            assert_float_equal(((float *)tensor.data)[8], sum_of(replicas, 4, 8), 0);
            elsewhere(drop_run, run);
        }
    }
}

// ---- Steps that throw.

static Slice throw_soon(Task *self) {
    if (self->stage == ENTER) return enter(self);
    mdist_error_t *error = NULL;
    wrong(self, MDIST_OK, mdist_replica_exit(self->replica, 1, &error), &error, "exit");
    wrong(self, MDIST_ERR_BAD_HANDLE, mdist_replica_exit(self->replica, 1, &error), &error, "exit again");
    return ENDED;
}

/// The others: their collective fails, and they leave with the code of a failed step.
static Slice be_released(Task *self) {
    if (self->stage == ENTER) return enter(self);
    const mdist_buffer_t buffer = buffer_of(self->x, MDIST_FLOAT32, ELEMENTS);
    int32_t done = 0;
    mdist_status_t status = MDIST_OK;
    if (self->work)
        status = mdist_work_test(self->work, &done, NULL);
    else // refused already, if the guilty one was faster
        status = mdist_all_reduce_start(self->replica, MDIST_SUM, &buffer, &buffer, 1, &self->work, &defaults, NULL);
    if (status == MDIST_OK && !done) return YIELDED;
    if (status == MDIST_OK) snprintf(self->note.text, sizeof self->note.text, "done without the others");
    return leave(self, 1);
}

static void a_step_that_fails_releases_the_others(void **state) {
    (void)state;
    for (uint32_t guilty = 0; guilty < 3; ++guilty) {
        Run *run = make_run(3, 2, 1);
        for (uint32_t i = 0; i < 3; ++i) run->tasks[i].slice = i == guilty ? throw_soon : be_released;
        begin_run(run);
        run_tasks(run->tasks, 3, 2);
        end_run(run);
        assert_status(run, MDIST_ERR_CALLBACK);
        assert_int_equal(mdist_error_replica(run->error), guilty);
        assert_int_equal(mdist_error_native(run->error), 1);
        mdist_error_free(run->error);
        run->error = NULL;
        for (uint32_t i = 0; i < 3; ++i) {
            if (i != guilty) assert_string_equal(run->tasks[i].note.text, "");
            run->tasks[i] = (Task){.slice = perform, .strategy = run->strategy, .local = i, .rounds = 1};
        }
        mdist_value_destroy(run->argument);
        begin_run(run);
        run_tasks(run->tasks, 3, 2);
        end_run(run);
        assert_no_notes(run);
        assert_status(run, MDIST_OK);
        drop_run(run);
    }
}

static atomic_int forgot;

static Slice forget_work(Task *self) {
    if (self->stage != TEST) return perform(self);
    mdist_error_t *error = NULL;
    const mdist_status_t status = mdist_replica_exit(self->replica, 0, &error);
    if (strcmp(mdist_error_reason(error), "work_under_way") != 0)
        snprintf(self->note.text, sizeof self->note.text, "reason %s", mdist_error_reason(error));
    wrong(self, MDIST_ERR_FAILED_PRECONDITION, status, &error, "exit");
    mdist_work_destroy(self->work);
    atomic_store(&forgot, 1);
    return ENDED;
}

static Slice stay_away(Task *self) {
    if (self->stage == ENTER) return enter(self);
    return atomic_load(&forgot) ? leave(self, 0) : YIELDED;
}

static void work_that_nobody_waits_for_fails_the_run(void **state) {
    (void)state;
    Run *run = make_run(2, 2, 1);
    run->tasks[0].slice = forget_work;
    run->tasks[1].slice = stay_away;
    begin_run(run);
    run_tasks(run->tasks, 2, 2);
    end_run(run);
    assert_no_notes(run);
    assert_status(run, MDIST_ERR_FAILED_PRECONDITION);
    assert_string_equal(mdist_error_reason(run->error), "work_under_way");
    mdist_error_free(run->error);
    drop_run(run);
}

// ---- Merges: they block, so each replica has a thread.

typedef struct Merging {
    mdist_strategy_t *strategy;
    uint32_t local;
    int32_t code;
    float mine;
    mdist_status_t ended; // what mdist_merge_end gave
    Note note;
} Merging;

/// Enters, merges to the sum of all, leaves. Replica 0 fails the merge if it has a code.
static void *merge_in_step(void *argument) {
    Merging *self = argument;
    mdist_replica_t *replica = NULL;
    mdist_error_t *error = NULL;
    mdist_value_t *regrouped = NULL, *sum = NULL;
    mdist_tensor_t result;
    const mdist_tensor_t mine = tensor_of(&self->mine, MDIST_FLOAT32, 1);
    if (note(&self->note, MDIST_OK, mdist_replica_enter(self->strategy, self->local, &replica, &error), &error,
             "enter"))
        return NULL;
    note(&self->note, MDIST_OK, mdist_merge_begin(replica, &mine, 1, &regrouped, &defaults, &error), &error, "begin");
    if (self->local == 0)
        note(&self->note, MDIST_OK, mdist_reduce_to(self->strategy, MDIST_SUM, regrouped, "", &sum, &defaults, &error),
             &error, "reduce_to");
    self->ended = mdist_merge_end(replica, self->code, &sum, &result, 1, &error);
    mdist_error_free(error);
    error = NULL;
    if (self->ended == MDIST_OK) self->mine = *(float *)result.data;
    mdist_value_destroy(regrouped);
    mdist_value_destroy(sum);
    note(&self->note, MDIST_OK, mdist_replica_exit(replica, self->ended != MDIST_OK, &error), &error, "exit");
    return NULL;
}

static mdist_status_t merge_of_three(mdist_strategy_t *strategy, int32_t code, Merging parts[3],
                                     mdist_error_t **error) {
    pthread_t threads[3];
    const mdist_status_t status = mdist_run_begin(strategy, NULL, 0, 0, &defaults, error);
    if (status != MDIST_OK) return status;
    for (uint32_t i = 0; i < 3; ++i) {
        parts[i] = (Merging){.strategy = strategy, .local = i, .mine = (float)(i + 1), .code = i == 0 ? code : 0};
        if (pthread_create(&threads[i], NULL, merge_in_step, &parts[i]) != 0) abort();
    }
    for (uint32_t i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
    return mdist_run_end(strategy, NULL, 0, error);
}

static void merges_begin_and_end(void **state) {
    (void)state;
    mdist_strategy_t *strategy = make_strategy(3, "caller");
    mdist_error_t *error = NULL;
    Merging parts[3];
    for (int again = 0; again < 2; ++again) {
        FAILS(MDIST_ERR_CALLBACK, merge_of_three(strategy, 1, parts, &error));
        for (int i = 0; i < 3; ++i) assert_int_not_equal(parts[i].ended, MDIST_OK);
        OK(merge_of_three(strategy, 0, parts, &error));
        for (int i = 0; i < 3; ++i) {
            assert_string_equal(parts[i].note.text, "");
            assert_float_equal(parts[i].mine, 6, 0);
        }
    }
    mdist_strategy_destroy(strategy);
}

// ---- Finalizers: one of everything, destroyed by another thread.

typedef enum Kind { CONFIG, STRATEGY, VALUE, VARIABLE, DATASET, ITERATOR, MEMORY, WORK, KINDS } Kind;

/// A world in the middle of a step whose collective will never be done, as at Julia's exit: replica 1 has not come.
typedef struct World {
    void *handles[KINDS];
    mdist_replica_t *replica;
    float x[ELEMENTS];
} World;

static void destroy(Kind kind, void *handle) {
    switch (kind) {
        case CONFIG:
            mdist_config_destroy(handle);
            break;
        case STRATEGY:
            mdist_strategy_destroy(handle);
            break;
        case VALUE:
            mdist_value_destroy(handle);
            break;
        case VARIABLE:
            mdist_variable_destroy(handle);
            break;
        case DATASET:
            mdist_dataset_destroy(handle);
            break;
        case ITERATOR:
            mdist_iterator_destroy(handle);
            break;
        case MEMORY:
            mdist_free(handle);
            break;
        default:
            mdist_work_destroy(handle);
    }
}

/// A distributed dataset over library memory, which the library frees; with a thread that prefetches.
static mdist_dataset_t *make_dataset(mdist_strategy_t *strategy) {
    mdist_error_t *error = NULL;
    void *memory = NULL;
    OK(mdist_alloc(NULL, 0, 8 * sizeof(float), &memory, &error));
    const mdist_tensor_t rows = tensor_of(memory, MDIST_FLOAT32, 8);
    const mdist_input_options_t options = {sizeof options, 0};
    mdist_dataset_t *source = NULL, *batches = NULL, *ready = NULL, *cut = NULL;
    OK(mdist_dataset_from_tensors(&rows, 1, memory, mdist_free, &source, &error));
    OK(mdist_dataset_batch(source, 2, 0, &batches, &error));
    OK(mdist_dataset_prefetch(batches, 1, &ready, &error));
    OK(mdist_distribute_dataset(strategy, ready, &cut, &options, &error));
    mdist_dataset_destroy(source);
    mdist_dataset_destroy(batches);
    mdist_dataset_destroy(ready);
    return cut;
}

static World make_world(int in_step) {
    World world = {.x = {1}};
    mdist_error_t *error = NULL;
    mdist_config_t *config = NULL;
    mdist_iterator_t *iterator = NULL;
    mdist_variable_t *variable = NULL;
    mdist_value_t *value = NULL;
    mdist_work_t *work = NULL;
    mdist_strategy_t *strategy = make_strategy(2, "caller");
    const mdist_tensor_t tensor = tensor_of(world.x, MDIST_FLOAT32, ELEMENTS);
    mdist_dataset_t *dataset = make_dataset(strategy);
    OK(mdist_config_create(&config, &error));
    OK(mdist_variable_create(strategy, "v", &tensor, &variable, NULL, &error));
    OK(mdist_iterator_create(dataset, &iterator, &error));
    OK(mdist_iterator_next(iterator, &value, 1, &error));
    OK(mdist_alloc(strategy, 1, 1 << 12, &world.handles[MEMORY], &error));
    if (in_step) {
        OK(mdist_run_begin(strategy, &value, 1, 0, &defaults, &error));
        OK(mdist_replica_enter(strategy, 0, &world.replica, &error));
        mdist_tensor_t copy; // the operation writes to the variable, whichever goes first
        OK(mdist_variable_tensor(variable, 0, &copy, &error));
        const mdist_buffer_t buffer = buffer_of(copy.data, MDIST_FLOAT32, ELEMENTS);
        OK(mdist_all_reduce_start(world.replica, MDIST_SUM, &buffer, &buffer, 1, &work, &defaults, &error));
    }
    void *handles[KINDS] = {config, strategy, value, variable, dataset, iterator, world.handles[MEMORY], work};
    memcpy(world.handles, handles, sizeof handles);
    return world;
}

/// The n-th of all orders of the kinds.
static void order_of(unsigned n, Kind order[KINDS]) {
    for (unsigned i = 0; i < KINDS; ++i) order[i] = (Kind)i;
    for (unsigned left = KINDS; left > 1; --left, n /= left + 1) {
        const Kind last = order[left - 1];
        order[left - 1] = order[n % left];
        order[n % left] = last;
    }
}

/// Worlds handed to the thread of finalizers, one at a time.
typedef struct Finalizers {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    World world;
    unsigned order;
    int full, over;
} Finalizers;

static void *finalize(void *argument) {
    Finalizers *self = argument;
    pthread_mutex_lock(&self->mutex);
    for (;;) {
        while (!self->full && !self->over) pthread_cond_wait(&self->changed, &self->mutex);
        if (!self->full) break;
        const World world = self->world;
        Kind order[KINDS];
        order_of(self->order, order);
        self->full = 0;
        pthread_cond_signal(&self->changed);
        pthread_mutex_unlock(&self->mutex);
        for (int i = 0; i < KINDS; ++i) destroy(order[i], world.handles[order[i]]);
        for (int i = 0; i < KINDS; ++i) destroy((Kind)i, world.handles[i]); // a close and a finalizer
        if (world.replica) mdist_replica_exit(world.replica, 0, NULL);      // refused or not: no crash, no leak
        pthread_mutex_lock(&self->mutex);
    }
    pthread_mutex_unlock(&self->mutex);
    return NULL;
}

static void hand_over(Finalizers *self, World world, unsigned order) {
    pthread_mutex_lock(&self->mutex);
    while (self->full) pthread_cond_wait(&self->changed, &self->mutex);
    self->world = world;
    self->order = order;
    self->full = 1;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->mutex);
}

static void finish(Finalizers *self, pthread_t thread) {
    pthread_mutex_lock(&self->mutex);
    self->over = 1;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->mutex);
    pthread_join(thread, NULL);
}

/// Runs on, whatever happens to other handles, until it is told to stop.
typedef struct Neighbour {
    Run *run;
    atomic_int stop;
    int runs;
} Neighbour;

static void *work_on(void *argument) {
    Neighbour *self = argument;
    while (!atomic_load(&self->stop)) {
        Run *run = self->run;
        for (uint32_t i = 0; i < run->replicas; ++i)
            run->tasks[i].stage = run->tasks[i].round = run->tasks[i].ended = 0;
        begin_run(run);
        run_tasks(run->tasks, run->replicas, run->threads);
        end_run(run);
        mdist_value_destroy(run->argument);
        mdist_value_destroy(run->result);
        run->argument = run->result = NULL;
        if (run->status != MDIST_OK) break;
        ++self->runs;
    }
    return NULL;
}

static void finalizers_come_in_any_order_while_others_work(void **state) {
    (void)state;
    Neighbour neighbour = {.run = make_run(2, 2, 3)};
    Finalizers finalizers = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    pthread_t worker, thread;
    assert_int_equal(pthread_create(&worker, NULL, work_on, &neighbour), 0);
    assert_int_equal(pthread_create(&thread, NULL, finalize, &finalizers), 0);
    enum { ORDERS = 40320, EVERY = 11 }; // 8!, of which every 11th: each kind is at each place, before each other
    for (unsigned order = 0; order < ORDERS; order += EVERY)
        hand_over(&finalizers, make_world(order / EVERY % 2), order);
    finish(&finalizers, thread);
    atomic_store(&neighbour.stop, 1);
    pthread_join(worker, NULL);
    assert_no_notes(neighbour.run);
    assert_status(neighbour.run, MDIST_OK);
    assert_true(neighbour.runs > 0);
    drop_run(neighbour.run);
}

// ---- Cycles.

static long resident_kilobytes(void) {
    long pages = 0, unused;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &unused, &pages) != 2) pages = -1;
    if (file) fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static int entries(const char *folder) {
    int count = 0;
    DIR *directory = opendir(folder);
    while (directory && readdir(directory)) ++count;
    if (directory) closedir(directory);
    return count;
}

static void ten_thousand_cycles_leave_nothing(void **state) {
    (void)state;
    Finalizers finalizers = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    pthread_t thread;
    long early = 0;
    const int threads = entries("/proc/self/task"), files = entries("/proc/self/fd");
    assert_int_equal(pthread_create(&thread, NULL, finalize, &finalizers), 0);
    for (unsigned i = 0; i < 10000; ++i) {
        hand_over(&finalizers, make_world((int)i % 2), i);
        if (i == 1000) early = resident_kilobytes();
    }
    finish(&finalizers, thread);
    const long late = resident_kilobytes();
    if (late > early + 2048) fail_msg("%ld KiB after 1000 cycles, %ld after 10000", early, late);
    assert_int_equal(entries("/proc/self/fd"), files);
    while (entries("/proc/self/task") != threads) sched_yield(); // prefetching threads end by themselves
}

static void memory_of_a_refused_dataset_is_freed_once(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_dataset_t *dataset = NULL;
    void *memory = NULL;
    OK(mdist_alloc(NULL, 0, 64, &memory, &error));
    const mdist_tensor_t rows[] = {tensor_of(memory, MDIST_FLOAT32, 4), tensor_of(memory, MDIST_FLOAT32, 3)};
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_dataset_from_tensors(rows, 2, memory, mdist_free, &dataset, &error));
    mdist_free(memory); // gone already: ignored
}

int main(void) {
    mdist_log_set_level(MDIST_LOG_OFF, NULL); // strategies are destroyed in the middle of runs, thousands of times
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_slice_may_run_on_another_thread),
        cmocka_unit_test(a_step_that_fails_releases_the_others),
        cmocka_unit_test(work_that_nobody_waits_for_fails_the_run),
        cmocka_unit_test(merges_begin_and_end),
        cmocka_unit_test(finalizers_come_in_any_order_while_others_work),
        cmocka_unit_test(ten_thousand_cycles_leave_nothing),
        cmocka_unit_test(memory_of_a_refused_dataset_is_freed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
