// SPDX-License-Identifier: Apache-2.0
// Handles as Julia's collector destroys them: by another thread, in every order, while others work and whether or not
// somebody is in the middle of a step. See src/julia/src/handle.jl.
#include "julia_run.h"
#include "started.h"

#include <dirent.h>
#include <stdatomic.h>
#include <unistd.h>

#ifdef MDIST_TEST_SANITIZED
enum { CYCLES = 1000, EARLY = 500, EVERY = 101, GROWTH = 1 << 20 }; // sanitizers are slow, and keep memory back
#else
enum { CYCLES = 10000, EARLY = 1000, EVERY = 11, GROWTH = 2048 }; // KiB
#endif

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
    const mdist_input_options_t options = {.struct_size = sizeof options};
    mdist_dataset_t *source = NULL, *batches = NULL, *ready = NULL, *cut = NULL;
    OK(mdist_dataset_from_tensors(&rows, 1, memory, mdist_free, &source, NULL, &error));
    OK(mdist_dataset_batch(source, 2, &batches, NULL, &error));
    OK(mdist_dataset_prefetch(batches, 1, &ready, NULL, &error));
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
        OK(mdist_run_begin(strategy,
                           &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &value, .argument_count = 1,
                                             .timeout_ns = defaults.timeout_ns},
                           &error));
        OK(mdist_replica_enter(strategy, 0, &world.replica, &error));
        mdist_tensor_t copy; // the operation writes to the variable, whichever goes first
        OK(mdist_variable_tensor(variable, 0, &copy, &error));
        const mdist_buffer_t buffer = buffer_of(copy.data, MDIST_FLOAT32, ELEMENTS);
        OK(start_all_reduce(world.replica, MDIST_SUM, &buffer, &buffer, 1, &work, &defaults, &error));
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
    enum { ORDERS = 40320 }; // 8!, of which every 11th: each kind comes at each place, and before each other
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
    for (unsigned i = 0; i < CYCLES; ++i) {
        hand_over(&finalizers, make_world((int)i % 2), i);
        if (i == EARLY) early = resident_kilobytes();
    }
    finish(&finalizers, thread);
    const long late = resident_kilobytes();
    if (late > early + GROWTH) fail_msg("%ld KiB after %d cycles, %ld after %d", early, EARLY, late, CYCLES);
    assert_int_equal(entries("/proc/self/fd"), files);
    // Prefetching threads end by themselves. (Among the first, some of the test before may have been about to end.)
    while (entries("/proc/self/task") > threads) sched_yield();
}

static void memory_of_a_refused_dataset_is_freed_once(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_dataset_t *dataset = NULL;
    void *memory = NULL;
    OK(mdist_alloc(NULL, 0, 64, &memory, &error));
    const mdist_tensor_t rows[] = {tensor_of(memory, MDIST_FLOAT32, 4), tensor_of(memory, MDIST_FLOAT32, 3)};
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_dataset_from_tensors(rows, 2, memory, mdist_free, &dataset, NULL, &error));
    mdist_free(memory); // gone already: ignored
}

int main(void) {
    mdist_log_set_level(MDIST_LOG_OFF, NULL); // strategies are destroyed in the middle of runs, thousands of times
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finalizers_come_in_any_order_while_others_work),
        cmocka_unit_test(ten_thousand_cycles_leave_nothing),
        cmocka_unit_test(memory_of_a_refused_dataset_is_freed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
