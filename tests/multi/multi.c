// SPDX-License-Identifier: Apache-2.0
#include "multi.h"

#include "time_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

uint32_t rank, worker_count, victim, first_replica_of[MOST_WORKERS + 1];
_Thread_local char message[1024], reason[64];
_Thread_local uint32_t guilty_worker;
_Thread_local mdist_status_t last_status;

enum { MOST_VARIABLES = 32, LET_GO = 3 /* in a worker: the end of this pipe */ };
enum { FAILED = 3, WAS_LATE = 4 };      // exit statuses of a worker that gives up
enum { WELL = 0, LATE = 1, WRONG = 2 }; // how workers have ended; one bit for each way
static const int64_t patience_ms = MDIST_TEST_SANITIZED ? 600000 : 120000; // for a test that hangs, per 32 workers

void fail_here(const char *what, const char *file, int line) {
    fprintf(stderr, "worker %u: %s:%d: %s\n", rank, file, line, what);
    _exit(FAILED);
}

void fail_or_late(mdist_status_t given, const char *what, const char *file, int line) {
    const int explains = given == MDIST_ERR_TIMEOUT || given == MDIST_ERR_PEER_LOST || given == MDIST_ERR_ABORTED;
    if (getenv("TEST_LIMITED") == NULL || !explains) fail_here(what, file, line);
    fprintf(stderr, "worker %u: %s:%d: %s, perhaps since one was late\n", rank, file, line, what);
    _exit(WAS_LATE);
}

void check_status(mdist_status_t wanted, mdist_status_t given, mdist_error_t *error, const char *call, const char *file,
                  int line) {
    snprintf(message, sizeof message, "%s", mdist_error_message(error));
    snprintf(reason, sizeof reason, "%s", mdist_error_reason(error));
    guilty_worker = mdist_error_rank(error);
    last_status = given;
    mdist_error_free(error);
    if (given == wanted) return;
    char what[2048];
    snprintf(what, sizeof what, "%s gave %s, not %s: %s", call, mdist_status_name(given), mdist_status_name(wanted),
             message);
    fail_or_late(given, what, file, line);
}

mdist_strategy_t *join(void) {
    mdist_strategy_t *strategy = NULL;
    GIVES(MDIST_OK, mdist_strategy_create(NULL, &strategy, &error));
    REQUIRE(mdist_strategy_worker_count(strategy) == worker_count);
    REQUIRE(mdist_strategy_rank(strategy) == rank);
    return strategy;
}

void outlive_others(void) {
    char byte;
    while (read(LET_GO, &byte, 1) < 0 && errno == EINTR) {
    }
}

typedef struct Variables {
    char text[MOST_VARIABLES][4096];
    char *list[MOST_VARIABLES + 1];
    size_t count;
} Variables;

static void add(Variables *self, const char *format, const char *value) {
    snprintf(self->text[self->count], sizeof self->text[0], format, value);
    self->list[self->count] = self->text[self->count];
    self->list[++self->count] = NULL;
}

/// Returns one worker's part of "cpu*3|cpu*1". A text without "|" is the same for all. `before` receives the number of
/// devices of the workers before it.
static const char *part_of(const char *devices, uint32_t worker, char *text, size_t capacity, unsigned *before) {
    const int cut = strchr(devices, '|') != NULL;
    unsigned count = 0;
    *before = 0;
    for (uint32_t i = 0; i < worker; ++i) {
        if (sscanf(devices, "cpu*%u", &count) == 1) *before += count;
        if (cut) devices += strcspn(devices, "|") + (strchr(devices, '|') != NULL);
    }
    snprintf(text, capacity, "%.*s", (int)strcspn(devices, "|"), devices);
    return text;
}

/// Returns "cpu*2". If MDIST_TEST_DEVICE is gpu, it returns as many logical devices of one GPU. If it is gpus, each
/// device is a GPU of its own.
static const char *devices_here(const char *all, uint32_t worker, char *text, size_t capacity) {
    const char *const device = getenv("MDIST_TEST_DEVICE");
    char own[128];
    unsigned count = 0, before = 0;
    const char *const devices = part_of(all, worker, own, sizeof own, &before);
    if (device != NULL && strcmp(device, "gpus") == 0 && sscanf(devices, "cpu*%u", &count) == 1) {
        int length = 0;
        for (unsigned i = 0; i < count; ++i)
            length += snprintf(text + length, capacity - (size_t)length, "%sgpu:%u", i == 0 ? "" : ",", before + i);
        return text;
    }
    const int on_gpu = device != NULL && strcmp(device, "gpu") == 0 && strncmp(devices, "cpu*", 4) == 0;
    snprintf(text, capacity, "%s%s", on_gpu ? "gpu:0*" : "", devices + (on_gpu ? 4 : 0));
    return text;
}

/// Collects the environment of a worker: what it needs of this process's environment, and what makes it a worker.
static void describe(Variables *self, const Workers *workers, uint32_t worker, const char *store) {
    static const char *const kept[] = {"PATH",
                                       "LD_LIBRARY_PATH",
                                       "ASAN_OPTIONS",
                                       "UBSAN_OPTIONS",
                                       "TSAN_OPTIONS",
                                       "MDIST_CUDA_MODULE",
                                       "MDIST_FAKE_GPU",
                                       "MDIST_GPU_BLOCKING",
                                       "MDIST_TEST_DEVICE",
                                       "CUDA_VISIBLE_DEVICES",
                                       "NCCL_DEBUG",
                                       "NCCL_SOCKET_IFNAME"};
    static const char *const of_tests[] = {"MDIST_TEST_TIER", "MDIST_TEST_SEED", "MDIST_TEST_COUNT"};
    char number[32], devices[256];
    self->count = 0;
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; ++i) {
        char line[4096];
        if (getenv(kept[i]) == NULL) continue;
        snprintf(line, sizeof line, "%s=%s", kept[i], getenv(kept[i]));
        add(self, "%s", line);
    }
    snprintf(number, sizeof number, "%u", worker);
    add(self, "MDIST_RANK=%s", number);
    snprintf(number, sizeof number, "%u", workers->count);
    add(self, "MDIST_SIZE=%s", number);
    snprintf(number, sizeof number, "%u", workers->victim);
    add(self, "TEST_VICTIM=%s", number);
    add(self, "MDIST_STORE=%s", store);
    add(self, "MDIST_STORE_OWNER=%s", "launcher");
    add(self, "MDIST_DEVICES=%s", devices_here(workers->devices, worker, devices, sizeof devices));
    add(self, "TEST_DEVICES=%s", workers->devices);
    if (strchr(workers->devices, '|') != NULL) add(self, "MDIST_UNEVEN_REPLICAS=%s", "1");
    for (size_t i = 0; workers->environment != NULL && workers->environment[i] != NULL; ++i)
        add(self, "%s", workers->environment[i]);
    // These count only if they are not there already: the first one counts.
    for (size_t i = 0; i < sizeof of_tests / sizeof of_tests[0]; ++i) // under names that are no keys of the library
        if (getenv(of_tests[i]) != NULL) {
            char line[256];
            snprintf(line, sizeof line, "%s=%s", of_tests[i] + strlen("MDIST_"), getenv(of_tests[i]));
            add(self, "%s", line);
        }
    add(self, "MDIST_COMMUNICATION_TIMEOUT=%s", "60s");
    add(self, "MDIST_COMMUNICATION_HEARTBEAT_TIMEOUT=%s", "60s"); // on a busy machine, workers wait for a core
}

static pid_t start(const Workers *workers, uint32_t worker, const char *store, int let_go) {
    Variables variables;
    describe(&variables, workers, worker, store);
    char self[] = "/proc/self/exe", flag[] = "--worker", name[128];
    snprintf(name, sizeof name, "%s", workers->scenario);
    char *arguments[] = {self, flag, name, NULL};
    pid_t pid = -1;
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0) return -1;
    if (posix_spawn_file_actions_adddup2(&actions, let_go, LET_GO) != 0 ||
        posix_spawn(&pid, self, &actions, NULL, arguments, variables.list) != 0)
        pid = -1;
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/// Waits for one worker until the deadline, then kills it. Returns its wait status.
static int reap(pid_t pid, int64_t deadline) {
    const int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd end = {fd, POLLIN, 0};
    int64_t left;
    while (fd >= 0 && (left = deadline - now_ms()) > 0 && poll(&end, 1, (int)left) < 0 && errno == EINTR) {
    }
    if (fd < 0 || (end.revents & POLLIN) == 0) {
        fprintf(stderr, "process %d is not done in time\n", (int)pid);
        kill(pid, SIGKILL);
    }
    if (fd >= 0) close(fd);
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

mdist_store_t *open_store(uint32_t worker_count_of_job, char *address, size_t capacity) {
    mdist_store_t *store = NULL;
    mdist_error_t *error = NULL;
    const mdist_store_options_t options = {.struct_size = sizeof options, .worker_count = worker_count_of_job};
    mdist_store_info_t info = {.struct_size = sizeof info};
    if (mdist_store_create("127.0.0.1:0", &store, &options, &error) == MDIST_OK &&
        mdist_store_describe(store, &info, &error) == MDIST_OK &&
        snprintf(address, capacity, "%s", info.address) < (int)capacity)
        return store;
    fprintf(stderr, "no store: %s\n", mdist_error_message(error));
    mdist_error_free(error);
    mdist_store_destroy(store);
    return NULL;
}

/// Waits for the worker's end. Returns how it was.
static int await_end(const Workers *workers, uint32_t worker, pid_t pid, int64_t deadline) {
    const int status = pid < 0 ? -1 : reap(pid, deadline);
    const int killed = status != -1 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (workers->killed && worker == workers->victim ? killed && now_ms() < deadline : status == 0) return WELL;
    fprintf(stderr, "scenario %s: worker %u of %u ended with status 0x%x\n", workers->scenario, worker, workers->count,
            (unsigned)status);
    return status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == WAS_LATE ? LATE : WRONG;
}

/// Continues a process, but only if it is stopped. SIGCONT would cancel a pending SIGSTOP. The search for leaks at the
/// end of a process stops its threads by SIGSTOP, and would then wait forever.
static void let_go_on(pid_t pid) {
    siginfo_t change = {0};
    if (waitid(P_PID, (id_t)pid, &change, WSTOPPED | WNOHANG | WNOWAIT) == 0 && change.si_pid == pid)
        kill(pid, SIGCONT);
}

/// Waits for the other workers first, then for the victim.
static int await(const Workers *workers, const pid_t *pids, int hold) {
    const int64_t deadline = now_ms() + patience_ms * (1 + workers->count / 32);
    int ends = WELL;
    for (uint32_t worker = 0; worker < workers->count; ++worker)
        if (worker != workers->victim) ends |= await_end(workers, worker, pids[worker], deadline);
    close(hold);
    const pid_t last = pids[workers->victim];
    if (last > 0) let_go_on(last);
    return ends | await_end(workers, workers->victim, last, deadline);
}

/// Waits for all workers, the victim and its replacement included.
static int await_replaced(const Workers *workers, pid_t *pids, const char *store, const int *let_go) {
    Workers then = *workers;
    then.scenario = workers->replacement;
    then.killed = 0;
    const int ends = await_end(workers, workers->victim, pids[workers->victim], now_ms() + patience_ms);
    pids[workers->victim] = start(&then, workers->victim, store, let_go[0]);
    return ends | await(&then, pids, let_go[1]);
}

static int run_all(const Workers *workers) {
    char own[64];
    mdist_store_t *store = workers->store == NULL ? open_store(workers->count, own, sizeof own) : NULL;
    const char *const address = workers->store != NULL ? workers->store : own;
    int let_go[2];
    if ((workers->store == NULL && store == NULL) || pipe2(let_go, O_CLOEXEC) != 0) return WRONG;
    pid_t pids[MOST_WORKERS];
    for (uint32_t worker = 0; worker < workers->count; ++worker)
        pids[worker] = start(workers, worker, address, let_go[0]);
    const int ends =
        workers->replacement != NULL ? await_replaced(workers, pids, address, let_go) : await(workers, pids, let_go[1]);
    close(let_go[0]);
    mdist_store_destroy(store);
    return ends;
}

int run_workers(const Workers *workers) {
    return run_all(workers) != WELL;
}

int run_workers_in_time(const Workers *workers, const char *key) {
    Tries tries = {.what = workers->scenario, .limit_ms = MDIST_TEST_SANITIZED ? 8000 : 3000};
    int ends = WELL;
    while (another_try(&tries)) {
        const char *environment[16];
        char limit[96];
        size_t count = 0;
        snprintf(limit, sizeof limit, "%s=%us", key, (unsigned)(tries.limit_ms / 1000));
        environment[count++] = limit;
        environment[count++] = "TEST_LIMITED=1";
        for (size_t j = 0; workers->environment != NULL && workers->environment[j] != NULL && count < 15; ++j)
            environment[count++] = workers->environment[j];
        environment[count] = NULL;
        Workers limited = *workers;
        limited.environment = environment;
        ends = run_all(&limited);
        tries.late = ends == LATE;
    }
    return ends != WELL;
}

int multi_main(int argument_count, char **arguments, const NamedScenario *scenarios, size_t scenario_count,
               int (*test_all)(void)) {
    if (argument_count != 3 || strcmp(arguments[1], "--worker") != 0) return test_all();
    rank = (uint32_t)atoi(getenv("MDIST_RANK"));
    worker_count = (uint32_t)atoi(getenv("MDIST_SIZE"));
    victim = (uint32_t)atoi(getenv("TEST_VICTIM"));
    const char *const devices = getenv("TEST_DEVICES") != NULL ? getenv("TEST_DEVICES") : getenv("MDIST_DEVICES");
    for (uint32_t worker = 0; devices != NULL && worker <= worker_count; ++worker) { // NULL: not started by run_workers
        char own[128];
        part_of(devices, worker, own, sizeof own, &first_replica_of[worker]);
    }
    for (size_t i = 0; i < scenario_count; ++i) {
        if (strcmp(arguments[2], scenarios[i].name) != 0) continue;
        scenarios[i].run();
        return 0;
    }
    fprintf(stderr, "no scenario named %s\n", arguments[2]);
    return 2;
}
