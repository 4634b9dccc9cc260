// SPDX-License-Identifier: Apache-2.0
// A small training program that uses most of the library's functions for GPUs, and checks the results. After any
// failure it still runs its clean-up, so nothing is left behind.
#pragma once

#include "mdist_test.h"

#include "fake_gpu.h"

#include <dlfcn.h>
#include <unistd.h>

enum { kParameters = 300, kMostReplicas = 2, kSteps = 2 };

typedef struct Training {
    const char *devices; // for one replica or two
    const char *folder;  // for checkpoints
    const char *blocking;
    const char *timeout;
    void (*before_step)(void); // may be NULL
    mdist_strategy_t *strategy;
    mdist_variable_t *weights, *scratch;
    mdist_gradients_t *gradients;
    mdist_checkpoint_t *checkpoint;
    mdist_value_t *input, *result, *reduced, *fetched, *read;
    const char *at; // the call that failed
    mdist_status_t status;
    mdist_error_t *error;
} Training;

/// The controls of the simulated GPU, which is loaded already.
MDIST_TEST_HELPER const fake_gpu_controls *controls(void) {
    void *file = dlopen(MDIST_TEST_FAKE_GPU, RTLD_NOW | RTLD_LOCAL);
    void *symbol = file == NULL ? NULL : dlsym(file, FAKE_GPU_SYMBOL);
    fake_gpu_controls_fn function;
    if (symbol == NULL) _exit(99);
    memcpy(&function, &symbol, sizeof function);
    return function();
}

/// In a function that has `t`: returns the status unless it is OK.
#define TRY(call)                                                     \
    do {                                                              \
        const mdist_status_t try_status = (call);                     \
        if (try_status != MDIST_OK) return t->at = #call, try_status; \
    } while (0)
/// Checks a result. A wrong one counts as an error of the library.
#define EXPECT(condition)                                                \
    do {                                                                 \
        if (!(condition)) return t->at = #condition, MDIST_ERR_INTERNAL; \
    } while (0)

/// Recorded if the replica is alone. It changes nothing, since all replicas have the same data.
MDIST_TEST_HELPER int32_t mean_of_scratch(mdist_replica_t *replica, void *user_data) {
    const Training *t = user_data;
    mdist_tensor_t scratch;
    if (mdist_variable_tensor(t->scratch, mdist_replica_local_index(replica), &scratch, NULL) != MDIST_OK) return 1;
    const mdist_buffer_t device = buffer_of(scratch.data, MDIST_FLOAT32, kParameters);
    return mdist_all_reduce(replica, MDIST_MEAN, &device, &device, 1, NULL, NULL);
}

/// Every replica adds the contributions of all in three ways: gradients, a buffer on its GPU, a buffer on the host.
MDIST_TEST_HELPER int32_t training_step(mdist_replica_t *replica, void *user_data) {
    const Training *t = user_data;
    const uint32_t local = mdist_replica_local_index(replica);
    const float replicas = (float)mdist_replica_count(replica);
    float ones = 1;
    mdist_tensor_t input, gradient, scratch;
    const mdist_buffer_t host = buffer_of(&ones, MDIST_FLOAT32, 1);
    int32_t finite = 0;
    double norm = 0;
    int failed = mdist_replica_argument(replica, 0, NULL, &input, NULL) != MDIST_OK ||
                 mdist_gradients_tensor(t->gradients, local, 0, &gradient, NULL) != MDIST_OK ||
                 mdist_variable_tensor(t->scratch, local, &scratch, NULL) != MDIST_OK;
    failed = failed || mdist_replica_copy(replica, &gradient, &input, NULL) != MDIST_OK ||
             mdist_gradients_ready(replica, t->gradients, 0, NULL) != MDIST_OK;
    const mdist_buffer_t device = buffer_of(failed ? NULL : scratch.data, MDIST_FLOAT32, kParameters);
    failed = failed || mdist_replica_copy(replica, &scratch, &input, NULL) != MDIST_OK ||
             mdist_all_reduce(replica, MDIST_SUM, &device, &device, 1, NULL, NULL) != MDIST_OK ||
             mdist_all_reduce(replica, MDIST_SUM, &host, &host, 1, NULL, NULL) != MDIST_OK ||
             mdist_gradients_wait(replica, t->gradients, &norm, &finite, NULL) != MDIST_OK;
    failed = failed || mdist_replica_assign(replica, t->weights, MDIST_ASSIGN_ADD, &gradient, NULL, NULL) != MDIST_OK ||
             mdist_replica_graph(replica, 1, mean_of_scratch, user_data, NULL) != MDIST_OK;
    return failed || ones != replicas || !finite ||
           mdist_replica_set_result(replica, 0, NULL, &scratch, NULL) != MDIST_OK;
}

MDIST_TEST_HELPER int all_are(const mdist_tensor_t *tensor, float wanted) {
    for (int i = 0; i < kParameters; ++i)
        if (((const float *)tensor->data)[i] != wanted) return 0;
    return 1;
}

MDIST_TEST_HELPER mdist_status_t training_begin(Training *t) {
    static float data[kParameters];
    mdist_config_t *config = NULL;
    TRY(mdist_config_create(&config, &t->error));
    TRY(mdist_config_set(config, "devices", t->devices, &t->error));
    TRY(mdist_config_set(config, "gpu.blocking", t->blocking, &t->error));
    TRY(mdist_config_set(config, "communication.timeout", t->timeout, &t->error));
    const mdist_status_t created = mdist_strategy_create(config, &t->strategy, &t->error);
    mdist_config_destroy(config);
    TRY(created);
    for (int i = 0; i < kParameters; ++i) data[i] = 1;
    const mdist_tensor_t initial = tensor_of(data, MDIST_FLOAT32, kParameters);
    mdist_variable_options_t options = {sizeof options, MDIST_SYNC_ON_WRITE, MDIST_AGGREGATION_MEAN, 0, NULL};
    TRY(mdist_variable_create(t->strategy, "weights", &initial, &t->weights, &options, &t->error));
    options.synchronization = MDIST_SYNC_ON_READ;
    TRY(mdist_variable_create(t->strategy, "scratch", &initial, &t->scratch, &options, &t->error));
    TRY(mdist_gradients_create(t->strategy, &initial, 1, &t->gradients, NULL, &t->error));
    return MDIST_OK;
}

/// Runs one step, and checks the sums of all contributions in host memory.
MDIST_TEST_HELPER mdist_status_t training_round(Training *t) {
    float data[kParameters];
    mdist_tensor_t tensor;
    for (int i = 0; i < kParameters; ++i) data[i] = 1;
    tensor = tensor_of(data, MDIST_FLOAT32, kParameters);
    const mdist_tensor_t inputs[kMostReplicas] = {tensor, tensor};
    const uint32_t replicas = mdist_strategy_replica_count(t->strategy);
    TRY(mdist_value_per_replica(t->strategy, inputs, replicas, &t->input, &t->error));
    if (t->before_step != NULL) t->before_step();
    TRY(mdist_run(t->strategy, training_step, t,
                  &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &t->input, .argument_count = 1,
                                    .results = &t->result, .result_count = 1},
                  &t->error));
    TRY(mdist_strategy_reduce_to(t->strategy, MDIST_SUM, &t->result, NULL, 1, &t->reduced, NULL, &t->error));
    TRY(mdist_strategy_fetch(t->strategy, t->reduced, NULL, NULL, NULL, &t->fetched, &t->error));
    TRY(mdist_value_tensor(t->fetched, 0, &tensor, &t->error));
    EXPECT(all_are(&tensor, (float)(replicas * replicas)));
    mdist_value_t **const values[] = {&t->input, &t->result, &t->reduced, &t->fetched};
    for (int i = 0; i < 4; ++i) mdist_value_destroy(*values[i]), *values[i] = NULL;
    return MDIST_OK;
}

MDIST_TEST_HELPER mdist_status_t training_end(Training *t) {
    mdist_tensor_t tensor, copy;
    float data[kParameters];
    TRY(mdist_checkpoint_create(t->strategy, t->folder, 1, &t->checkpoint, &t->error));
    TRY(mdist_checkpoint_add(t->checkpoint, "weights", t->weights, &t->error));
    TRY(mdist_checkpoint_save(t->checkpoint, 1, NULL, &t->error));
    TRY(mdist_checkpoint_restore(t->checkpoint, 1, NULL, NULL, &t->error));
    TRY(mdist_variable_read(t->weights, &t->read, NULL, &t->error));
    TRY(mdist_value_tensor(t->read, 0, &tensor, &t->error));
    copy = tensor_of(data, MDIST_FLOAT32, kParameters);
    TRY(mdist_tensor_copy(&copy, &tensor, &t->error));
    EXPECT(all_are(&copy, (float)(1 + mdist_strategy_replica_count(t->strategy) * kSteps)));
    return MDIST_OK;
}

/// The result is in `t`: status, error, at.
MDIST_TEST_HELPER void training_run(Training *t) {
    t->status = training_begin(t);
    for (int step = 0; step < kSteps && t->status == MDIST_OK; ++step) t->status = training_round(t);
    if (t->status == MDIST_OK) t->status = training_end(t);
    mdist_value_t *const values[] = {t->input, t->result, t->reduced, t->fetched, t->read};
    for (int i = 0; i < 5; ++i) mdist_value_destroy(values[i]);
    mdist_checkpoint_destroy(t->checkpoint);
    mdist_gradients_destroy(t->gradients);
    mdist_variable_destroy(t->scratch);
    mdist_variable_destroy(t->weights);
    mdist_strategy_destroy(t->strategy);
}
