// SPDX-License-Identifier: Apache-2.0
// A random training: what it keeps, and its step, by a Plan. It touches the memory of devices by calls of the library
// alone, so it runs on CPUs and GPUs, in jobs of fixed size and in elastic ones. One thread, except for the step.
//
// A gradient depends on the weights, the step and the replica's id, and, if the plan says so, on state that the replica
// has of its own and on its input. Results depend on nothing else.
#pragma once

#include <mdist/mdist.h>

#include "trainings_plan.h"

/// Points of a step that `reached` is called at.
typedef enum Point { AT_BEGIN, AT_SUM, AT_SUMMED, AT_END, POINTS } Point;

/// One process's part of a training.
typedef struct Training {
    Plan plan;
    uint32_t step;
    mdist_strategy_t *strategy;
    mdist_variable_t *weights[MOST_TENSORS], *seen;
    mdist_gradients_t *gradients;
    mdist_iterator_t *input;
    mdist_blob_t *blob;
    uint32_t placed;                                                  // local replicas that have memory
    void *in[MOST_HERE][MOST_TENSORS], *out[MOST_HERE][MOST_TENSORS]; // on the devices, by local replica
    unsigned char host[MOST_HERE][2][MOST_ELEMENTS * 8];
    uint64_t own[MOST_HERE];          // what replicas have of their own, by id
    uint64_t mixed_in[MOST_HERE];     // by local replica: what this step's gradients also depend on
    mdist_error_t *errors[MOST_HERE]; // of the last step, by local replica
    int aborts; // a step that fails ends the generation, so that the workers go back, whatever has failed
    void (*reached)(const struct Training *self, uint32_t local_replica, Point point);
    void (*saving)(const struct Training *self, uint32_t replica_id);    // before a commit takes a replica's own state
    void (*restoring)(const struct Training *self, uint32_t replica_id); // before it gets it back
} Training;

/// Creates variables, gradients, state and input. The hooks are NULL.
mdist_status_t create_training(Training *self, const Plan *plan, mdist_strategy_t *strategy, mdist_error_t **error);
/// Makes memory for the replicas that the worker has now. Call it before the first step, and after each regroup.
mdist_status_t place_training(Training *self, mdist_error_t **error);
/// Takes input and runs the step. If that fails, `errors` may say more.
mdist_status_t make_step(Training *self, mdist_error_t **error);
/// Of all state after the last step. 0 if two replicas of this worker have different weights. Takes all workers.
mdist_status_t hash_training(Training *self, uint64_t *hash, mdist_error_t **error);
/// Also of one that was created in part. The strategy stays.
void destroy_training(Training *self);
