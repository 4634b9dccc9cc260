// SPDX-License-Identifier: Apache-2.0
// Traffic: collectives of all kinds one after another, each result checked, until one fails; and what may befall a
// worker in the midst of them.
#pragma once

#include "multi.h"

#include <stdatomic.h>

typedef struct Traffic {
    uint32_t seed;       // the same on all workers
    uint32_t operations; // 0: until one fails
    int started;         // by the calls that start, and wait for, an operation
    int signal;          // what the victim sends itself; 0 for none
    uint32_t delay_us;   // after its second operation
    atomic_int wrong;    // a result was
} Traffic;

/// Of mdist_run; `user_data` is the Traffic. Gives 1 when a collective has failed.
int32_t traffic_step(mdist_replica_t *replica, void *user_data);

/// Sends this worker its signal after the delay, whatever it does then; 1 if a thread could be had for that.
int strike_later(Traffic *traffic);
