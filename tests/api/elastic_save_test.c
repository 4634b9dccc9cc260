// SPDX-License-Identifier: Apache-2.0
// When an elastic job calls the program's function that saves a blob, and what that function may do. The job has one
// worker, whose store is in this process. tests/multi has jobs of several workers.
#include "elastic_alone.h"
#include "started.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

enum { REPLICAS = 3 };

static mdist_strategy_t *strategy;
static mdist_store_t *store;
static mdist_blob_t *blob;
static uint32_t saved[REPLICAS]; // how often, by replica
static int destroys;             // whether the next save destroys the strategy
static int ends;                 // whether the next save ends its thread
static int reads;                // whether the next save begins to read the next element
static int reads_on;             // whether the next save reads the next element
static uint32_t filtered;        // how many elements a filter has seen
static mdist_iterator_t *iterator;
static pthread_t reader;
static atomic_int held; // whether a filter holds back its element
static atomic_int holds;

static void *destroy_strategy(void *unused) {
    mdist_strategy_destroy(strategy);
    return unused;
}

static void *read_element(void *unused) {
    mdist_value_t *element = NULL;
    const mdist_status_t status = mdist_iterator_next(iterator, &element, 1, NULL);
    mdist_value_destroy(element);
    return status == MDIST_OK ? &iterator : unused;
}

static int32_t hold_back(const mdist_tensor_t *number, size_t count, int32_t *keep, void *user_data) {
    (void)number, (void)count, (void)user_data;
    *keep = 1;
    ++filtered;
    while (atomic_load(&holds)) {
        atomic_store(&held, 1);
        sched_yield();
    }
    return 0;
}

static int32_t save(uint32_t replica_id, void *to, size_t bytes, void *user_data) {
    (void)user_data;
    memset(to, 1, bytes);
    ++saved[replica_id];
    if (reads) {
        reads = 0;
        atomic_store(&holds, 1);
        if (pthread_create(&reader, NULL, read_element, NULL) != 0) return 1;
        while (!atomic_load(&held)) sched_yield();
    }
    if (reads_on) {
        reads_on = 0;
        if (pthread_create(&reader, NULL, read_element, NULL) != 0 || pthread_join(reader, NULL) != 0) return 1;
    }
    if (ends) {
        ends = 0;
        pthread_exit(&ends);
    }
    if (!destroys) return 0;
    destroys = 0;
    // In a thread of its own, which must not wait for this one.
    pthread_t thread;
    if (pthread_create(&thread, NULL, destroy_strategy, NULL) != 0) return 1;
    return pthread_join(thread, NULL);
}

static int32_t restore(uint32_t replica_id, const void *from, size_t bytes, void *user_data) {
    (void)replica_id, (void)from, (void)bytes, (void)user_data;
    return 0;
}

typedef struct Sum {
    void *memory;
    mdist_work_t *work;
} Sum;

static int32_t sum(mdist_replica_t *replica, void *sums) {
    Sum *const own = (Sum *)sums + mdist_replica_local_index(replica);
    const mdist_buffer_t buffer = buffer_of(own->memory, MDIST_FLOAT32, 4);
    int32_t done = 0;
    if (start_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, &own->work, NULL, NULL) != MDIST_OK) return 1;
    return mdist_work_wait(own->work, MDIST_FOREVER, &done, NULL) == MDIST_OK && done ? 0 : 2;
}

static int32_t do_nothing(mdist_replica_t *replica, void *user_data) {
    (void)replica, (void)user_data;
    return 0;
}

static int begin(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    begin_alone(&store, &strategy);
    OK(mdist_blob_create(strategy, "numbers", 8, save, restore, NULL, NULL, &blob, &error));
    memset(saved, 0, sizeof saved);
    alarm(300); // a lock that is never given back must not last for ever
    return 0;
}

static int end(void **state) {
    (void)state;
    alarm(0);
    mdist_blob_destroy(blob);
    mdist_strategy_destroy(strategy); // ignored if it is gone
    mdist_store_destroy(store);
    return 0;
}

static void expect_saved(uint32_t times) {
    for (uint32_t replica = 0; replica < REPLICAS; ++replica) assert_int_equal(saved[replica], times);
}

static mdist_status_t run(mdist_error_t **error) {
    return mdist_run(strategy, do_nothing, NULL, NULL, error);
}

static mdist_status_t open_run(mdist_error_t **error) {
    return mdist_run_begin(strategy, NULL, error);
}

static mdist_status_t commit(mdist_error_t **error) {
    return mdist_commit(strategy, 1, NULL, error);
}

static void the_first_run_and_each_commit_save(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    expect_saved(0);
    OK(run(&error));
    expect_saved(1);
    OK(run(&error));
    expect_saved(1);
    OK(commit(&error));
    expect_saved(2);
}

static void an_open_run_saves_if_it_is_the_first(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    OK(open_run(&error));
    expect_saved(1);
    mdist_replica_t *replica;
    for (uint32_t local = 0; local < REPLICAS; ++local) {
        OK(mdist_replica_enter(strategy, local, &replica, &error));
        OK(mdist_replica_exit(replica, 0, &error));
    }
    OK(mdist_run_end(strategy, NULL, 0, &error));
    OK(run(&error));
    expect_saved(1);
}

static void *run_on_thread(void *unused) {
    run(NULL);
    return unused;
}

static void the_second_run_saves_if_the_thread_of_the_first_ends_in_save(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    pthread_t thread;
    void *ended = NULL;
    ends = 1;
    assert_int_equal(pthread_create(&thread, NULL, run_on_thread, NULL), 0);
    assert_int_equal(pthread_join(thread, &ended), 0);
    assert_ptr_equal(ended, &ends);
    memset(saved, 0, sizeof saved);
    OK(run(&error));
    expect_saved(1);
}

/// The strategy is destroyed while save is at work, which waits for nothing.
static void the_first_run_is_refused_if_save_destroys_the_strategy(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_status_t (*const calls[])(mdist_error_t **) = {run, open_run};
    for (size_t i = 0; i < 2; ++i) {
        destroys = 1;
        assert_int_equal(calls[i](&error), MDIST_ERR_FAILED_PRECONDITION);
        WORDS(error, "the strategy was destroyed");
        mdist_error_free(error);
        FAILS(MDIST_ERR_BAD_HANDLE, run(&error));
        end(state);
        begin(state);
    }
}

/// Works are over with their step. Their handles can be destroyed in any generation, and used in their own only.
static void works_of_an_old_generation_are_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    Sum sums[REPLICAS] = {{NULL, NULL}};
    int32_t done = 0;
    for (uint32_t i = 0; i < REPLICAS; ++i) OK(mdist_alloc(strategy, i, 4 * sizeof(float), &sums[i].memory, &error));
    OK(mdist_run(strategy, sum, sums, NULL, &error));
    OK(mdist_work_test(sums[0].work, &done, &error));
    assert_int_equal(done, 1);
    OK(mdist_regroup(strategy, NULL, NULL, &error));
    for (uint32_t i = 0; i < REPLICAS; ++i) {
        FAILS(MDIST_ERR_FAILED_PRECONDITION, mdist_work_test(sums[i].work, &done, &error));
        FAILS(MDIST_ERR_FAILED_PRECONDITION, mdist_work_wait(sums[i].work, 0, &done, &error));
        mdist_work_destroy(sums[i].work);
        mdist_free(sums[i].memory);
    }
    OK(run(&error));
}

static void a_commit_under_way_ends_if_save_destroys_the_strategy(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    destroys = 1;
    OK(commit(&error));
    expect_saved(1);
    FAILS(MDIST_ERR_BAD_HANDLE, commit(&error));
}

/// Makes an iterator over elements that go through hold_back(), and reads the first.
static void begin_reading(void) {
    mdist_error_t *error = NULL;
    mdist_dataset_t *range, *kept, *batches, *dealt;
    OK(mdist_dataset_range(0, 100, 1, &range, NULL, &error));
    OK(mdist_dataset_filter(range, hold_back, NULL, NULL, &kept, NULL, &error));
    OK(mdist_dataset_batch(kept, REPLICAS, &batches, NULL, &error));
    OK(mdist_distribute_dataset(strategy, batches, &dealt, NULL, &error));
    OK(mdist_iterator_create(dealt, &iterator, &error));
    mdist_dataset_destroy(dealt);
    mdist_dataset_destroy(batches);
    mdist_dataset_destroy(kept);
    mdist_dataset_destroy(range);
    assert_non_null(read_element(NULL));
}

/// An element is being read, in a function that ends after the commit. The commit waits for neither.
static void a_commit_waits_for_no_reading(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    begin_reading();
    OK(run(&error));
    reads = 1;
    OK(commit(&error));
    atomic_store(&holds, 0);
    void *read = NULL;
    assert_int_equal(pthread_join(reader, &read), 0);
    assert_non_null(read);
    OK(commit(&error));
    mdist_iterator_destroy(iterator);
}

/// An element is read while a commit is made, behind the position that is committed. A regroup goes back to that
/// position without reading the source again.
static void what_is_read_during_a_commit_is_kept(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    begin_reading();
    OK(run(&error));
    reads_on = 1;
    OK(commit(&error));
    assert_int_equal(reads_on, 0);
    const uint32_t before = filtered;
    OK(mdist_regroup(strategy, NULL, NULL, &error));
    assert_non_null(read_element(NULL));
    assert_int_equal(filtered, before);
    assert_non_null(read_element(NULL));
    assert_int_equal(filtered, before + REPLICAS);
    mdist_iterator_destroy(iterator);
}

static mdist_status_t make_blob(const char *name, size_t bytes, mdist_blob_t **out, mdist_error_t **error) {
    return mdist_blob_create(strategy, name, bytes, save, restore, NULL, NULL, out, error);
}

/// A sum of sizes must not wrap round: the save function would get less memory than it is told.
static void blobs_larger_than_memory_are_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_blob_t *large = NULL, *more = NULL;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, make_blob("large", SIZE_MAX, &large, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, make_blob("large", (size_t)PTRDIFF_MAX + 1, &large, &error));
    // There is one of 8 bytes already.
    assert_int_equal(make_blob("large", PTRDIFF_MAX - 7, &large, &error), MDIST_ERR_INVALID_ARGUMENT);
    WORDS(error, "bytes is 9223372036854775800");
    mdist_error_free(error);
    error = NULL;
    OK(run(&error));
    expect_saved(1);
    OK(make_blob("large", PTRDIFF_MAX - 8, &large, &error)); // could be, but is not there
    FAILS(MDIST_ERR_INVALID_ARGUMENT, make_blob("more", 1, &more, &error));
    FAILS(MDIST_ERR_OUT_OF_MEMORY, commit(&error));
    expect_saved(1);
    mdist_blob_destroy(large);
    OK(make_blob("more", 1, &more, &error));
    OK(commit(&error));
    assert_int_equal(saved[0], 3); // both blobs
    mdist_blob_destroy(more);
}

int main(void) {
    quiet_log();
    be_the_only_worker("save");
    if (on_gpus()) setenv("MDIST_DEVICES", "gpu:0", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_first_run_and_each_commit_save, begin, end),
        cmocka_unit_test_setup_teardown(an_open_run_saves_if_it_is_the_first, begin, end),
        cmocka_unit_test_setup_teardown(the_second_run_saves_if_the_thread_of_the_first_ends_in_save, begin, end),
        cmocka_unit_test_setup_teardown(the_first_run_is_refused_if_save_destroys_the_strategy, begin, end),
        cmocka_unit_test_setup_teardown(a_commit_waits_for_no_reading, begin, end),
        cmocka_unit_test_setup_teardown(what_is_read_during_a_commit_is_kept, begin, end),
        cmocka_unit_test_setup_teardown(works_of_an_old_generation_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_commit_under_way_ends_if_save_destroys_the_strategy, begin, end),
        cmocka_unit_test_setup_teardown(blobs_larger_than_memory_are_refused, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
