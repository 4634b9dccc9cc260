// SPDX-License-Identifier: Apache-2.0
// Iterators of several workers in checkpoints. An epoch goes on with other numbers of workers and replicas, and no row
// is lost or seen twice. A restore that fails on one worker fails on all, and moves no iterator.
#include "multi.h"

#include <dirent.h>
#include <unistd.h>

enum { ROWS = 50, BATCH = 6, STEPS = 9 };

static mdist_dataset_t *mixed_batches(uint64_t seed) {
    mdist_dataset_t *rows = NULL, *mixed = NULL, *batches = NULL;
    GIVES(MDIST_OK, mdist_dataset_range(0, ROWS, 1, &rows, NULL, &error));
    GIVES(MDIST_OK, mdist_dataset_shuffle(rows, ROWS, seed, &mixed, NULL, &error));
    GIVES(MDIST_OK, mdist_dataset_batch(mixed, BATCH, &batches, NULL, &error));
    mdist_dataset_destroy(rows);
    mdist_dataset_destroy(mixed);
    return batches;
}

/// Makes a checkpoint. Only the chief's folder has the files.
static mdist_checkpoint_t *checkpoint_of(mdist_strategy_t *strategy, mdist_iterator_t *iterator) {
    mdist_checkpoint_t *checkpoint = NULL;
    const char *folder = rank == 0 ? getenv("TEST_FOLDER") : "/nowhere/to/be/found";
    GIVES(MDIST_OK, mdist_checkpoint_create(strategy, folder, 0, &checkpoint, &error));
    GIVES(MDIST_OK, mdist_checkpoint_add_iterator(checkpoint, "train", iterator, &error));
    return checkpoint;
}

/// Writes down the rows that this worker's replicas get in the next steps. Returns how many steps there were.
static int take_steps(mdist_iterator_t *iterator, uint32_t locals, int steps) {
    char path[256];
    snprintf(path, sizeof path, "%s/seen-%s-%u", getenv("TEST_FOLDER"), getenv("TEST_PHASE"), (unsigned)rank);
    FILE *const file = fopen(path, "w");
    REQUIRE(file != NULL);
    mdist_value_t *value = NULL;
    int taken = 0;
    for (; taken < steps && mdist_iterator_next(iterator, &value, 1, NULL) == MDIST_OK; ++taken) {
        for (uint32_t local = 0; local < locals; ++local) {
            mdist_tensor_t tensor;
            GIVES(MDIST_OK, mdist_value_tensor(value, local, &tensor, &error));
            for (uint64_t row = 0; row < tensor.shape[0]; ++row)
                fprintf(file, "%d\n", (int)((const int64_t *)tensor.data)[row]);
        }
        mdist_value_destroy(value);
    }
    REQUIRE(fclose(file) == 0);
    return taken;
}

/// Runs one part of an epoch: restores the latest checkpoint, if there is one, takes some steps, and saves.
static void goes_on(void) {
    const int phase = atoi(getenv("TEST_PHASE")), steps = atoi(getenv("TEST_STEPS"));
    mdist_strategy_t *strategy = join();
    mdist_dataset_t *batches = mixed_batches(9), *dataset = NULL;
    mdist_iterator_t *iterator = NULL;
    GIVES(MDIST_OK, mdist_distribute_dataset(strategy, batches, &dataset, NULL, &error));
    GIVES(MDIST_OK, mdist_iterator_create(dataset, &iterator, &error));
    mdist_checkpoint_t *checkpoint = checkpoint_of(strategy, iterator);
    if (phase != 0) GIVES(MDIST_OK, mdist_checkpoint_restore(checkpoint, MDIST_LATEST, NULL, NULL, &error));
    const int taken = take_steps(iterator, mdist_strategy_local_replica_count(strategy), steps);
    REQUIRE(taken == steps || taken < STEPS);
    GIVES(MDIST_OK, mdist_checkpoint_save(checkpoint, (uint64_t)phase, NULL, &error));
    mdist_checkpoint_destroy(checkpoint);
    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(dataset);
    mdist_dataset_destroy(batches);
    mdist_strategy_destroy(strategy);
}

static int elements_left(mdist_iterator_t *iterator) {
    mdist_value_t *value = NULL;
    int count = 0;
    for (; mdist_iterator_next(iterator, &value, 1, NULL) == MDIST_OK; ++count) mdist_value_destroy(value);
    return count;
}

static void take_one(mdist_iterator_t *iterator) {
    mdist_value_t *value = NULL;
    GIVES(MDIST_OK, mdist_iterator_next(iterator, &value, 1, &error));
    mdist_value_destroy(value);
}

/// The workers' iterators have the same position, except that the chief's shuffle has counted one iterator more.
static void orders_differ(mdist_strategy_t *strategy) {
    mdist_dataset_t *dataset = mixed_batches(9);
    mdist_iterator_t *iterator = NULL, *look = NULL;
    if (rank == 0) GIVES(MDIST_OK, mdist_iterator_create(dataset, &look, &error));
    GIVES(MDIST_OK, mdist_iterator_create(dataset, &iterator, &error));
    mdist_checkpoint_t *checkpoint = checkpoint_of(strategy, iterator);
    GIVES(MDIST_ERR_MISMATCH, mdist_checkpoint_save(checkpoint, 3, NULL, &error));
    REQUIRE(strstr(message, "[1]") != NULL && strstr(message, "[0]") != NULL);
    mdist_checkpoint_destroy(checkpoint);
    mdist_iterator_destroy(iterator);
    mdist_iterator_destroy(look);
    mdist_dataset_destroy(dataset);
}

/// The workers' iterators differ: each worker has a dataset of its own.
static void differ(void) {
    mdist_strategy_t *strategy = join();
    mdist_dataset_t *dataset = mixed_batches(9), *other = mixed_batches(rank == 1 ? 8 : 9);
    mdist_iterator_t *iterator = NULL, *others = NULL;
    GIVES(MDIST_OK, mdist_iterator_create(dataset, &iterator, &error));
    GIVES(MDIST_OK, mdist_iterator_create(other, &others, &error));
    mdist_checkpoint_t *checkpoint = checkpoint_of(strategy, iterator), *mixed_up = checkpoint_of(strategy, others);

    for (uint32_t i = 0; i < (rank == 1 ? 3u : 2u); ++i) take_one(iterator);
    GIVES(MDIST_ERR_MISMATCH, mdist_checkpoint_save(checkpoint, 1, NULL, &error));
    REQUIRE(strstr(message, "behind element 3") != NULL && guilty_worker == 1);
    if (rank != 1) take_one(iterator);
    GIVES(MDIST_OK, mdist_checkpoint_save(checkpoint, 1, NULL, &error));

    GIVES(MDIST_ERR_MISMATCH, mdist_checkpoint_restore(mixed_up, 1, NULL, NULL, &error));
    REQUIRE(strcmp(reason, "different_dataset") == 0 && guilty_worker == 1);
    REQUIRE(strstr(message, "seed 8") != NULL);
    REQUIRE(elements_left(others) == STEPS);

    orders_differ(strategy);

    mdist_iterator_t *busy = iterator; // if one worker cannot save its iterator, none does
    if (rank == 1) GIVES(MDIST_OK, mdist_iterator_close(busy, &error));
    GIVES(MDIST_ERR_FAILED_PRECONDITION, mdist_checkpoint_save(checkpoint, 2, NULL, &error));
    REQUIRE(strcmp(reason, "closed") == 0 && guilty_worker == 1);
    GIVES(MDIST_ERR_NOT_FOUND, mdist_checkpoint_restore(checkpoint, 2, NULL, NULL, &error));

    mdist_checkpoint_destroy(checkpoint);
    mdist_checkpoint_destroy(mixed_up);
    mdist_iterator_destroy(iterator);
    mdist_iterator_destroy(others);
    mdist_dataset_destroy(dataset);
    mdist_dataset_destroy(other);
    mdist_strategy_destroy(strategy);
}

static char own_folder[64], folder_variable[80];

static int make_folder(void **state) {
    (void)state;
    snprintf(own_folder, sizeof own_folder, "/tmp/mdist-multi-saved-XXXXXX");
    if (mkdtemp(own_folder) == NULL) return -1;
    snprintf(folder_variable, sizeof folder_variable, "TEST_FOLDER=%s", own_folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    DIR *const names = opendir(own_folder);
    if (names == NULL) return -1;
    for (const struct dirent *entry = readdir(names); entry != NULL; entry = readdir(names))
        unlinkat(dirfd(names), entry->d_name, 0);
    closedir(names);
    return rmdir(own_folder);
}

/// Adds up what the workers of a phase have written down.
static void count_seen(int phase, uint32_t workers, int *seen) {
    for (uint32_t worker = 0; worker < workers; ++worker) {
        char path[128];
        snprintf(path, sizeof path, "%s/seen-%d-%u", own_folder, phase, (unsigned)worker);
        FILE *const file = fopen(path, "r");
        assert_non_null(file);
        for (int row = 0; fscanf(file, "%d", &row) == 1;) {
            assert_in_range(row, 0, ROWS - 1);
            ++seen[row];
        }
        fclose(file);
    }
}

static void expect_an_epoch_in_parts(const char *order) {
    static const struct {
        uint32_t workers;
        const char *devices, *steps;
    } phases[] = {{2, "cpu*1", "TEST_STEPS=3"},
                  {1, "cpu*2", "TEST_STEPS=2"},
                  {3, "cpu*1", "TEST_STEPS=1"},
                  {2, "cpu*1|cpu*3", "TEST_STEPS=1"},
                  {2, "cpu*2", "TEST_STEPS=99"}};
    int seen[ROWS] = {0};
    for (int phase = 0; phase < (int)(sizeof phases / sizeof *phases); ++phase) {
        char number[32];
        snprintf(number, sizeof number, "TEST_PHASE=%d", phase);
        const char *const environment[] = {folder_variable, number, phases[phase].steps, order, NULL};
        const Workers job = {.scenario = "goes_on",
                             .count = phases[phase].workers,
                             .devices = phases[phase].devices,
                             .environment = environment};
        assert_int_equal(run_workers(&job), 0);
        count_seen(phase, phases[phase].workers, seen);
    }
    for (int row = 0; row < ROWS; ++row) assert_int_equal(seen[row], 1);
}

static void an_epoch_goes_on_with_other_workers_and_replicas(void **unused) {
    (void)unused;
    expect_an_epoch_in_parts(NULL);
}

static void and_with_rows_in_the_order_of_replicas(void **unused) {
    (void)unused;
    expect_an_epoch_in_parts("MDIST_DATA_ORDER=replica");
}

static void what_fails_on_one_worker_fails_on_all(void **unused) {
    (void)unused;
    const char *const environment[] = {folder_variable, NULL};
    const Workers job = {.scenario = "differ", .count = 3, .devices = "cpu*1", .environment = environment};
    assert_int_equal(run_workers(&job), 0);
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_epoch_goes_on_with_other_workers_and_replicas, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(and_with_rows_in_the_order_of_replicas, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_fails_on_one_worker_fails_on_all, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {{"goes_on", goes_on}, {"differ", differ}};
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
