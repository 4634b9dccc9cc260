// SPDX-License-Identifier: Apache-2.0
#include "elastic_job.h"

#include "elastic_state.h"
#include "stores.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_S = 300 };
enum { MOMENT_BITS = 12 }; // a worker makes about so many calls of the system, as a power of two

static const char *self;     // this program
static const Job *waits_for; // what the alarm ends

static int was_killed(int status) {
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

int is_worker(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "worker") == 0) {
        for (int i = 2; i < argc; ++i) putenv(argv[i]);
        return 1;
    }
    self = argv[0];
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return 0;
}

/// Ends the workers of a job that hangs, so that the test fails and tells what they have said.
static void end_job(int number) {
    (void)number;
    for (uint32_t i = 0; i < waits_for->count; ++i)
        if (!waits_for->workers[i].ended) kill(waits_for->workers[i].pid, SIGABRT);
}

static void watch(const Job *job) {
    waits_for = job;
    const struct sigaction action = {.sa_handler = end_job, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    alarm(PATIENCE_S);
}

static void set_number(const char *name, uint64_t number) {
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, number);
    setenv(name, text, 1);
}

void begin(Job *job, uint32_t size, uint32_t least, const char *copies, const char *link) {
    begin_with(job, 8, size, least, copies, link);
}

void begin_with(Job *job, uint32_t replicas, uint32_t size, uint32_t least, const char *copies, const char *link) {
    memset(job, 0, sizeof *job);
    job->size = size;
    set_number("MDIST_ELASTIC_REPLICAS", replicas);
    set_number("MDIST_ELASTIC_MIN_WORKERS", least);
    set_number("MDIST_ELASTIC_MAX_WORKERS", size);
    setenv("MDIST_ELASTIC_WAIT", "60s", 1);
    setenv("MDIST_ELASTIC_COPIES", copies, 1);
    setenv("MDIST_ELASTIC_MAX_LOSSES_PER_COMMIT", "10", 1);
    setenv("MDIST_COMMUNICATION_IMPLEMENTATION", link, 1);
    setenv("MDIST_COMMUNICATION_HEARTBEAT_TIMEOUT", "60s", 1); // nobody needs to be missed by it
    setenv("MDIST_COMMUNICATION_JOIN_TIMEOUT", "120s", 1);     // who lives has half of it to ask
    setenv("MDIST_ELASTIC_OPEN", "true", 1);                   // newcomers come, and there is no secret
    job->store = begin_elastic_store("elastic", job->address, sizeof job->address);
    watch(job);
}

/// The words of a worker's command line. After "worker" each one sets a variable of its environment.
typedef struct Words {
    char texts[12][280];
    char *pointers[15];
    size_t count;
} Words;

static void add_word(Words *words, const char *name, const char *value) {
    assert_true(words->count < sizeof words->texts / sizeof words->texts[0]);
    char *const text = words->texts[words->count];
    snprintf(text, sizeof words->texts[0], "%s=%s", name, value);
    words->pointers[2 + words->count++] = text;
}

static void add_number(Words *words, const char *name, uint64_t number) {
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, number);
    add_word(words, name, text);
}

static void set_words(Words *words, const Job *job, uint64_t id, const char *die) {
    memset(words, 0, sizeof *words);
    words->pointers[0] = (char *)self;
    words->pointers[1] = (char *)"worker";
    add_word(words, "MDIST_BOOTSTRAP", "env");
    add_word(words, "MDIST_STORE", job->address);
    add_word(words, "MDIST_STORE_OWNER", "launcher");
    add_word(words, "MDIST_JOB_ID", "elastic");
    add_number(words, "MDIST_RANK", job->count % job->size);
    add_number(words, "MDIST_SIZE", job->size > 1 ? job->size : 2); // one worker needs the store, too
    add_number(words, "MDIST_WORKER_ID", id);
    if (die != NULL) add_word(words, "TEST_DIE", die);
    if (job->keeps_size) add_number(words, "TEST_WANTED", job->size);
}

void start(Job *job, const char *die) {
    Worker *const worker = &job->workers[job->count];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    worker->id = 1000 + job->count;
    worker->out = ends[0];
    Words words;
    set_words(&words, job, worker->id, die);
    worker->pid = fork();
    assert_true(worker->pid >= 0);
    if (worker->pid == 0) { // no memory may be asked for: the store's thread may have held a lock of the allocator
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execv(self, words.pointers);
        _exit(127);
    }
    close(ends[1]);
    ++job->count;
}

void await_begin(const Worker *worker) {
    char line[6];
    for (size_t got = 0; got < sizeof line;) {
        const ssize_t more = read(worker->out, line + got, sizeof line - got);
        assert_true(more > 0 || (more < 0 && errno == EINTR)); // else it has ended
        got += more > 0 ? (size_t)more : 0;
    }
    assert_memory_equal(line, "begun\n", sizeof line);
}

static void read_text(Worker *worker) {
    size_t used = 0;
    ssize_t got;
    while ((got = read(worker->out, worker->text + used, sizeof worker->text - 1 - used)) > 0 ||
           (got < 0 && errno == EINTR))
        used += got > 0 ? (size_t)got : 0;
    close(worker->out);
}

int reap(Job *job, pid_t pid) {
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
        if (job->keeps_size && was_killed(status)) start(job, NULL);
        if (job->none_fails && WIFEXITED(status) && WEXITSTATUS(status) != 0) {
            job->keeps_size = 0;
            for (uint32_t k = 0; k < job->count; ++k)
                if (!job->workers[k].ended) kill(job->workers[k].pid, SIGKILL);
        }
        break;
    }
    return 1;
}

void finish(Job *job) {
    while (reap(job, -1)) continue;
    alarm(0);
    mdist_store_destroy(job->store);
}

void expect(const Job *job, const char *result, uint32_t killed) {
    uint32_t dead = 0;
    for (uint32_t i = 0; i < job->count; ++i) {
        const Worker *const worker = &job->workers[i];
        if (was_killed(worker->status)) {
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

void lose(uint32_t size, const char *const *die, uint32_t deaths, const char *copies, const char *link, int replace,
          const char *result) {
    Job job;
    begin(&job, size, 1, copies, link);
    job.keeps_size = replace;
    for (uint32_t i = 0; i < size; ++i) start(&job, i < deaths ? die[i] : NULL);
    finish(&job);
    expect(&job, result, deaths);
}

void run_undisturbed(Job *job, uint32_t size, char result[64]) {
    begin(job, size, 1, "1", "tcp");
    for (uint32_t i = 0; i < size; ++i) start(job, NULL);
    finish(job);
    const char *const printed = strstr(job->workers[0].text, "result ");
    if (printed == NULL) print_error("worker 0 said:\n%s\n", job->workers[0].text);
    assert_non_null(printed);
    memcpy(result, printed, 23);
    result[23] = '\0';
    expect(job, result, 0);
}

static void disturb(uint64_t seed, const char *result) {
    static const char *const links[] = {"tcp", "auto"};
    uint64_t random = mixed(seed * 2654435761u + 1);
    const uint32_t size = 2 + (uint32_t)(random % 3), kills = size > 2 && random / 3 % 3 == 0 ? 2 : 1;
    Job job;
    begin(&job, size, 1, kills == 2 ? "2" : "1", links[random / 16 % 2]);
    job.keeps_size = random / 32 % 2;
    char die[4][32] = {"", "", "", ""};
    for (uint32_t i = 0; i < kills; ++i) {
        random = mixed(random + seed);
        const uint64_t moment = 1 + random / 4096 % (1u << random / 256 % MOMENT_BITS);
        snprintf(die[(random / 64 + i) % size], sizeof die[0], "moment %" PRIu64 " 99", moment);
    }
    for (uint32_t i = 0; i < size; ++i) start(&job, die[i][0] != '\0' ? die[i] : NULL);
    finish(&job);
    uint32_t dead = 0, good = 0;
    while (good < size && job.workers[good].status != 0) ++good;
    assert_true(good < size);
    for (uint32_t i = 0; i < job.count; ++i) {
        dead += was_killed(job.workers[i].status) ? 1 : 0;
        // A newcomer came too late: the others had the result, and had begun to leave.
        const char *const text = job.workers[i].text;
        const int late = strstr(text, "job_ended") != NULL || strstr(text, "replica_lost") != NULL;
        if (i >= size && late) job.workers[i] = job.workers[good];
    }
    print_message("# %" PRIu32 " of %" PRIu32 " kills came before the end\n", dead, kills);
    assert_true(dead <= kills);
    expect(&job, result, dead);
}

void disturb_all(uint32_t count, const char *result, void (*before)(uint64_t seed)) {
    const uint64_t first = test_seed(1), end = first + seed_count(count, count);
    for (uint64_t seed = first; seed < end; ++seed) {
        print_message("# begins seed %" PRIu64 "\n", seed);
        if (before != NULL) before(seed);
        disturb(seed, result);
    }
}
