// SPDX-License-Identifier: Apache-2.0
// What a seed decides about a random training (trainings_test.c, regroups_test.c). No state; any thread.
#pragma once

#include <stdint.h>

enum { MOST_TENSORS = 4, MOST_ELEMENTS = 2000, MOST_HERE = 8, MOST_STEPS = 16 };
typedef enum Way { FUSED, STARTED, GRADIENTS, SCATTERED, ROOTED, WAYS } Way;

/// All that a seed decides.
typedef struct Plan {
    uint64_t seed;
    uint32_t replicas, workers, per_card;
    uint32_t counts[4]; // replicas of each worker
    const char *reach;
    uint32_t delay_us;
    int blocking, exact; // exact: all sums are whole numbers, so NCCL's order does not matter
    int32_t op;
    uint32_t tensors;
    int32_t dtypes[MOST_TENSORS];
    uint32_t elements[MOST_TENSORS];
    uint32_t steps;
    Way ways[MOST_STEPS];
    double clip;
    char fault[64]; // for MDIST_FAKE_GPU of the worker `victim`; "" for none
    uint32_t victim;
    int graphs; // reductions are recorded, where that is possible
    // Only in elastic jobs (regroups_plan.h):
    int own;  // each replica has state of its own: a blob, and a variable that is summed when it is read
    int lent; // gradients lie in memory of the program
    uint32_t rows, batch, shuffled; // of the input; rows 0: none
    int32_t fetch;                  // mdist_input_options_t::fetch_to_device
} Plan;

/// A number below `below`, from a stream of random numbers that `state` stands for.
uint64_t draw(uint64_t *state, uint64_t below);
/// Of a job of fixed size.
Plan plan_of(uint64_t seed);
