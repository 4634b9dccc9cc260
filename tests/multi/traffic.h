// SPDX-License-Identifier: Apache-2.0
// Traffic: runs collectives of all kinds one after another and checks each result, until one fails. A worker can be
// struck by a signal meanwhile.
#pragma once

#include "multi.h"

#include <stdatomic.h>

typedef struct Traffic {
    uint32_t seed;       // the same on all workers
    uint32_t operations; // how many; 0: until one fails
    int started;         // whether to use the calls that start an operation and wait for it
    int signal;          // the signal that the victim sends itself; 0 for none
    uint64_t moment;     // when it comes: so many calls of the system after the victim's second operation (moments.h)
    atomic_int wrong;    // whether a result was wrong
} Traffic;

/// A step for mdist_run; `user_data` is the Traffic. Returns 1 when a collective has failed.
int32_t traffic_step(mdist_replica_t *replica, void *user_data);

/// Sends this worker its signal at the moment, counted from now, whatever it does then. Returns 1 if a thread for that
/// could be started.
int strike_later(Traffic *traffic);
