// SPDX-License-Identifier: Apache-2.0
// Elastic jobs of real processes. Each test runs a small training, kills workers at chosen places, and compares the
// result with that of a training that was not disturbed. The test itself serves the store, and tells it who has ended.
#include "mdist_test.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REPLICAS = 8, STEPS = 24, EVERY = 3, WEIGHTS = 1000, MOST_WORKERS = 8 };

// ---- The training, in a worker

static uint64_t generator[REPLICAS]; // the program's own state of each replica; a blob
static mdist_variable_t *weights, *seen;
static uint64_t now_at;
enum { ANY = 99 };                     // in the place of a replica id
static const char *die_in, *die_where; // "step 5 0": in step 5 of replica 0; also "save 6 0", "restore 0 0"
static uint64_t die_step;
static uint32_t die_replica = UINT32_MAX;

static int is_place(const char *where, uint64_t at, uint32_t replica_id) {
    return die_in != NULL && strcmp(die_where, where) == 0 && die_step == at &&
           (die_replica == replica_id || die_replica == ANY);
}

static void die_at(const char *where, uint64_t at, uint32_t replica_id) {
    if (is_place(where, at, replica_id)) raise(SIGKILL);
}

static uint64_t mixed(uint64_t x) {
    x ^= x >> 31;
    x *= 0xbf58476d1ce4e5b9u;
    return x ^ x >> 27;
}

static int32_t save(uint32_t replica_id, void *to, size_t bytes, void *user_data) {
    (void)user_data;
    die_at("save", now_at, replica_id);
    memcpy(to, &generator[replica_id], bytes);
    return 0;
}

static int32_t restore(uint32_t replica_id, const void *from, size_t bytes, void *user_data) {
    (void)user_data;
    die_at("restore", 0, replica_id);
    memcpy(&generator[replica_id], from, bytes);
    return 0;
}

static int32_t step(mdist_replica_t *replica, void *user_data) {
    const uint64_t at = *(const uint64_t *)user_data;
    const uint32_t id = mdist_replica_id(replica), local = mdist_replica_local_index(replica);
    die_at("step", at, id);
    mdist_tensor_t own, count, row;
    if (mdist_variable_tensor(weights, local, &own, NULL) != MDIST_OK) return 1;
    if (mdist_variable_tensor(seen, local, &count, NULL) != MDIST_OK) return 1;
    if (mdist_replica_argument(replica, 0, NULL, &row, NULL) != MDIST_OK) return 1;
    double rows = 0;
    const uint64_t row_count = row.shape[0];
    for (uint64_t i = 0; i < row_count; ++i) rows += (double)((const int64_t *)row.data)[i];
    generator[id] = mixed(generator[id] + at);
    float *const w = own.data;
    float gradient[WEIGHTS];
    for (int i = 0; i < WEIGHTS; ++i)
        gradient[i] =
            (float)((generator[id] >> (i % 40)) & 1023) / 997.0f - w[i] * (float)(id + 1) * 0.1f + (float)rows * 1e-3f;
    const mdist_buffer_t buffer = {gradient, WEIGHTS, MDIST_FLOAT32, 0};
    if (mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL) != MDIST_OK) return 1;
    for (int i = 0; i < WEIGHTS; ++i) w[i] += 0.01f * gradient[i];
    *(double *)count.data += rows + (double)id;
    return 0;
}

static void fail_worker(const char *what, mdist_error_t *error) {
    printf("failed %s: %s %s %s\n", what, mdist_status_name(mdist_error_status(error)), mdist_error_reason(error),
           mdist_error_message(error));
    fflush(stdout);
    _exit(3);
}

#define DO(call)                                             \
    do {                                                     \
        mdist_error_t *problem = NULL;                       \
        if ((call) != MDIST_OK) fail_worker(#call, problem); \
    } while (0)

static mdist_iterator_t *numbers_of(mdist_strategy_t *strategy) {
    mdist_dataset_t *range, *shuffled, *repeated, *batches, *dealt;
    mdist_iterator_t *iterator;
    DO(mdist_dataset_range(0, 500, 1, &range, &problem));
    DO(mdist_dataset_shuffle(range, 100, 7, 1, &shuffled, &problem));
    DO(mdist_dataset_repeat(shuffled, MDIST_FOREVER, &repeated, &problem)); // with another order each time
    DO(mdist_dataset_batch(repeated, 13, 0, &batches, &problem));
    DO(mdist_distribute_dataset(strategy, batches, &dealt, NULL, &problem));
    DO(mdist_iterator_create(dealt, &iterator, &problem));
    mdist_dataset_destroy(range);
    mdist_dataset_destroy(shuffled);
    mdist_dataset_destroy(repeated);
    mdist_dataset_destroy(batches);
    mdist_dataset_destroy(dealt);
    return iterator;
}

static uint64_t hash_of(uint64_t hash, const void *data, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) hash = (hash ^ ((const unsigned char *)data)[i]) * 0x100000001b3u;
    return hash;
}

/// Waits until somebody wants to enter. All workers ask in step.
static mdist_status_t await_newcomer(mdist_strategy_t *strategy, mdist_error_t **error) {
    for (int32_t changed = 0; !changed;) {
        const mdist_status_t status = mdist_membership_changed(strategy, &changed, NULL, error);
        if (status != MDIST_OK) return status;
        const struct timespec pause = {0, 1000000};
        nanosleep(&pause, NULL);
    }
    return MDIST_OK;
}

/// Reading takes all workers, so one may be lost here, too.
static mdist_status_t print_result(mdist_strategy_t *strategy, uint32_t generation, mdist_error_t **error) {
    uint64_t hash = 0xcbf29ce484222325u;
    mdist_value_t *value;
    mdist_tensor_t tensor;
    for (int i = 0; i < 2; ++i) {
        const mdist_status_t status = mdist_variable_read(i == 0 ? weights : seen, &value, NULL, error);
        if (status != MDIST_OK) return status;
        DO(mdist_value_tensor(value, 0, &tensor, &problem));
        hash = hash_of(hash, tensor.data, i == 0 ? WEIGHTS * sizeof(float) : sizeof(double));
        mdist_value_destroy(value);
    }
    printf("result %016" PRIx64 " generation %" PRIu32 " workers %" PRIu32 "\n", hash, generation,
           mdist_strategy_worker_count(strategy));
    fflush(stdout);
    return MDIST_OK;
}

/// Before it enters, a newcomer can neither run nor reduce nor commit.
static void check_newcomer(mdist_strategy_t *strategy) {
    mdist_error_t *error = NULL;
    uint64_t at = 0;
    const mdist_status_t ran = mdist_run(strategy, step, &at, NULL, 0, NULL, 0, NULL, &error);
    if (ran != MDIST_ERR_FAILED_PRECONDITION || strcmp(mdist_error_reason(error), "joining") != 0)
        fail_worker("mdist_run of a newcomer", error);
    mdist_error_free(error);
    error = NULL;
    if (mdist_commit(strategy, 0, NULL, &error) != MDIST_ERR_FAILED_PRECONDITION ||
        strcmp(mdist_error_reason(error), "joining") != 0)
        fail_worker("mdist_commit of a newcomer", error);
    mdist_error_free(error);
    if (mdist_strategy_replica_count(strategy) != REPLICAS) fail_worker("the number of replicas", NULL);
}

static void tell(const char *what) {
    puts(what);
    fflush(stdout);
}

/// Whether the job may end: the file that TEST_GATE names is there. All workers get the same answer.
static mdist_status_t look_at_gate(mdist_strategy_t *strategy, int *open, mdist_error_t **error) {
    const char *const gate = getenv("TEST_GATE");
    *open = 1;
    if (gate == NULL) return MDIST_OK;
    int32_t there[REPLICAS];
    mdist_buffer_t buffers[REPLICAS];
    for (uint32_t r = 0; r < REPLICAS; ++r) {
        there[r] = access(gate, F_OK) == 0;
        buffers[r] = (mdist_buffer_t){&there[r], 1, MDIST_INT32, 0};
    }
    const mdist_status_t status = mdist_strategy_all_reduce(strategy, MDIST_MIN, buffers, buffers, 1, NULL, error);
    *open = status == MDIST_OK && there[0];
    return status;
}

static int train(void) {
    mdist_strategy_t *strategy;
    mdist_blob_t *blob;
    if (getenv("TEST_PID") != NULL) printf("pid %ld\n", (long)getpid());
    DO(mdist_strategy_create(NULL, &strategy, &problem));
    static float zeros[WEIGHTS];
    static double none[1];
    const mdist_tensor_t like = {.data = zeros, .dtype = MDIST_FLOAT32, .rank = 1, .shape = {WEIGHTS}};
    const mdist_tensor_t one = {.data = none, .dtype = MDIST_FLOAT64, .rank = 1, .shape = {1}};
    mdist_variable_options_t options = {.struct_size = sizeof options};
    DO(mdist_variable_create(strategy, "weights", &like, &weights, &options, &problem));
    options.synchronization = MDIST_SYNC_ON_READ;
    options.aggregation = MDIST_AGGREGATION_SUM;
    DO(mdist_variable_create(strategy, "seen", &one, &seen, &options, &problem));
    DO(mdist_blob_create(strategy, "generator", sizeof generator[0], save, restore, NULL, NULL, &blob, &problem));
    if (getenv("TEST_STRANGER") != NULL && mdist_strategy_is_joining(strategy)) {
        mdist_blob_t *other;
        DO(mdist_blob_create(strategy, "other", 4, save, restore, NULL, NULL, &other, &problem));
    }
    for (uint32_t id = 0; id < REPLICAS; ++id) generator[id] = id + 1;
    mdist_iterator_t *const iterator = numbers_of(strategy);

    const uint32_t wanted_workers = getenv("TEST_WANTED") != NULL ? (uint32_t)atoi(getenv("TEST_WANTED")) : 0;
    mdist_change_t change = {.struct_size = sizeof change, .generation = 1};
    uint64_t at = 0;
    mdist_error_t *error = NULL;
    if (mdist_strategy_is_joining(strategy)) {
        check_newcomer(strategy);
        DO(mdist_regroup(strategy, &change, NULL, &problem));
        at = change.step;
        tell("begun");
    }
    const uint64_t steps = getenv("TEST_STEPS") != NULL ? (uint64_t)atoi(getenv("TEST_STEPS")) : STEPS;
    int begun = change.generation != 1, has_result = 0;
    for (;;) {
        now_at = at;
        mdist_value_t *element = NULL;
        const int ends = at == steps;
        const int waits = !ends && wanted_workers > mdist_strategy_worker_count(strategy);
        mdist_status_t status = waits ? await_newcomer(strategy, &error) : MDIST_OK;
        if (waits && status == MDIST_OK) {
            DO(mdist_regroup(strategy, &change, NULL, &problem));
            at = change.step;
            continue;
        }
        int32_t changed = 0;
        int open = 1;
        if (ends && status == MDIST_OK) status = look_at_gate(strategy, &open, &error);
        if (!open && status == MDIST_OK) {
            status = mdist_membership_changed(strategy, &changed, NULL, &error);
            if (status == MDIST_OK && !changed) continue;
        }
        if (ends && open && status == MDIST_OK) status = print_result(strategy, change.generation, &error);
        if (ends && open && status == MDIST_OK) { // nobody leaves, with what it holds for others, before all have the result
            has_result = 1;
            status = mdist_membership_changed(strategy, &changed, NULL, &error);
            if (status == MDIST_OK) break;
        }
        if (status == MDIST_OK && !changed) status = mdist_iterator_next(iterator, &element, 1, &error);
        if (status == MDIST_OK && !changed)
            status = mdist_run(strategy, step, &at, &element, 1, NULL, 0, NULL, &error);
        mdist_value_destroy(element);
        if (status == MDIST_OK && !begun++) tell("begun"); // all workers have the first commit
        if (status == MDIST_OK && !changed && ++at % EVERY == 0) {
            now_at = at;
            status = mdist_commit(strategy, at, NULL, &error);
            if (status == MDIST_OK) status = mdist_membership_changed(strategy, &changed, NULL, &error);
        }
        if (status == MDIST_OK && !changed) continue;
        if (error != NULL) printf("lost: %s\n", mdist_error_message(error));
        mdist_error_free(error);
        error = NULL;
        status = mdist_regroup(strategy, &change, NULL, &error);
        if (status != MDIST_OK && has_result) break; // the others have left
        if (status != MDIST_OK) fail_worker("mdist_regroup", error);
        at = change.step;
    }
    mdist_error_free(error);
    mdist_iterator_destroy(iterator);
    mdist_blob_destroy(blob);
    mdist_variable_destroy(weights);
    mdist_variable_destroy(seen);
    mdist_strategy_destroy(strategy);
    return 0;
}

static int worker_main(void) {
    die_in = getenv("TEST_DIE");
    static char where[16];
    if (die_in != NULL && sscanf(die_in, "%15s %" SCNu64 " %" SCNu32, where, &die_step, &die_replica) != 3) return 4;
    die_where = where;
    return train();
}

// ---- The job, in the test

typedef struct Worker {
    pid_t pid;
    int out;
    uint64_t id;
    int status;
    char text[4096];
} Worker;

typedef struct Job {
    mdist_store_t *store;
    char address[256];
    Worker workers[32];
    uint32_t count; // started so far
    uint32_t size;
    int keeps_size; // lost workers are replaced, and the others wait for them
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
        worker->status = status;
        mdist_store_worker_ended(job->store, worker->id, NULL);
        read_text(worker);
        if (job->keeps_size && WIFSIGNALED(status)) start(job, NULL);
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

static void two_losses_at_once_need_two_copies(void **state) {
    (void)state;
    const char *const die[] = {"step 7 0", "step 7 2"};
    run_with(4, die, 2, "2", "tcp", 0);
}

static void one_more_is_lost_in_the_regroup(void **state) {
    (void)state;
    const char *const die[] = {"step 7 0", "restore 0 2"};
    run_with(4, die, 2, "2", "tcp", 0);
}

static void two_losses_with_a_commit_between(void **state) {
    (void)state;
    const char *const die[] = {"step 7 0", "step 13 99"};
    run_with(4, die, 2, "1", "tcp", 0);
    run_with(4, die, 2, "1", "tcp", 1);
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

static void a_newcomer_that_differs_is_turned_away(void **state) {
    (void)state;
    Job job;
    begin(&job, 2, 1, "1", "tcp");
    job.keeps_size = 1; // the others wait until a newcomer fits
    start(&job, "step 7 0");
    start(&job, NULL);
    setenv("TEST_STRANGER", "1", 1); // for the first newcomer
    assert_int_equal(reap(&job, job.workers[0].pid), 1);
    unsetenv("TEST_STRANGER");
    assert_int_equal(reap(&job, job.workers[2].pid), 1);
    assert_non_null(strstr(job.workers[2].text, "MISMATCH different_program"));
    assert_non_null(strstr(job.workers[2].text, "blob \"other\" of 4 bytes"));
    start(&job, NULL);
    finish(&job);
    for (uint32_t i = 1; i < 4; i += 2) assert_non_null(strstr(job.workers[i].text, undisturbed));
}

static void a_job_of_fixed_size_refuses(void **state) {
    (void)state;
    for (const char *const *name = (const char *const[]){"REPLICAS", "MIN_WORKERS", "MAX_WORKERS", "WAIT", "COPIES",
                                                         "MAX_LOSSES_PER_COMMIT", NULL};
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
    start(&job, "step 7 0");
    start(&job, "step 7 2"); // holds what belongs to replicas 0 and 1
    for (int i = 0; i < 2; ++i) start(&job, NULL);
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
    if (dead <= kills) expect(&job, result, dead);
    assert_true(dead <= kills);
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
    if (argc > 1 && strcmp(argv[1], "worker") == 0) return worker_main();
    self = argv[0];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_of_any_number_have_the_same_result),
        cmocka_unit_test(the_others_go_on_when_one_is_killed),
        cmocka_unit_test(a_newcomer_takes_the_place),
        cmocka_unit_test(two_losses_at_once_need_two_copies),
        cmocka_unit_test(one_more_is_lost_in_the_regroup),
        cmocka_unit_test(two_losses_with_a_commit_between),
        cmocka_unit_test(too_many_losses_name_the_replicas),
        cmocka_unit_test(a_newcomer_that_differs_is_turned_away),
        cmocka_unit_test(random_kills_change_nothing),
        cmocka_unit_test(a_frozen_worker_is_left_behind),
        cmocka_unit_test(a_job_of_fixed_size_refuses),
    };
    if (getenv("MDIST_TEST_SEED") != NULL) cmocka_set_test_filter("random*");
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
