// SPDX-License-Identifier: Apache-2.0
// Checkpoints of several workers: only the chief has the files, all workers have the values, and all see the same
// outcome.
#include "multi.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <unistd.h>

/// Returns the chief's folder. Other workers get a folder that does not exist, as on another host.
static const char *folder(void) {
    return rank == 0 ? getenv("TEST_FOLDER") : "/nowhere/to/be/found";
}

static mdist_variable_t *variable(mdist_strategy_t *strategy, const char *name, float initial, int synchronization,
                                  int aggregation) {
    mdist_tensor_t tensor;
    mdist_variable_t *out = NULL;
    const mdist_variable_options_t options = {
        .struct_size = sizeof options, .synchronization = synchronization, .aggregation = aggregation};
    GIVES(MDIST_OK, mdist_tensor_describe(&initial, MDIST_FLOAT32, NULL, 0, &tensor, &error));
    GIVES(MDIST_OK, mdist_variable_create(strategy, name, &tensor, &out, &options, &error));
    return out;
}

static float *copy(mdist_variable_t *of, uint32_t local) {
    mdist_tensor_t tensor;
    GIVES(MDIST_OK, mdist_variable_tensor(of, local, &tensor, &error));
    return tensor.data;
}

/// All kinds of variables: mirrored, larger than one piece, SUM, MEAN, and ONLY_FIRST.
typedef struct World {
    mdist_strategy_t *strategy;
    uint32_t locals, first, count; // replicas here, id of the first one, replicas of the job
    mdist_variable_t *mirrored, *large, *sum, *mean, *only;
    mdist_checkpoint_t *checkpoint;
} World;

enum { LARGE = 3000000 };

static World make_world(void) {
    World w = {.strategy = join()};
    w.locals = mdist_strategy_local_replica_count(w.strategy);
    w.first = first_replica_of[rank];
    w.count = mdist_strategy_replica_count(w.strategy);
    const uint64_t shape[] = {LARGE};
    mdist_tensor_t tensor;
    w.mirrored = variable(w.strategy, "mirrored", 0, MDIST_SYNC_AUTO, MDIST_AGGREGATION_NONE);
    w.sum = variable(w.strategy, "sum", 0, MDIST_SYNC_ON_READ, MDIST_AGGREGATION_SUM);
    w.mean = variable(w.strategy, "mean", 0, MDIST_SYNC_ON_READ, MDIST_AGGREGATION_MEAN);
    w.only = variable(w.strategy, "only", 0, MDIST_SYNC_ON_READ, MDIST_AGGREGATION_ONLY_FIRST_REPLICA);
    GIVES(MDIST_OK, mdist_tensor_describe(NULL, MDIST_INT32, shape, 1, &tensor, &error));
    GIVES(MDIST_OK, mdist_variable_create(w.strategy, "large", &tensor, &w.large, NULL, &error));
    mdist_variable_t *const all[] = {w.mirrored, w.large, w.sum, w.mean, w.only};
    GIVES(MDIST_OK, mdist_checkpoint_create(w.strategy, folder(), 2, &w.checkpoint, &error));
    for (uint32_t i = 0; i < 5; ++i) // each worker adds them in an order of its own
        GIVES(MDIST_OK, mdist_checkpoint_add(w.checkpoint, NULL, all[(i + rank) % 5], &error));
    return w;
}

static void destroy_world(World *w) {
    mdist_variable_t *const all[] = {w->mirrored, w->large, w->sum, w->mean, w->only};
    mdist_checkpoint_destroy(w->checkpoint);
    for (size_t i = 0; i < 5; ++i) mdist_variable_destroy(all[i]);
    mdist_strategy_destroy(w->strategy);
}

static int32_t large_at(uint64_t i, uint32_t seed) {
    return (int32_t)(i * 2654435761u + seed);
}

/// Writes copies that differ by replica.
static void set_world(const World *w, uint32_t seed) {
    for (uint32_t local = 0; local < w->locals; ++local) {
        const float id = (float)(w->first + local);
        *copy(w->mirrored, local) = 100 + (float)seed;
        *copy(w->sum, local) = id + 1;
        *copy(w->mean, local) = 2 * id;
        *copy(w->only, local) = id + 9;
        int32_t *numbers = (int32_t *)(void *)copy(w->large, local);
        for (uint64_t i = 0; i < LARGE; ++i) numbers[i] = large_at(i, seed);
    }
}

static void expect_world(const World *w, uint32_t saved_by, uint32_t seed) {
    const float total = (float)(saved_by * (saved_by + 1) / 2);
    for (uint32_t local = 0; local < w->locals; ++local) {
        REQUIRE(*copy(w->mirrored, local) == 100 + (float)seed);
        REQUIRE(*copy(w->sum, local) == total / (float)w->count);
        REQUIRE(*copy(w->mean, local) == (float)(saved_by - 1));
        REQUIRE(*copy(w->only, local) == 9);
        const int32_t *numbers = (const int32_t *)(const void *)copy(w->large, local);
        for (uint64_t i = 0; i < LARGE; ++i) REQUIRE(numbers[i] == large_at(i, seed));
    }
}

/// Saves, changes everything, restores. The checkpoint's number is the number of replicas.
static void saves_and_restores(void) {
    World w = make_world();
    set_world(&w, 5);
    GIVES(MDIST_OK, mdist_checkpoint_set_text(w.checkpoint, "saved by", rank == 0 ? "the chief" : "another", &error));
    GIVES(MDIST_OK, mdist_checkpoint_save(w.checkpoint, w.count, NULL, &error));
    set_world(&w, 77);
    uint64_t number = 0;
    char text[16];
    GIVES(MDIST_OK, mdist_checkpoint_restore(w.checkpoint, MDIST_LATEST, &number, NULL, &error));
    REQUIRE(number == w.count);
    expect_world(&w, w.count, 5);
    GIVES(MDIST_OK, mdist_checkpoint_text(w.checkpoint, "saved by", text, sizeof text, NULL, &error));
    REQUIRE(strcmp(text, "the chief") == 0);
    destroy_world(&w);
}

/// Restores the folder's latest checkpoint, whatever number of replicas saved it.
static void restores(void) {
    World w = make_world();
    uint64_t number = 0;
    GIVES(MDIST_OK, mdist_checkpoint_restore(w.checkpoint, MDIST_LATEST, &number, NULL, &error));
    expect_world(&w, (uint32_t)number, 5);
    destroy_world(&w);
}

/// Every kind of failure reaches all workers, with the same message. The next save succeeds.
static void fail_alike(void) {
    World w = make_world();
    set_world(&w, 1);
    GIVES(MDIST_ERR_NOT_FOUND, mdist_checkpoint_restore(w.checkpoint, MDIST_LATEST, NULL, NULL, &error));
    REQUIRE(strcmp(reason, "no_checkpoint") == 0 && guilty_worker == 0);
    REQUIRE(strstr(message, getenv("TEST_FOLDER")) != NULL);

    GIVES(MDIST_ERR_MISMATCH, mdist_checkpoint_save(w.checkpoint, rank == 1 ? 3 : 4, NULL, &error));
    REQUIRE(strstr(message, "checkpoint 4") != NULL && strstr(message, "checkpoint 3") != NULL && guilty_worker == 1);
    mdist_variable_t *extra = variable(w.strategy, "extra", 1, MDIST_SYNC_AUTO, MDIST_AGGREGATION_NONE);
    if (rank == 1) GIVES(MDIST_OK, mdist_checkpoint_add(w.checkpoint, NULL, extra, &error));
    GIVES(MDIST_ERR_MISMATCH, mdist_checkpoint_save(w.checkpoint, 4, NULL, &error));
    REQUIRE(strstr(message, "variable \"extra\": \"extra\" float32") != NULL);
    if (rank != 1) GIVES(MDIST_OK, mdist_checkpoint_add(w.checkpoint, NULL, extra, &error));

    mdist_checkpoint_t *nowhere = NULL;
    GIVES(MDIST_OK, mdist_checkpoint_create(w.strategy, "/proc/no/folder", 2, &nowhere, &error));
    mdist_error_t *refused = NULL;
    REQUIRE(mdist_checkpoint_save(nowhere, 4, NULL, &refused) == MDIST_ERR_IO);
    REQUIRE(mdist_error_rank(refused) == 0 && mdist_error_native(refused) == ENOENT); // of worker 0's mkdir
    REQUIRE(strstr(mdist_error_message(refused), "/proc/no") != NULL);
    mdist_error_free(refused);
    mdist_checkpoint_destroy(nowhere);

    GIVES(MDIST_OK, mdist_checkpoint_save(w.checkpoint, 4, NULL, &error));
    GIVES(MDIST_OK, mdist_checkpoint_restore(w.checkpoint, 4, NULL, NULL, &error));
    mdist_variable_destroy(extra);
    destroy_world(&w);
}

/// The victim dies when the others have told it that they are ready for that: until then they may need it.
static int32_t dies_among_others(mdist_replica_t *replica, void *user_data) {
    char byte = 0;
    const mdist_buffer_t buffer = {&byte, 1, MDIST_UINT8, 0};
    (void)user_data;
    if (rank != victim) return mdist_send(replica, victim, 0, &buffer, NULL, NULL) != MDIST_OK;
    for (uint32_t other = 0; other < mdist_replica_count(replica); ++other)
        if (other != victim && mdist_receive(replica, other, 0, &buffer, NULL, NULL) != MDIST_OK) return 1;
    return raise(SIGKILL);
}

/// The victim is lost before the others save. No checkpoint results.
static void is_lost_while_saving(void) {
    World w = make_world();
    set_world(&w, 1);
    GIVES(MDIST_OK, mdist_checkpoint_save(w.checkpoint, 1, NULL, &error));
    mdist_run(w.strategy, dies_among_others, NULL, NULL, NULL); // whether it hears of the loss or not
    mdist_error_t *cause = NULL;
    const mdist_status_t status = mdist_checkpoint_save(w.checkpoint, 2, NULL, &cause);
    REQUIRE(status == MDIST_ERR_PEER_LOST);
    REQUIRE(mdist_error_rank(cause) == victim);
    mdist_error_free(cause);
    REQUIRE(mdist_checkpoint_save(w.checkpoint, 2, NULL, NULL) != MDIST_OK);
    uint64_t number = 0;
    if (rank == 0) GIVES(MDIST_OK, mdist_checkpoint_latest(folder(), &number, &error));
    REQUIRE(rank != 0 || number == 1);
    destroy_world(&w);
}

static char own_folder[64], folder_variable[96];

static int make_folder(void **state) {
    (void)state;
    snprintf(own_folder, sizeof own_folder, "/tmp/mdist-multi-checkpoint-XXXXXX");
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

static Workers job_of(const char *scenario, uint32_t count, const char *devices) {
    static const char *environment[2];
    environment[0] = folder_variable;
    return (Workers){.scenario = scenario, .count = count, .devices = devices, .environment = environment};
}

static void any_layout_restores_what_any_other_saved(void **unused) {
    (void)unused;
    static const struct {
        uint32_t workers;
        const char *devices;
    } layouts[] = {{2, "cpu*1"}, {2, "cpu*2"},       {3, "cpu*2|cpu*1|cpu*1"},
                   {3, "cpu*1"}, {2, "cpu*1|cpu*2"}, {1, "cpu*3"}};
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; ++i) {
        const Workers saves = job_of("saves_and_restores", layouts[i].workers, layouts[i].devices);
        assert_int_equal(run_workers(&saves), 0);
        const size_t other = (i + 1) % (sizeof layouts / sizeof layouts[0]);
        const Workers restores_it = job_of("restores", layouts[other].workers, layouts[other].devices);
        assert_int_equal(run_workers(&restores_it), 0);
    }
}

static void what_fails_on_one_worker_fails_on_all(void **unused) {
    (void)unused;
    const Workers job = job_of("fail_alike", 3, "cpu*1");
    assert_int_equal(run_workers(&job), 0);
}

static void a_worker_that_is_lost_leaves_the_checkpoint_before(void **unused) {
    (void)unused;
    Workers job = job_of("is_lost_while_saving", 3, "cpu*1");
    job.victim = 1;
    job.killed = 1;
    assert_int_equal(run_workers(&job), 0);
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(any_layout_restores_what_any_other_saved, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_fails_on_one_worker_fails_on_all, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_worker_that_is_lost_leaves_the_checkpoint_before, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {
        {"saves_and_restores", saves_and_restores},
        {"restores", restores},
        {"fail_alike", fail_alike},
        {"is_lost_while_saving", is_lost_while_saving},
    };
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
