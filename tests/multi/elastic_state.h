// SPDX-License-Identifier: Apache-2.0
// What the training of elastic_training.h keeps, and its step. It touches the memory of devices by calls of the library
// alone, so it runs on GPUs, too. One thread, except for the step.
#pragma once

#include <mdist/mdist.h>
#include <stdint.h>

enum { REPLICAS = 8, WEIGHTS = 1000 };

/// What a step is told.
typedef struct Step {
    uint64_t at;
    void (*reached)(uint64_t at, uint32_t replica_id); // called first
} Step;

/// Creates variables, and gradients if they are wanted: NULL for none, "lent" for memory of the program. `all_mirrored`:
/// nothing belongs to one replica. `weights`: how many, WEIGHTS unless the worker is to differ from the others.
mdist_status_t create_state(mdist_strategy_t *strategy, int all_mirrored, const char *gradients, uint64_t weights,
                            mdist_error_t **error);
/// Makes memory for the replicas that the worker has now, and uses addresses that it had before. Call it when all is
/// created and after each regroup.
mdist_status_t place_state(mdist_strategy_t *strategy, mdist_error_t **error);
/// Takes a Step.
int32_t step_of_state(mdist_replica_t *replica, void *user_data);
/// Reading takes all workers.
mdist_status_t hash_state(uint64_t *hash, mdist_error_t **error);
/// Asks for the memory of all local replicas, and assigns. All of that may be refused.
void touch_state(const mdist_strategy_t *strategy);
void destroy_state(void);

/// A replica's own state; the program keeps it, in a blob.
uint64_t *generator_of(uint32_t replica_id);
/// Spreads a number's bits.
uint64_t mixed(uint64_t x);
