// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of in_graph_test.c, which tests jobs where one worker, the client, leads the others.
#pragma once

#include "multi.h"

enum { MOST = 4 /* replicas */ };

/// Registers the same steps and updates on all workers. twice() and subtract() are also tried without their names.
void register_all(mdist_strategy_t *strategy);

int32_t twice(mdist_replica_t *replica, void *user_data);
int32_t subtract(uint32_t local_replica, const mdist_tensor_t *copy, const mdist_tensor_t *arguments,
                 size_t argument_count, mdist_value_t **results, size_t result_count, void *user_data);

typedef struct Client {
    mdist_strategy_t *strategy;
    uint32_t replicas;
} Client;

uint32_t worker_of(uint32_t replica);
uint32_t local_of(uint32_t replica);

// --- values

mdist_value_t *plain(float number);
mdist_value_t *per_replica(const Client *self);
float number_of(const mdist_value_t *value, size_t index);
/// Checks that the value's tensor of replica r is base + r * by_replica. Frees the value.
void has(const Client *self, mdist_value_t *value, float base, float by_replica);
mdist_value_t *leaf(const mdist_value_t *value, const char *path);

// --- the cases, which the client runs

void its_local_replicas_are_all(const Client *self);
void a_run_is_everybodys(const Client *self);
void collectives_and_merges_are_among_all(const Client *self);
void values_are_reduced_here(const Client *self);
void rows_and_long_tensors_get_there(const Client *self);
void a_fetch_function_may_command(Client *self);
void a_mirrored_variable_is_one(const Client *self);
void an_update_takes_structures(const Client *self);
void one_synchronized_on_read_is_summed_over_all(const Client *self);
void what_the_client_has_cached_is_its_own(const Client *self);
void a_checkpoint_is_everybodys(const Client *self);
void what_cannot_be_is_refused(const Client *self);
void input_is_cut_for_all(const Client *self);
void a_loop_goes_over_all_replicas(const Client *self);
