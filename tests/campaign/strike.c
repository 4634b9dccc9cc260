// SPDX-License-Identifier: Apache-2.0
// Preloaded into the workers of a job: sends the process a signal at a chosen moment within a call of the library.
//
// STRIKES is a list, separated by semicolons, of
//     RANK CALL NUMBER MOMENT SIGNAL AFTER
// "1 commit 3 25 9 -1": in the third call of mdist_commit, of a process whose MDIST_RANK is 1 (or of any, for -1), at
// its 25th call of the system (moments.h), or at its end if it makes fewer, comes signal 9. AFTER is the number of the
// strike, from 0, that must have come first; -1 for none.
// Each strike happens once in the whole job: who creates the file with its number in STRIKE_FOLDER makes it. The file
// then says "PID inside" or "PID outside", since the call may have been over sooner.
#include <mdist/mdist.h>

#include "moments.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 8 };

typedef struct Strike {
    int rank;
    char call[16];
    int number, calls, signal, after;
    int file;
    int moment;        // by at_moment()
    atomic_int inside; // the call lasts
} Strike;

static Strike strikes[MOST];
static int strike_count;

static void path_of(int strike, char *path, size_t size) {
    snprintf(path, size, "%s/%d", getenv("STRIKE_FOLDER"), strike);
}

__attribute__((constructor)) static void read_strikes(void) {
    const char *text = getenv("STRIKES");
    while (text && *text && strike_count < MOST && getenv("STRIKE_FOLDER")) {
        Strike *const strike = &strikes[strike_count];
        if (sscanf(text, "%d %15s %d %d %d %d", &strike->rank, strike->call, &strike->number, &strike->calls,
                   &strike->signal, &strike->after) == 6)
            ++strike_count;
        text = strchr(text, ';');
        if (text) ++text;
    }
}

static void strike_now(void *of) {
    Strike *const strike = of;
    char words[64];
    const int length =
        snprintf(words, sizeof words, "%ld %s\n", (long)getpid(), atomic_load(&strike->inside) ? "inside" : "outside");
    if (write(strike->file, words, (size_t)length) != length) _exit(99);
    kill(getpid(), strike->signal);
}

/// Makes the strike if its time has come and no other process has made it.
static int take(int number) {
    Strike *const strike = &strikes[number];
    const char *const rank = getenv("MDIST_RANK");
    char path[4096];
    if (strike->rank >= 0 && (!rank || atoi(rank) != strike->rank)) return 0;
    if (strike->after >= 0) {
        path_of(strike->after, path, sizeof path);
        if (access(path, F_OK) != 0) return 0;
    }
    path_of(number, path, sizeof path);
    strike->file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    return strike->file >= 0;
}

/// The strike that begins with this call, or NULL.
static Strike *begin(const char *call, int number) {
    for (int i = 0; i < strike_count; ++i) {
        Strike *const strike = &strikes[i];
        if (strcmp(strike->call, call) != 0 || strike->number != number || !take(i)) continue;
        atomic_store(&strike->inside, 1);
        strike->moment = at_moment((uint64_t)strike->calls, strike_now, strike, NULL);
        return strike;
    }
    return NULL;
}

static void end(Strike *strike) {
    if (!strike) return;
    atomic_store(&strike->inside, 0);
    come_now(strike->moment);
}

#define STRUCK(call, name, parameters, arguments)             \
    mdist_status_t name parameters {                          \
        static mdist_status_t(*real) parameters;              \
        static atomic_int calls;                              \
        if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name); \
        Strike *const strike = begin(call, ++calls);          \
        const mdist_status_t status = real arguments;         \
        end(strike);                                          \
        return status;                                        \
    }

STRUCK("join", mdist_strategy_create, (const mdist_config_t *config, mdist_strategy_t **out, mdist_error_t **error),
       (config, out, error))
STRUCK("commit", mdist_commit,
       (mdist_strategy_t * strategy, uint64_t step, const mdist_call_options_t *options, mdist_error_t **error),
       (strategy, step, options, error))
STRUCK("regroup", mdist_regroup,
       (mdist_strategy_t * strategy, mdist_change_t *change, const mdist_call_options_t *options,
        mdist_error_t **error),
       (strategy, change, options, error))
STRUCK("step", mdist_run,
       (mdist_strategy_t * strategy, mdist_step_fn step, void *user_data, const mdist_run_io_t *io,
        mdist_error_t **error),
       (strategy, step, user_data, io, error))
