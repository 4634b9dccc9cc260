// SPDX-License-Identifier: Apache-2.0
// Trainer: the model on a strategy. Parameters and momentum are mirrored variables, so every replica has a copy. All
// copies are equal between steps, because all replicas apply the same reduced gradients in the same way.
// One thread at a time per trainer. The steps run on the replicas' threads.
#pragma once

#include <mdist/mdist.h>

#include "model.h"

// The memory of one replica: its copies of the variables, and its own arrays.
typedef struct TrainerReplica {
    Math *math; // for its device, where the arrays lie
    float *parameters[MODEL_PARTS];
    float *momentum[MODEL_PARTS];
    float *gradients[MODEL_PARTS];
    ModelWorkspace workspace;
    double *sums;                // over rows, and then over all replicas' rows
    double totals[MODEL_TOTALS]; // the same on the host
    uint64_t digest;             // of its variables
    int same;                    // whether all replicas have the same digest
} TrainerReplica;

typedef struct Trainer {
    mdist_strategy_t *strategy; // borrowed
    mdist_variable_t *parameters[MODEL_PARTS];
    mdist_variable_t *momentum[MODEL_PARTS];
    TrainerReplica *replicas; // one per local replica
    uint32_t replica_count;
    size_t max_rows;
    float rate;  // of the next step
    float decay; // of the momentum
    // Called in every training step, on the replica's thread, before the model sees the images: it may replace them by
    // others. NULL: nothing is called. Returns 0, or something else to fail the step.
    int (*before)(mdist_replica_t *replica, mdist_tensor_t *images, void *before_data);
    void *before_data;
} Trainer;

// max_rows: the most rows that one replica gets in a step. On failure nothing is left. Two errors have no error object:
// MDIST_ERR_OUT_OF_MEMORY, and MDIST_ERR_UNSUPPORTED if the program was built without CUDA.
mdist_status_t trainer_create(mdist_strategy_t *strategy, size_t max_rows, Trainer *out, mdist_error_t **error);
void trainer_destroy(Trainer *self);

// After mdist_regroup the worker has other replicas, and the variables lie elsewhere. This makes the replicas' memory
// anew.
mdist_status_t trainer_renew(Trainer *self, mdist_error_t **error);

// Runs one step on a batch {images, labels}. totals are sums over the rows of all replicas; may be NULL.
mdist_status_t trainer_train(Trainer *self, mdist_value_t *const batch[2], double totals[MODEL_TOTALS],
                             mdist_error_t **error);

// The same without learning.
mdist_status_t trainer_evaluate(Trainer *self, mdist_value_t *const batch[2], double totals[MODEL_TOTALS],
                                mdist_error_t **error);

// Computes a digest of all variables of this worker's first replica, in the order of their creation. same says whether
// every replica of the job has the same digest.
mdist_status_t trainer_digest(Trainer *self, uint64_t *digest, int *same, mdist_error_t **error);
