// SPDX-License-Identifier: Apache-2.0
// Elastic jobs of real processes. Each test runs a small training, kills workers at chosen places, and compares the
// result with that of a training that was not disturbed.
#include "elastic_job.h"
#include "elastic_training.h"
#include "stores.h"
#include "time_limits.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static char undisturbed[64]; // "result 0123456789abcdef"

static void workers_of_any_number_have_the_same_result(void **state) {
    (void)state;
    for (uint32_t size = 1; size <= 4; ++size) {
        Job job;
        char again[64];
        run_undisturbed(&job, size, size == 1 ? undisturbed : again);
        if (size > 1) assert_string_equal(again, undisturbed);
    }
}

static void the_others_go_on_when_one_is_killed(void **state) {
    (void)state;
    static const char *const places[] = {"step 7 0", "step 7 1", "step 0 0", "step 1 0",
                                         "save 6 0", "save 6 1", "step 23 0"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; ++i)
        for (int shm = 0; shm < 2; ++shm) {
            const char *const die[] = {places[i]};
            lose(4, die, 1, "1", shm ? "auto" : "tcp", 0, undisturbed);
        }
}

static void a_newcomer_takes_the_place(void **state) {
    (void)state;
    const char *const die[] = {"step 7 0"};
    lose(4, die, 1, "1", "tcp", 1, undisturbed);
    lose(2, die, 1, "1", "auto", 1, undisturbed);
}

static void gradients_go_on(void **state) {
    (void)state;
    const char *const die[] = {"step 7 0"};
    setenv("TEST_GRADIENTS", "1", 1);
    for (int shm = 0; shm < 2; ++shm) {
        lose(4, die, 0, "1", shm ? "auto" : "tcp", 0, undisturbed);
        lose(3, die, 1, "1", shm ? "auto" : "tcp", 0, undisturbed);
        lose(4, die, 1, "1", shm ? "auto" : "tcp", 1, undisturbed);
    }
    unsetenv("TEST_GRADIENTS");
}

static void handles_of_an_old_generation_are_refused(void **state) {
    (void)state;
    setenv("TEST_OLD_HANDLES", "1", 1);
    Job job;
    begin(&job, 2, 1, "1", "tcp");
    start(&job, "step 7 99");
    start(&job, NULL);
    finish(&job);
    expect(&job, "result refused", 1);
    unsetenv("TEST_OLD_HANDLES");
}

static void two_losses_at_once_need_two_copies(void **state) {
    (void)state;
    const char *const die[] = {"step 7 0", "step 7 2"};
    lose(4, die, 2, "2", "tcp", 0, undisturbed);
}

/// Nothing belongs to one replica, so any worker that is left has the whole state.
static void all_but_one_are_lost_where_all_is_mirrored(void **state) {
    (void)state;
    setenv("TEST_MIRRORED", "1", 1);
    char result[64];
    Job job;
    run_undisturbed(&job, 1, result);
    for (int shm = 0; shm < 2; ++shm) {
        begin(&job, 4, 1, "1", shm ? "auto" : "tcp");
        for (uint32_t i = 0; i < 4; ++i) start(&job, i < 3 ? "step 7 99" : NULL);
        finish(&job);
        expect(&job, result, 3);
    }
    unsetenv("TEST_MIRRORED");
}

static void one_more_is_lost_in_the_regroup(void **state) {
    (void)state;
    const char *const die[] = {"step 7 0", "restore 0 2"};
    lose(4, die, 2, "2", "tcp", 0, undisturbed);
}

/// A newcomer has been told that it lacks the commit, but has got nothing of it, when the worker that would send it is
/// lost. It must not take part in the next generation as one that has the commit.
static void one_is_lost_before_it_sends_a_commit(void **state) {
    (void)state;
    for (int mirrored = 0; mirrored < 2; ++mirrored) {
        if (mirrored) setenv("TEST_MIRRORED", "1", 1);
        char result[64];
        Job job;
        run_undisturbed(&job, 1, result);
        begin(&job, 3, 1, "2", "tcp");
        job.keeps_size = job.none_fails = 1;
        static const char *const die[] = {"step 7 0", "ship 0 99", NULL};
        for (uint32_t i = 0; i < 3; ++i) start(&job, die[i]);
        finish(&job);
        expect(&job, result, 2);
    }
    unsetenv("TEST_MIRRORED");
}

/// The commit fails on all workers, in the same words. None of them is lost, and the commit before stays.
static void a_blob_that_cannot_be_saved_is_no_loss(void **state) {
    (void)state;
    for (int regroups = 0; regroups < 2; ++regroups) {
        if (!regroups) setenv("TEST_NO_REGROUP", "1", 1);
        Job job;
        begin(&job, 3, 1, "1", "tcp");
        setenv("MDIST_ELASTIC_MAX_LOSSES_PER_COMMIT", "0", 1); // a loss would end the job
        for (uint32_t i = 0; i < 3; ++i) start(&job, i == 1 ? "fail 6 4" : NULL);
        finish(&job);
        expect(&job, undisturbed, 0);
        for (uint32_t i = 0; i < 3; ++i) {
            const char *const text = job.workers[i].text;
            assert_non_null(strstr(text, "failed: "));
            assert_non_null(strstr(text, "the function that saves blob \"generator\" of replica 4"));
            assert_non_null(strstr(text, regroups ? "generation 2 workers 3" : "generation 1 workers 3"));
        }
        unsetenv("TEST_NO_REGROUP");
    }
}

static void two_losses_with_a_commit_between(void **state) {
    (void)state;
    const char *const die[] = {"step 7 0", "step 13 99"};
    lose(4, die, 2, "1", "tcp", 0, undisturbed);
    lose(4, die, 2, "1", "tcp", 1, undisturbed);
}

static int is_left_behind(const Worker *worker) {
    return strstr(worker->text, "ABORTED old_generation") != NULL ||
           strstr(worker->text, "ABORTED job_ended") != NULL || strstr(worker->text, "ABORTED dropped") != NULL;
}

static void make_file(const char *path) {
    FILE *const made = fopen(path, "w");
    assert_non_null(made);
    fclose(made);
}

/// Runs a job in which worker 1 is stopped, or hangs in a step until there is the file `hang`.over. Returns whether one
/// of the others was left behind, too.
static int freeze_one(const char *link, uint64_t limit_ms, const char *result, const char *hang) {
    Job job;
    char limit[32];
    mdist_error_t *error = NULL;
    int late = 0;
    begin(&job, 3, 1, "1", link);
    mdist_store_destroy(job.store); // one with a shorter limit
    snprintf(limit, sizeof limit, "%ums", (unsigned)limit_ms);
    setenv("MDIST_COMMUNICATION_HEARTBEAT_TIMEOUT", limit, 1);
    if (hang != NULL) setenv("MDIST_COMMUNICATION_TIMEOUT", limit, 1);
    job.store = begin_elastic_store("elastic", job.address, sizeof job.address);
    for (uint32_t i = 0; i < 3; ++i) start(&job, i != 1 ? NULL : hang != NULL ? "hang 7 4" : "hold 7 4");
    int status = 0; // it stops itself in a step, and the others go on without it
    if (hang == NULL) {
        assert_int_equal(waitpid(job.workers[1].pid, &status, WUNTRACED), job.workers[1].pid);
        assert_true(WIFSTOPPED(status));
    }
    for (uint32_t i = 0; i < 3; i += 2) reap(&job, job.workers[i].pid);
    uint64_t id = 0;
    int32_t departure = 0;
    OK(mdist_store_left_behind(job.store, &id, &departure, &error)); // what a launcher ends
    const int is_told = id == job.workers[1].id && departure == MDIST_DEPARTURE_LOST;
    if (hang == NULL) {
        kill(job.workers[1].pid, SIGCONT);
        finish(&job);
    } else {
        char over[128];
        snprintf(over, sizeof over, "%s.over", hang);
        make_file(over);
        finish(&job);
        remove(hang);
        remove(over);
        unsetenv("MDIST_COMMUNICATION_TIMEOUT");
    }
    for (uint32_t i = 0; i < 3; ++i) {
        const Worker *const worker = &job.workers[i];
        if (i == 1 ? is_left_behind(worker) : strstr(worker->text, result) != NULL) continue;
        print_error("worker %" PRIu32 " said: %s\n", i, worker->text);
        late = late || is_left_behind(worker) || strstr(worker->text, "DATA_LOSS") != NULL ||
               strstr(worker->text, "TIMEOUT") != NULL;
        assert_true(late);
    }
    assert_true(late || is_told);
    assert_true(late || hang == NULL || strstr(job.workers[1].text, "ABORTED dropped") != NULL);
    return late;
}

/// The others go on without a worker that is stopped for too long. When it runs again, it has no say any more.
static void a_frozen_worker_is_left_behind(void **state) {
    (void)state;
    setenv("TEST_STEPS", "90", 1);
    char result[64];
    Job job;
    run_undisturbed(&job, 2, result);
    for (int shm = 0; shm < 2; ++shm) {
        Tries tries = {.what = "a frozen worker", .limit_ms = 3000};
        while (another_try(&tries)) tries.late = freeze_one(shm ? "auto" : "tcp", tries.limit_ms, result, NULL);
        assert_false(tries.late);
    }
    unsetenv("TEST_STEPS");
}

/// The same of one whose library answers all the time. It is told that it was dropped.
static void a_worker_that_hangs_is_left_behind(void **state) {
    (void)state;
    char folder[] = "/tmp/mdist-hang-XXXXXX", hang[64];
    assert_non_null(mkdtemp(folder));
    snprintf(hang, sizeof hang, "%s/hangs", folder);
    setenv("TEST_HANG", hang, 1);
    for (int shm = 0; shm < 2; ++shm) {
        Tries tries = {.what = "a worker that hangs", .limit_ms = 2000};
        while (another_try(&tries)) tries.late = freeze_one(shm ? "auto" : "tcp", tries.limit_ms, undisturbed, hang);
        assert_false(tries.late);
    }
    unsetenv("TEST_HANG");
    rmdir(folder);
}

/// By the launcher, or by a signal that its own program hears.
static void ask_to_leave(Job *job, uint32_t worker, int by_signal) {
    mdist_error_t *error = NULL;
    if (by_signal)
        assert_int_equal(kill(job->workers[worker].pid, SIGTERM), 0);
    else
        OK(mdist_store_dismiss(job->store, job->workers[worker].id, &error));
}

/// The others take over its replicas at the next commit.
static void leave_when_asked(int by_signal) {
    mdist_error_t *error = NULL;
    char folder[] = "/tmp/mdist-gate-XXXXXX", gate[64];
    assert_non_null(mkdtemp(folder));
    snprintf(gate, sizeof gate, "%s/open", folder);
    setenv("TEST_GATE", gate, 1); // the job does not end before
    Job job;
    begin(&job, 3, 2, "1", "auto");
    for (uint32_t i = 0; i < 3; ++i) start(&job, NULL);
    for (uint32_t i = 0; i < 3; ++i) await_begin(&job.workers[i]);
    OK(mdist_store_dismiss(job.store, 77, &error)); // nobody has this id
    ask_to_leave(&job, 1, by_signal);
    reap(&job, job.workers[1].pid);
    assert_non_null(strstr(job.workers[1].text, "ABORTED dismissed"));
    ask_to_leave(&job, 0, by_signal); // one would be left, which is too few
    make_file(gate);
    finish(&job);
    for (uint32_t i = 0; i < 3; i += 2) {
        assert_int_equal(job.workers[i].status, 0);
        assert_non_null(strstr(job.workers[i].text, undisturbed));
        assert_non_null(strstr(job.workers[i].text, "generation 2 workers 2"));
    }
    unlink(gate);
    rmdir(folder);
    unsetenv("TEST_GATE");
}

static void a_worker_that_is_asked_to_leave_does(void **state) {
    (void)state;
    leave_when_asked(0);
}

static void a_worker_that_says_that_it_leaves_does(void **state) {
    (void)state;
    setenv("TEST_LEAVES", "1", 1);
    leave_when_asked(1);
    unsetenv("TEST_LEAVES");
}

static void newcomers_that_differ_are_turned_away(void **state) {
    (void)state;
    static const char *const differences[][2] = {{"blob", "blob \"other\" of 4 bytes"},
                                                 {"shape", "float32 [999]"},
                                                 {"dataset", "this worker has iterator over "},
                                                 {"config", "elastic.copies = 2"}};
    for (size_t i = 0; i < sizeof differences / sizeof differences[0]; ++i) {
        const char *const what = differences[i][0];
        const int refused_by_store = strcmp(what, "config") == 0;
        Job job;
        begin(&job, 2, 1, "1", "tcp");
        job.keeps_size = 1; // the others wait until a newcomer fits
        start(&job, "step 7 0");
        start(&job, NULL);
        setenv("TEST_STRANGER", what, 1); // for the first newcomer
        if (refused_by_store) setenv("MDIST_ELASTIC_COPIES", "2", 1);
        assert_int_equal(reap(&job, job.workers[0].pid), 1);
        unsetenv("TEST_STRANGER");
        setenv("MDIST_ELASTIC_COPIES", "1", 1);
        assert_int_equal(reap(&job, job.workers[2].pid), 1);
        const char *const said = job.workers[2].text;
        print_message("%s", said);
        assert_non_null(strstr(said, refused_by_store ? "CONFIG different_config" : "MISMATCH different_program"));
        assert_non_null(strstr(said, differences[i][1]));
        start(&job, NULL);
        finish(&job);
        for (uint32_t worker = 1; worker < 4; worker += 2)
            assert_non_null(strstr(job.workers[worker].text, undisturbed));
    }
}

static void a_job_of_fixed_size_refuses(void **state) {
    (void)state;
    for (const char *const *name = (const char *const[]){"REPLICAS", "MIN_WORKERS", "MAX_WORKERS", "WAIT", "COPIES",
                                                         "MAX_LOSSES_PER_COMMIT", "REWIND_BYTES", NULL};
         *name != NULL; ++name) {
        char variable[64];
        snprintf(variable, sizeof variable, "MDIST_ELASTIC_%s", *name);
        unsetenv(variable);
    }
    mdist_error_t *error = NULL;
    mdist_config_t *config;
    mdist_strategy_t *strategy;
    mdist_store_t *store;
    OK(mdist_config_create(&config, &error));
    OK(mdist_strategy_create(config, &strategy, &error));
    assert_int_equal(mdist_commit(strategy, 0, NULL, &error), MDIST_ERR_FAILED_PRECONDITION);
    assert_string_equal(mdist_error_reason(error), "not_elastic");
    mdist_error_free(error);
    FAILS(MDIST_ERR_FAILED_PRECONDITION, mdist_regroup(strategy, NULL, NULL, &error));
    assert_int_equal(mdist_strategy_is_joining(strategy), 0);
    mdist_strategy_destroy(strategy);
    FAILS(MDIST_ERR_CONFIG, create_elastic_store(config, "", &store, &error));
    OK(mdist_config_set(config, "elastic.copies", "2", &error)); // without replicas
    FAILS(MDIST_ERR_CONFIG, mdist_strategy_create(config, &strategy, &error));
    OK(mdist_config_set(config, "elastic.replicas", "4", &error));
    assert_int_equal(mdist_strategy_create(config, &strategy, &error), MDIST_ERR_CONFIG);
    assert_string_equal(mdist_error_reason(error), "elastic_store");
    mdist_error_free(error);
    static const char *const wrong[][2] = {
        {"elastic.min_workers", "5"}, {"elastic.max_workers", "5"},       {"devices", "cpu*2"},   {"data.order", "tf"},
        {"strategy", "in_graph"},     {"data.auto_shard_policy", "file"}, {"elastic.copies", "0"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        mdist_config_destroy(config);
        OK(mdist_config_create(&config, &error));
        OK(mdist_config_set(config, "elastic.replicas", "4", &error));
        OK(mdist_config_set(config, wrong[i][0], wrong[i][1], &error));
        FAILS(MDIST_ERR_CONFIG, create_elastic_store(config, "", &store, &error));
    }
    mdist_config_destroy(config);
}

static void too_many_losses_name_the_replicas(void **state) {
    (void)state;
    Job job;
    begin(&job, 4, 1, "1", "tcp");
    setenv("MDIST_COMMUNICATION_HEARTBEAT_TIMEOUT", "600s", 1);
    start(&job, "hold 7 0");
    start(&job, "hold 7 2"); // has what belongs to replicas 0 and 1, too
    for (int i = 0; i < 2; ++i) start(&job, NULL);
    for (int i = 0; i < 2; ++i) { // both are in the step before either is lost
        int status = 0;
        assert_int_equal(waitpid(job.workers[i].pid, &status, WUNTRACED), job.workers[i].pid);
        assert_true(WIFSTOPPED(status));
    }
    for (int i = 0; i < 2; ++i) kill(job.workers[i].pid, SIGKILL);
    while (reap(&job, -1)) continue;
    mdist_error_t *error = NULL; // the store knows it, too, and describes itself all the same
    mdist_store_info_t info = {.struct_size = sizeof info};
    assert_int_equal(mdist_store_describe(job.store, &info, &error), MDIST_ERR_DATA_LOSS);
    assert_string_equal(mdist_error_reason(error), "replica_lost");
    assert_string_equal(info.address, job.address);
    assert_string_equal(info.progress, mdist_error_message(error));
    assert_true(info.ended == 0 && info.committed == 1);
    mdist_error_free(error);
    finish(&job);
    for (uint32_t i = 2; i < 4; ++i) {
        assert_non_null(strstr(job.workers[i].text, "DATA_LOSS replica_lost"));
        assert_non_null(strstr(job.workers[i].text, "replicas 0, 1"));
    }
}

static void random_kills_change_nothing(void **state) {
    (void)state;
    setenv("TEST_STEPS", "90", 1);
    Job job;
    char result[64];
    run_undisturbed(&job, 2, result);
    disturb_all(12, result, NULL);
    unsetenv("TEST_STEPS");
}

int main(int argc, char **argv) {
    if (is_worker(argc, argv)) return elastic_training();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_of_any_number_have_the_same_result),
        cmocka_unit_test(the_others_go_on_when_one_is_killed),
        cmocka_unit_test(a_newcomer_takes_the_place),
        cmocka_unit_test(gradients_go_on),
        cmocka_unit_test(handles_of_an_old_generation_are_refused),
        cmocka_unit_test(two_losses_at_once_need_two_copies),
        cmocka_unit_test(all_but_one_are_lost_where_all_is_mirrored),
        cmocka_unit_test(one_more_is_lost_in_the_regroup),
        cmocka_unit_test(one_is_lost_before_it_sends_a_commit),
        cmocka_unit_test(a_blob_that_cannot_be_saved_is_no_loss),
        cmocka_unit_test(two_losses_with_a_commit_between),
        cmocka_unit_test(too_many_losses_name_the_replicas),
        cmocka_unit_test(a_worker_that_is_asked_to_leave_does),
        cmocka_unit_test(a_worker_that_says_that_it_leaves_does),
        cmocka_unit_test(newcomers_that_differ_are_turned_away),
        cmocka_unit_test(random_kills_change_nothing),
        cmocka_unit_test(a_frozen_worker_is_left_behind),
        cmocka_unit_test(a_worker_that_hangs_is_left_behind),
        cmocka_unit_test(a_job_of_fixed_size_refuses),
    };
    if (getenv("MDIST_TEST_SEED") != NULL) cmocka_set_test_filter("random*");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
