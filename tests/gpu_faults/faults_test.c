// SPDX-License-Identifier: Apache-2.0
// Any call to CUDA or NCCL may fail at any time. A training program then gets an error that says so. It ends, leaves
// nothing behind, and works when it is started again. Each random fault has a process of its own; MDIST_TEST_TIER=long
// makes 5000. MDIST_TEST_SEED repeats one.
#include "training.h"

#include "../support/random.h"
#include "fake_gpu.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/// The functions of the tables that a training program may call.
static const char *const functions[] = {
    "device_count",
    "device_info",
    "memory_info",
    "can_reach",
    "allocate",
    "release",
    "reserve",
    "commit",
    "unreserve",
    "reservation_granularity",
    "allocate_pinned",
    "release_pinned",
    "memory_kind",
    "stream_create",
    "stream_destroy",
    "stream_query",
    "stream_wait",
    "event_create",
    "event_destroy",
    "event_record",
    "event_query",
    "copy",
    "fill",
    "copy_many",
    "reduce",
    "divide",
    "squares",
    "cast",
    "capture_begin",
    "capture_end",
    "graph_launch",
    "graph_destroy",
    "job",
    "nccl_unique_id",
    "nccl_init",
    "nccl_async_error",
    "nccl_finalize",
    "nccl_destroy",
    "nccl_abort",
    "nccl_group_start",
    "nccl_group_end",
    "nccl_all_reduce",
    "nccl_reduce",
    "nccl_broadcast",
    "nccl_all_gather",
    "nccl_send",
    "nccl_receive",
};
enum { kFunctions = sizeof functions / sizeof *functions, kLayouts = 5, kSlices = 4, kSeconds = 600 };

static const struct {
    const char *devices, *fake;
} layouts[kLayouts] = {
    {"gpu:0*2", "devices=1"},
    {"gpu:0,gpu:1", "devices=2"},
    {"gpu:0,gpu:1", "devices=2,nccl=none"},
    {"gpu:0,gpu:1", "devices=2,nccl=none,reach=0"},
    {"gpu:0", "devices=1"},
};
static const char *const kinds[] = {"failed", "out_of_memory", "invalid", "fatal"};

static char folder[100] = "/tmp/mdist-gpu-faults-XXXXXX"; // this process's
/// How often a program without a failure calls each function.
static uint64_t calls[kLayouts][2][kFunctions];

static Training training_of(int layout, int blocking) {
    Training t = {0};
    t.devices = layouts[layout].devices;
    t.folder = folder;
    t.timeout = "60s";
    t.blocking = blocking ? "true" : "false";
    return t;
}

/// Runs the function in a fresh process with these GPUs. Returns its exit status, 0 for success.
static int in_child(int (*body)(const void *), const void *argument, int layout, unsigned seed) {
    const pid_t child = fork();
    if (child == 0) {
        char fake[200];
        snprintf(fake, sizeof fake, "%s,delay_us=%u,seed=%u", layouts[layout].fake, seed % 3 * 20, seed);
        setenv("MDIST_FAKE_GPU", fake, 1);
        setenv("MDIST_CUDA_MODULE", MDIST_TEST_FAKE_GPU, 1);
        alarm(kSeconds); // a hang ends the child
        quiet_log();
        _exit(body(argument));
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    return status;
}

typedef struct Count {
    int layout, blocking, pipe;
} Count;

/// Runs the program without faults, and counts its calls.
static int count_calls(const void *argument) {
    const Count *count = argument;
    Training t = training_of(count->layout, count->blocking);
    training_run(&t);
    if (t.status != MDIST_OK) return fprintf(stderr, "%s: %s: %s\n", t.devices, t.at, mdist_error_message(t.error)), 1;
    uint64_t counted[kFunctions];
    for (int i = 0; i < kFunctions; ++i) counted[i] = controls()->calls(functions[i]);
    return write(count->pipe, counted, sizeof counted) != sizeof counted;
}

static int without_faults(void) {
    for (int layout = 0; layout < kLayouts; ++layout)
        for (int blocking = 0; blocking < 2; ++blocking) {
            int ends[2];
            if (pipe(ends) != 0) return 1;
            const Count count = {layout, blocking, ends[1]};
            const int status = in_child(count_calls, &count, layout, 1);
            if (status == 0 && read(ends[0], calls[layout][blocking], sizeof calls[0][0]) != sizeof calls[0][0])
                return 1;
            close(ends[0]), close(ends[1]);
            if (status != 0) return fprintf(stderr, "without faults: status %d\n", status), 1;
        }
    return 0;
}

typedef struct Injection {
    int layout, blocking, is_fatal;
    char fault[80];
} Injection;

/// A random number that depends only on the seed.
static unsigned draw(unsigned *state, uint64_t below) {
    *state = *state * 1664525u + 1013904223u;
    return (unsigned)((*state >> 8) % below);
}

static Injection injection_of(unsigned seed) {
    Injection injection = {0};
    unsigned state = seed * 2654435761u + 1;
    injection.layout = (int)draw(&state, kLayouts);
    injection.blocking = (int)draw(&state, 2);
    const uint64_t *counted = calls[injection.layout][injection.blocking];
    unsigned function = draw(&state, kFunctions);
    while (counted[function] == 0) function = draw(&state, kFunctions);
    const unsigned kind = draw(&state, 4);
    const char *onward = draw(&state, 8) == 0 ? "+" : "";
    injection.is_fatal =
        kind == 3 || strstr(functions[function], "_query") != NULL || strcmp(functions[function], "job") == 0;
    snprintf(injection.fault, sizeof injection.fault, "%s@%u%s:%s", functions[function],
             1 + draw(&state, counted[function]), onward, kinds[kind]);
    return injection;
}

/// Whether an error is a good one for a program to get.
static const char *complaint(const Training *t) {
    if (t->status == MDIST_OK) return NULL;
    if (t->status == MDIST_ERR_INTERNAL) return "an internal error, or a wrong result";
    if (t->error == NULL || mdist_error_message(t->error)[0] == '\0') return "no words";
    if (t->status == MDIST_ERR_TIMEOUT) return "a timeout where nothing hung";
    return NULL;
}

static int fails(const char *what, const Injection *injection, const Training *t) {
    fprintf(stderr, "%s%s, %s: %s: at %s: %s: %s\n", t->devices, t->blocking[0] == 't' ? ", blocking" : "",
            injection->fault, what, t->at == NULL ? "the end" : t->at, mdist_status_name(t->status),
            mdist_error_message(t->error));
    return 1;
}

/// Runs the program once with the fault. Returns 0 if it behaves as it should.
static int run_with_fault(const Injection *injection) {
    char problems[2000] = "";
    controls()->plan(injection->fault);
    Training t = training_of(injection->layout, injection->blocking);
    training_run(&t);
    const char *wrong = complaint(&t);
    if (wrong != NULL) return fails(wrong, injection, &t);
    if (controls()->problems(problems, sizeof problems) != 0) return fails(problems, injection, &t);
    mdist_error_free(t.error);
    return 0;
}

/// Runs it again, without the fault.
static int run_without_fault(const Injection *injection) {
    char problems[2000] = "";
    controls()->reset();
    Training t = training_of(injection->layout, injection->blocking);
    training_run(&t);
    if (t.status != MDIST_OK) return fails("it does not work again", injection, &t);
    if (controls()->problems(problems, sizeof problems) != 0) return fails(problems, injection, &t);
    return 0;
}

static int has_more(const fake_gpu_live *now, const fake_gpu_live *before) {
    return now->blocks > before->blocks || now->reservations > before->reservations || now->pinned > before->pinned ||
           now->streams > before->streams || now->events > before->events || now->comms > before->comms ||
           now->graphs > before->graphs;
}

/// Alternates the two until a round leaves no more than the round before. Memory that keeps growing is a leak. (Pools
/// grow until they have enough for every order of events.) A GPU that is lost, or a failed count of GPUs, stays so.
static int inject(const void *argument) {
    enum { kTurns = 12 };
    const Injection *injection = argument;
    fake_gpu_live now = {0}, before = {0};
    if (injection->is_fatal || strstr(injection->fault, "device_count") != NULL) return run_with_fault(injection);
    for (int turn = 0; turn < kTurns; ++turn) {
        if (run_with_fault(injection) != 0 || run_without_fault(injection) != 0) return 1;
        before = now;
        controls()->live(&now);
        if (!has_more(&now, &before)) return 0;
    }
    const Training t = training_of(injection->layout, injection->blocking);
    return fails("something is left each time", injection, &t);
}

static int try_seed(unsigned seed) {
    const Injection injection = injection_of(seed);
    const int status = in_child(inject, &injection, injection.layout, seed);
    if (status == 0) return 0;
    if (WIFSIGNALED(status))
        fprintf(stderr, "%s, %s: signal %d (%s)\n", layouts[injection.layout].devices, injection.fault,
                WTERMSIG(status), WTERMSIG(status) == SIGALRM ? "it hung" : "it crashed");
    fprintf(stderr, "failed with seed %u\n", seed);
    return 1;
}

/// Runs every kSlices-th seed, each in a process of its own.
static pid_t start_slice(unsigned first, unsigned end) {
    const pid_t child = fork();
    if (child != 0) return child;
    int failed = 0;
    snprintf(folder + strlen(folder), sizeof folder - strlen(folder), "/%u", first);
    if (mkdir(folder, 0700) != 0) _exit(1);
    for (unsigned seed = first; seed < end && failed < 5; seed += kSlices) failed += try_seed(seed);
    _exit(failed != 0);
}

static int try_all(unsigned first, unsigned count) {
    pid_t slices[kSlices];
    int failed = 0;
    for (unsigned i = 0; i < kSlices; ++i) slices[i] = start_slice(first + i, first + count);
    for (unsigned i = 0; i < kSlices; ++i) {
        int status = -1;
        failed += slices[i] < 0 || waitpid(slices[i], &status, 0) != slices[i] || status != 0;
    }
    return failed;
}

int main(void) {
    const unsigned first = (unsigned)test_seed(1), count = seed_count(100, 5000);
    char command[200];
    if (mkdtemp(folder) == NULL || without_faults() != 0) return 1;
    const int failed = try_all(first, count);
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (system(command) != 0) return 1;
    printf("%u injections%s\n", count, failed ? ", some of which fail" : "");
    return failed != 0;
}
