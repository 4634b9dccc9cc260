// SPDX-License-Identifier: Apache-2.0
// Elastic jobs of real processes. Each test runs a small training, kills workers at chosen places, and compares the
// result with that of a training that was not disturbed. The test itself serves the store, and tells it who has ended.
#include "elastic_training.h"
#include "mdist_test.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct Worker {
    pid_t pid;
    int out;
    uint64_t id;
    int ended, status;
    char text[4096];
} Worker;

typedef struct Job {
    mdist_store_t *store;
    char address[256];
    Worker workers[32];
    uint32_t count; // started so far
    uint32_t size;
    int keeps_size; // lost workers are replaced, and the others wait for them
    int none_fails; // the test has failed, and ends all workers, if one ends by itself without a result
} Job;

static const char *self;

static void set_number(const char *name, uint64_t number) {
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, number);
    setenv(name, text, 1);
}

static void begin(Job *job, uint32_t size, uint32_t least, const char *copies, const char *link) {
    memset(job, 0, sizeof *job);
    job->size = size;
    setenv("MDIST_ELASTIC_REPLICAS", "8", 1);
    set_number("MDIST_ELASTIC_MIN_WORKERS", least);
    set_number("MDIST_ELASTIC_MAX_WORKERS", size);
    setenv("MDIST_ELASTIC_WAIT", "30s", 1);
    setenv("MDIST_ELASTIC_COPIES", copies, 1);
    setenv("MDIST_ELASTIC_MAX_LOSSES_PER_COMMIT", "10", 1);
    setenv("MDIST_COMMUNICATION_IMPLEMENTATION", link, 1);
    setenv("MDIST_COMMUNICATION_HEARTBEAT_TIMEOUT", "10s", 1);
    setenv("MDIST_COMMUNICATION_JOIN_TIMEOUT", "60s", 1);
    mdist_error_t *error = NULL;
    OK(mdist_store_create_elastic("127.0.0.1:0", NULL, "elastic", NULL, &job->store, &error));
    OK(mdist_store_address(job->store, job->address, sizeof job->address, NULL, &error));
}

static void start(Job *job, const char *die) {
    Worker *const worker = &job->workers[job->count];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    worker->id = 1000 + job->count;
    worker->out = ends[0];
    worker->pid = fork();
    assert_true(worker->pid >= 0);
    if (worker->pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        setenv("MDIST_BOOTSTRAP", "env", 1);
        setenv("MDIST_STORE", job->address, 1);
        setenv("MDIST_STORE_OWNER", "launcher", 1);
        setenv("MDIST_JOB_ID", "elastic", 1);
        set_number("MDIST_RANK", job->count % job->size);
        set_number("MDIST_SIZE", job->size > 1 ? job->size : 2); // one worker needs the store, too
        set_number("MDIST_WORKER_ID", worker->id);
        if (die != NULL) setenv("TEST_DIE", die, 1);
        if (job->keeps_size) set_number("TEST_WANTED", job->size);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl(self, self, "worker", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    ++job->count;
}

static void read_text(Worker *worker) {
    size_t used = 0;
    ssize_t got;
    while ((got = read(worker->out, worker->text + used, sizeof worker->text - 1 - used)) > 0 ||
           (got < 0 && errno == EINTR))
        used += got > 0 ? (size_t)got : 0;
    close(worker->out);
}

/// Waits for one worker, or for any if `pid` is -1. Replaces it if it was killed and the job keeps its size. Returns 0
/// if there is none.
static int reap(Job *job, pid_t pid) {
    int status = 0;
    pid = waitpid(pid, &status, 0);
    if (pid < 0) return 0;
    for (uint32_t i = 0; i < job->count; ++i) {
        Worker *const worker = &job->workers[i];
        if (worker->pid != pid) continue;
        worker->ended = 1;
        worker->status = status;
        mdist_store_worker_ended(job->store, worker->id, NULL);
        read_text(worker);
        if (job->keeps_size && WIFSIGNALED(status)) start(job, NULL);
        if (job->none_fails && WIFEXITED(status) && WEXITSTATUS(status) != 0) {
            job->keeps_size = 0;
            for (uint32_t k = 0; k < job->count; ++k)
                if (!job->workers[k].ended) kill(job->workers[k].pid, SIGKILL);
        }
        break;
    }
    return 1;
}

static void finish(Job *job) {
    while (reap(job, -1)) continue;
    mdist_store_destroy(job->store);
}

/// The result that all workers but those killed have printed. Fails the test if they differ, or one failed.
static void expect(const Job *job, const char *result, uint32_t killed) {
    uint32_t dead = 0;
    for (uint32_t i = 0; i < job->count; ++i) {
        const Worker *const worker = &job->workers[i];
        if (WIFSIGNALED(worker->status)) {
            ++dead;
            continue;
        }
        const char *const printed = strstr(worker->text, "result ");
        if (printed == NULL || strncmp(printed, result, strlen(result)) != 0 || worker->status != 0) {
            print_error("worker %" PRIu32 " ended with status %d; wanted %s, it said:\n%s\n", i, worker->status, result,
                        worker->text);
            fail();
        }
    }
    assert_int_equal(dead, killed);
}

static char undisturbed[64]; // "result 0123456789abcdef"

static void take_result(const Job *job, char result[64]) {
    const char *const printed = strstr(job->workers[0].text, "result ");
    if (printed == NULL) print_error("worker 0 said:\n%s\n", job->workers[0].text);
    assert_non_null(printed);
    memcpy(result, printed, 23);
    result[23] = '\0';
}

static void workers_of_any_number_have_the_same_result(void **state) {
    (void)state;
    for (uint32_t size = 1; size <= 4; ++size) {
        Job job;
        begin(&job, size, 1, "1", "tcp");
        for (uint32_t i = 0; i < size; ++i) start(&job, NULL);
        finish(&job);
        if (size == 1) take_result(&job, undisturbed);
        expect(&job, undisturbed, 0);
    }
}

static void run_with(uint32_t size, const char *const *die, uint32_t deaths, const char *copies, const char *link,
                     int replace) {
    Job job;
    begin(&job, size, 1, copies, link);
    job.keeps_size = replace;
    for (uint32_t i = 0; i < size; ++i) start(&job, i < deaths ? die[i] : NULL);
    finish(&job);
    expect(&job, undisturbed, deaths);
}

static void the_others_go_on_when_one_is_killed(void **state) {
    (void)state;
    static const char *const places[] = {"step 7 0", "step 7 1", "step 0 0", "step 1 0",
                                         "save 6 0", "save 6 1", "step 23 0"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; ++i)
        for (int shm = 0; shm < 2; ++shm) {
            const char *const die[] = {places[i]};
            run_with(4, die, 1, "1", shm ? "auto" : "tcp", 0);
        }
}

static void a_newcomer_takes_the_place(void **state) {
    (void)state;
    const char *const die[] = {"step 7 0"};
    run_with(4, die, 1, "1", "tcp", 1);
    run_with(2, die, 1, "1", "auto", 1);
}

/// Each replica has a dataset of its own. Those of replicas 0 and 1 end before the training does.
static void datasets_of_replicas_go_on(void **state) {
    (void)state;
    setenv("TEST_FUNCTION", "by replica", 1);
    char result[64];
    for (uint32_t size = 1; size <= 4; ++size) {
        Job job;
        begin(&job, size, 1, "1", "tcp");
        for (uint32_t i = 0; i < size; ++i) start(&job, NULL);
        finish(&job);
        if (size == 1) take_result(&job, result);
        expect(&job, result, 0);
    }
    assert_string_not_equal(result, undisturbed);
    static const char *const die[][2] = {{"step 7 0", "step 16 99"}, {"step 13 0", "save 21 99"}, {"step 22 2", NULL}};
    for (size_t i = 0; i < 6; ++i) {
        const int replace = i >= 3, ahead = i == 1 || i == 4;
        if (ahead) setenv("MDIST_DATA_PREFETCH_ON_DEVICE", "true", 1);
        Job job;
        begin(&job, 3, 1, "1", i % 2 == 0 ? "tcp" : "auto");
        job.keeps_size = replace;
        for (uint32_t k = 0; k < 3; ++k) start(&job, k < 2 ? die[i % 3][k] : NULL);
        finish(&job);
        expect(&job, result, i % 3 == 2 ? 1 : 2);
        unsetenv("MDIST_DATA_PREFETCH_ON_DEVICE");
    }
    unsetenv("TEST_FUNCTION");
}

/// A function that looks at the worker is found out when workers differ.
static void datasets_that_depend_on_workers_are_refused(void **state) {
    (void)state;
    setenv("TEST_FUNCTION", "by worker", 1);
    Job job;
    begin(&job, 2, 2, "1", "tcp");
    for (uint32_t i = 0; i < 2; ++i) start(&job, NULL);
    finish(&job);
    for (uint32_t i = 0; i < 2; ++i) {
        const char *const text = job.workers[i].text;
        print_message("%s", text);
        assert_non_null(strstr(text, "MISMATCH different_calls"));
        assert_non_null(strstr(text, "for replica 0 the dataset range(160 numbers from 0, step 1)"));
        assert_non_null(strstr(text, "shard(8, 1)"));
    }
    unsetenv("TEST_FUNCTION");
}

static void gradients_go_on(void **state) {
    (void)state;
    const char *const die[] = {"step 7 0"};
    setenv("TEST_GRADIENTS", "1", 1);
    for (int shm = 0; shm < 2; ++shm) {
        run_with(4, die, 0, "1", shm ? "auto" : "tcp", 0);
        run_with(3, die, 1, "1", shm ? "auto" : "tcp", 0);
        run_with(4, die, 1, "1", shm ? "auto" : "tcp", 1);
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
    run_with(4, die, 2, "2", "tcp", 0);
}

/// Nothing belongs to one replica, so any worker that is left has the whole state.
static void all_but_one_are_lost_where_all_is_mirrored(void **state) {
    (void)state;
    setenv("TEST_MIRRORED", "1", 1);
    char result[64];
    Job job;
    begin(&job, 1, 1, "1", "tcp");
    start(&job, NULL);
    finish(&job);
    take_result(&job, result);
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
    run_with(4, die, 2, "2", "tcp", 0);
}

/// A newcomer has been told that it lacks the commit, but has got nothing of it, when the worker that would send it is
/// lost. It must not take part in the next generation as one that has the commit.
static void one_is_lost_before_it_sends_a_commit(void **state) {
    (void)state;
    for (int mirrored = 0; mirrored < 2; ++mirrored) {
        if (mirrored) setenv("TEST_MIRRORED", "1", 1);
        char result[64];
        Job job;
        begin(&job, 1, 1, "1", "tcp");
        start(&job, NULL);
        finish(&job);
        take_result(&job, result);
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
    run_with(4, die, 2, "1", "tcp", 0);
    run_with(4, die, 2, "1", "tcp", 1);
}

static uint64_t reads_of(const Worker *worker) {
    const char *const told = strstr(worker->text, "reads ");
    assert_non_null(told);
    return strtoull(told + strlen("reads "), NULL, 10);
}

/// A survivor takes what it has kept of its input. With another number of bytes, or none, it reads again, and has the
/// same result.
static void survivors_go_back_in_their_input(void **state) {
    (void)state;
    Job job;
    begin(&job, 2, 1, "1", "tcp");
    for (uint32_t i = 0; i < 2; ++i) start(&job, NULL);
    finish(&job);
    const uint64_t once = reads_of(&job.workers[0]);
    assert_int_equal(reads_of(&job.workers[1]), once);
    static const char *const limits[] = {NULL, "0", "150"}; // an element has 104 bytes
    for (size_t i = 0; i < 6; ++i) {
        const char *const limit = limits[i % 3];
        const int ahead = i >= 3;
        if (limit != NULL) setenv("MDIST_ELASTIC_REWIND_BYTES", limit, 1);
        if (ahead) setenv("MDIST_DATA_PREFETCH_ON_DEVICE", "true", 1);
        begin(&job, 3, 1, "1", "tcp");
        start(&job, "step 8 0"); // the last commit is of step 6
        start(&job, "step 16 99");
        start(&job, NULL);
        finish(&job);
        expect(&job, undisturbed, 2);
        const uint64_t read = reads_of(&job.workers[2]);
        if (limit == NULL && !ahead) assert_int_equal(read, once);
        if (limit == NULL && ahead) assert_in_range(read, once, once + 8 * 13); // one element for each of its replicas
        if (limit != NULL) assert_true(read > once + 8 * 13);
        unsetenv("MDIST_ELASTIC_REWIND_BYTES");
        unsetenv("MDIST_DATA_PREFETCH_ON_DEVICE");
    }
}

static void await_begin(const Worker *worker) {
    char line[6];
    for (size_t got = 0; got < sizeof line;) {
        const ssize_t more = read(worker->out, line + got, sizeof line - got);
        assert_true(more > 0 || errno == EINTR);
        got += more > 0 ? (size_t)more : 0;
    }
    assert_memory_equal(line, "begun\n", sizeof line);
}

/// The others go on without a worker that is stopped for too long. When it runs again, it has no say any more.
static void a_frozen_worker_is_left_behind(void **state) {
    (void)state;
    setenv("TEST_STEPS", "90", 1);
    char result[64];
    Job job;
    begin(&job, 2, 1, "1", "tcp");
    for (uint32_t i = 0; i < 2; ++i) start(&job, NULL);
    finish(&job);
    take_result(&job, result);
    for (int shm = 0; shm < 2; ++shm) {
        begin(&job, 3, 1, "1", shm ? "auto" : "tcp");
        mdist_store_destroy(job.store); // one with a shorter limit
        setenv("MDIST_COMMUNICATION_HEARTBEAT_TIMEOUT", "1s", 1);
        mdist_error_t *error = NULL;
        OK(mdist_store_create_elastic("127.0.0.1:0", NULL, "elastic", NULL, &job.store, &error));
        OK(mdist_store_address(job.store, job.address, sizeof job.address, NULL, &error));
        for (uint32_t i = 0; i < 3; ++i) start(&job, NULL);
        for (uint32_t i = 0; i < 3; ++i) await_begin(&job.workers[i]);
        kill(job.workers[1].pid, SIGSTOP);
        // It may have been so fast that all was over. Else the others end without it.
        for (uint32_t i = 0; i < 3; i += 2) reap(&job, job.workers[i].pid);
        kill(job.workers[1].pid, SIGCONT);
        finish(&job);
        for (uint32_t i = 0; i < 3; ++i) {
            const char *const text = job.workers[i].text;
            const int left_behind =
                i == 1 && (strstr(text, "ABORTED old_generation") != NULL || strstr(text, "ABORTED job_ended") != NULL);
            if (!left_behind && strstr(text, result) == NULL) {
                print_error("worker %" PRIu32 " said: %s\n", i, text);
                fail();
            }
        }
    }
    unsetenv("TEST_STEPS");
}

/// The others take over its replicas at the next commit.
static void a_worker_that_is_asked_to_leave_does(void **state) {
    (void)state;
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
    OK(mdist_store_dismiss(job.store, job.workers[1].id, &error));
    reap(&job, job.workers[1].pid);
    assert_non_null(strstr(job.workers[1].text, "ABORTED dismissed"));
    OK(mdist_store_dismiss(job.store, job.workers[0].id, &error)); // one would be left, which is too few
    FILE *const opened = fopen(gate, "w");
    assert_non_null(opened);
    fclose(opened);
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
    FAILS(MDIST_ERR_CONFIG, mdist_store_create_elastic("127.0.0.1:0", config, "", NULL, &store, &error));
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
        FAILS(MDIST_ERR_CONFIG, mdist_store_create_elastic("127.0.0.1:0", config, "", NULL, &store, &error));
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
    finish(&job);
    for (uint32_t i = 2; i < 4; ++i) {
        assert_non_null(strstr(job.workers[i].text, "DATA_LOSS replica_lost"));
        assert_non_null(strstr(job.workers[i].text, "replicas 0, 1"));
    }
}

/// Kills one worker, or two, at random moments, from outside.
static void disturb(uint64_t seed, const char *result) {
    static const char *const links[] = {"tcp", "auto"};
    uint64_t random = mixed(seed * 2654435761u + 1);
    const uint32_t size = 2 + (uint32_t)(random % 3), kills = size > 2 && random / 3 % 3 == 0 ? 2 : 1;
    Job job;
    begin(&job, size, 1, kills == 2 ? "2" : "1", links[random / 16 % 2]);
    job.keeps_size = random / 32 % 2;
    for (uint32_t i = 0; i < size; ++i) start(&job, NULL);
    for (uint32_t i = 0; i < size; ++i) await_begin(&job.workers[i]);
    for (uint32_t i = 0; i < kills; ++i) {
        random = mixed(random + seed);
        const struct timespec pause = {0, (long)(random % 50000000)};
        nanosleep(&pause, NULL);
        const pid_t victim = job.workers[(random / 64 + i) % size].pid;
        if (kill(victim, SIGKILL) == 0) reap(&job, victim);
    }
    finish(&job);
    uint32_t dead = 0, good = 0;
    while (good < size && job.workers[good].status != 0) ++good;
    assert_true(good < size);
    for (uint32_t i = 0; i < job.count; ++i) {
        dead += WIFSIGNALED(job.workers[i].status) ? 1 : 0;
        // A newcomer came too late: the others had the result, and had begun to leave.
        const char *const text = job.workers[i].text;
        const int late = strstr(text, "job_ended") != NULL || strstr(text, "replica_lost") != NULL;
        if (i >= size && late) job.workers[i] = job.workers[good];
    }
    assert_true(dead <= kills);
    expect(&job, result, dead);
}

static void random_kills_change_nothing(void **state) {
    (void)state;
    const char *const first = getenv("MDIST_TEST_SEED"), *const count = getenv("MDIST_TEST_COUNT");
    const uint64_t seed = first != NULL ? strtoull(first, NULL, 10) : 1;
    const uint64_t runs = count != NULL ? strtoull(count, NULL, 10) : 12;
    setenv("TEST_STEPS", "90", 1);
    Job job;
    char result[64];
    begin(&job, 2, 1, "1", "tcp");
    for (uint32_t i = 0; i < 2; ++i) start(&job, NULL);
    finish(&job);
    take_result(&job, result);
    for (uint64_t run = 0; run < runs; ++run) {
        if (count != NULL) print_message("begins seed %" PRIu64 "\n", seed + run);
        disturb(seed + run, result);
    }
    unsetenv("TEST_STEPS");
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "worker") == 0) return elastic_training();
    self = argv[0];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_of_any_number_have_the_same_result),
        cmocka_unit_test(the_others_go_on_when_one_is_killed),
        cmocka_unit_test(a_newcomer_takes_the_place),
        cmocka_unit_test(survivors_go_back_in_their_input),
        cmocka_unit_test(datasets_of_replicas_go_on),
        cmocka_unit_test(datasets_that_depend_on_workers_are_refused),
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
        cmocka_unit_test(newcomers_that_differ_are_turned_away),
        cmocka_unit_test(random_kills_change_nothing),
        cmocka_unit_test(a_frozen_worker_is_left_behind),
        cmocka_unit_test(a_job_of_fixed_size_refuses),
    };
    if (getenv("MDIST_TEST_SEED") != NULL) cmocka_set_test_filter("random*");
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
