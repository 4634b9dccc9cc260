// SPDX-License-Identifier: Apache-2.0
// Elastic: the training as an elastic job. Workers may be killed and may come at any time; the digest of the weights
// stays the same.
#pragma once

#include <mdist/mdist.h>

#include "trainer.h"

typedef struct ElasticPlan {
    mdist_strategy_t *strategy;
    Trainer *trainer;
    mdist_dataset_t *training, *test;
    uint64_t epochs, steps_per_epoch;
    uint64_t limit_steps; // 0: none
    uint64_t commit;      // steps between two commits
    int mirrored;         // nothing belongs to one replica, so any worker has all that a commit keeps
    float first_rate;     // learning rate; it falls linearly to 0
} ElasticPlan;

// Trains and evaluates. Prints a line when this worker has begun, one for each regroup, and on the chief the result.
mdist_status_t elastic_train(const ElasticPlan *plan, mdist_error_t **error);
