// SPDX-License-Identifier: Apache-2.0
// What a seed decides about a random training that loses and gains workers (regroups_test.c). No state; any thread.
#pragma once

#include "training.h"

/// What disturbs it. The names are in regroups_plan.c.
typedef enum Loss {
    ONE,         // a worker is killed
    TWO,         // two are
    IN_REGROUP,  // one is, and another one in the regroup that follows
    ALL_BUT_ONE, // all but one are
    REPLACED,    // one is, and a newcomer takes its place; one more may be killed, or the newcomer's GPU may fail
    JOINED,      // newcomers come to a job with room for them; one worker may be killed as it lets them in
    DISMISSED,   // the store asks a worker to leave; another one may be killed in that regroup
    LEFT,        // a worker ends by itself
    CARD,        // a worker's GPU fails for good
    CALL,        // a call to CUDA fails once on a worker
    HANG,        // a worker's GPU hangs
    LOSSES
} Loss;

typedef enum Place { NOWHERE, IN_STEP, IN_COMMIT, IN_A_REGROUP } Place;

/// Where a worker kills itself.
typedef struct Death {
    Place place;
    uint32_t at;     // the step, or that of the commit; which of its regroups, from 1
    int timed;       // at that moment within the call; else at a point of the step, or as a blob is copied
    uint32_t moment; // calls of the system (moments.h); the end of the call, if it makes fewer
    Point point;
    uint32_t local; // in the step of this local replica, modulo their number
} Death;

enum { MOST_STARTED = 8, NOBODY = 99 };

/// All that a seed decides. Workers are numbered as they are started; newcomers come last.
typedef struct Regroups {
    Plan plan;
    Loss loss;
    uint32_t size, most; // workers at first, and at most
    uint32_t copies, every;
    const char *link;
    char devices[MOST_STARTED][64];
    Death deaths[MOST_STARTED];
    uint32_t faulty; // the worker whose GPU or call fails, from step `fault_at` or its first regroup on; or NOBODY
    char fault[48];
    uint32_t fault_at;
    int aborts;                // a step in which a call fails ends the generation, so that its worker need not end
    uint32_t leaver, leave_at; // DISMISSED, LEFT: who goes, or NOBODY, and the step at which
    int commits_first;         // before they regroup of their own will
    int replaces;              // who is lost is replaced, and from `wait_at` on the others wait for that
    uint32_t wait_at;
} Regroups;

Regroups regroups_of(uint64_t seed);
const char *name_of_loss(Loss loss);
/// Whether so much is lost that the job may end with DATA_LOSS.
int may_lose_state(const Regroups *plan);
/// Whether a worker may be lost before all have the first commit.
int may_lose_first_commit(const Regroups *plan);
/// The first replica of a worker: all have as many, or lower ranks one more.
uint32_t first_replica_of_rank(const Regroups *plan, uint32_t rank, uint32_t workers);
