// SPDX-License-Identifier: Apache-2.0
// Trainer: the model on a strategy. Parameters and momentum are mirrored variables, so that every replica has a copy;
// all copies are equal between steps, because all replicas apply the same reduced gradients in the same way.
// One thread at a time per trainer; the steps inside run on the replicas' threads.
#pragma once

#include <mdist/mdist.h>

#include "model.h"

// What one replica works with: its copies of the variables, and memory of its own.
typedef struct TrainerReplica {
    Math *math; // of its device, where the arrays lie
    float *parameters[MODEL_PARTS];
    float *momentum[MODEL_PARTS];
    float *gradients[MODEL_PARTS];
    ModelWorkspace workspace;
    double *sums;                // over rows, and then over all replicas' rows
    double totals[MODEL_TOTALS]; // the same on the host
    uint64_t digest;             // of its variables
    int same;                    // as everybody else's
} TrainerReplica;

typedef struct Trainer {
    mdist_strategy_t *strategy; // borrowed
    mdist_variable_t *parameters[MODEL_PARTS];
    mdist_variable_t *momentum[MODEL_PARTS];
    TrainerReplica *replicas; // one per local replica
    uint32_t replica_count;
    float rate;  // of the next step
    float decay; // of the momentum
} Trainer;

// max_rows: as many as one replica will ever see in a step. On failure nothing stays; an error that is not the
// library's is MDIST_ERR_OUT_OF_MEMORY, or MDIST_ERR_UNSUPPORTED of a program without CUDA, without an error object.
mdist_status_t trainer_create(mdist_strategy_t *strategy, size_t max_rows, Trainer *out, mdist_error_t **error);
void trainer_destroy(Trainer *self);

// One step of all replicas on a batch {images, labels}. totals, over all replicas' rows, may be NULL.
mdist_status_t trainer_train(Trainer *self, mdist_value_t *const batch[2], double totals[MODEL_TOTALS],
                             mdist_error_t **error);

// The same without learning.
mdist_status_t trainer_evaluate(Trainer *self, mdist_value_t *const batch[2], double totals[MODEL_TOTALS],
                                mdist_error_t **error);

// Checksum over all variables of this worker's first replica, in the order in which they were created, and whether it
// is the same on every replica of the job.
mdist_status_t trainer_digest(Trainer *self, uint64_t *digest, int *same, mdist_error_t **error);
