// SPDX-License-Identifier: Apache-2.0
#include "elastic_state.h"

#include <string.h>

static uint64_t generator[REPLICAS];
static mdist_variable_t *weights, *speed, *seen;
static mdist_gradients_t *gradients; // NULL: sums by an all-reduce
static int lent;                     // to them is `sums`
static int mirrored;
static uint32_t local_count;
static float *sums[REPLICAS]; // by local replica, on its device

#define TRY(call)                            \
    do {                                     \
        const mdist_status_t tried = (call); \
        if (tried != MDIST_OK) return tried; \
    } while (0)

uint64_t mixed(uint64_t x) {
    x ^= x >> 31;
    x *= 0xbf58476d1ce4e5b9u;
    return x ^ x >> 27;
}

uint64_t *generator_of(uint32_t replica_id) {
    return &generator[replica_id];
}

static mdist_tensor_t vector(void *data, int32_t dtype, uint64_t elements) {
    mdist_tensor_t tensor = {.data = data, .dtype = dtype, .rank = 1, .shape = {elements}};
    return tensor;
}

mdist_status_t create_state(mdist_strategy_t *strategy, int all_mirrored, const char *with, uint64_t count,
                            mdist_error_t **error) {
    static float zeros[WEIGHTS];
    static double none[1];
    const mdist_tensor_t like = vector(zeros, MDIST_FLOAT32, count), one = vector(none, MDIST_FLOAT64, 1);
    mdist_variable_options_t options = {.struct_size = sizeof options};
    mdist_gradients_options_t summed = {.struct_size = sizeof summed, .op = MDIST_SUM};
    mirrored = all_mirrored;
    TRY(mdist_variable_create(strategy, "weights", &like, &weights, &options, error));
    options.aggregation = MDIST_AGGREGATION_MEAN;
    TRY(mdist_variable_create(strategy, "speed", &like, &speed, &options, error));
    options.synchronization = MDIST_SYNC_ON_READ;
    options.aggregation = MDIST_AGGREGATION_SUM;
    if (!mirrored) TRY(mdist_variable_create(strategy, "seen", &one, &seen, &options, error));
    mdist_tensor_t later[REPLICAS];
    for (uint32_t local = 0; local < REPLICAS; ++local) later[local] = vector(NULL, MDIST_FLOAT32, count);
    lent = with != NULL && strcmp(with, "lent") == 0;
    if (lent)
        TRY(mdist_gradients_create_lent(strategy, later, 1, &gradients, &summed, error));
    else if (with != NULL)
        TRY(mdist_gradients_create(strategy, &like, 1, &gradients, &summed, error));
    for (uint32_t id = 0; id < REPLICAS; ++id) generator[id] = id + 1;
    return MDIST_OK;
}

static void free_sums(void) {
    for (uint32_t local = 0; local < local_count; ++local) mdist_free(sums[local]);
    local_count = 0;
}

mdist_status_t place_state(mdist_strategy_t *strategy, mdist_error_t **error) {
    static mdist_tensor_t former[2]; // the last replica's weights and gradient, in the generation before
    static float any[WEIGHTS];
    free_sums();
    const uint32_t count = mdist_strategy_local_replica_count(strategy);
    for (; local_count < count; ++local_count) {
        TRY(mdist_alloc(strategy, local_count, WEIGHTS * sizeof(float), (void **)&sums[local_count], error));
        const mdist_tensor_t own = vector(sums[local_count], MDIST_FLOAT32, WEIGHTS);
        if (lent) TRY(mdist_gradients_lend(gradients, local_count, &own, 1, error));
    }
    for (int i = 0; i < (gradients != NULL && !lent ? 2 : 1); ++i) {
        const mdist_tensor_t here = vector(any, MDIST_FLOAT32, former[i].shape[0]);
        if (former[i].data != NULL) TRY(mdist_tensor_copy(&here, &former[i], error)); // has no meaning, but is memory
        TRY(i == 0 ? mdist_variable_tensor(weights, count - 1, &former[i], error)
                   : mdist_gradients_tensor(gradients, count - 1, 0, &former[i], error));
    }
    return MDIST_OK;
}

static int32_t all_reduce(mdist_replica_t *replica, void *user_data) {
    const mdist_buffer_t *const buffer = user_data;
    return mdist_all_reduce(replica, MDIST_SUM, buffer, buffer, 1, NULL, NULL) != MDIST_OK;
}

/// Sums over the replicas, on their devices: by gradients, or by one all-reduce, which may be a graph's.
static mdist_status_t sum(mdist_replica_t *replica, float gradient[WEIGHTS], int by_graph) {
    const uint32_t local = mdist_replica_local_index(replica);
    const mdist_tensor_t here = vector(gradient, MDIST_FLOAT32, WEIGHTS);
    mdist_tensor_t there = vector(sums[local], MDIST_FLOAT32, WEIGHTS);
    mdist_buffer_t buffer = {sums[local], WEIGHTS, MDIST_FLOAT32, 0};
    if (gradients != NULL) TRY(mdist_gradients_tensor(gradients, local, 0, &there, NULL));
    TRY(mdist_replica_copy(replica, &there, &here, NULL));
    if (gradients != NULL) {
        TRY(mdist_gradients_ready(replica, gradients, 0, NULL));
        TRY(mdist_gradients_wait(replica, gradients, NULL, NULL, NULL));
    } else if (by_graph) {
        TRY(mdist_replica_graph(replica, 1, all_reduce, &buffer, NULL));
    } else {
        TRY(mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL));
    }
    return mdist_replica_copy(replica, &here, &there, NULL);
}

static mdist_status_t try_step(mdist_replica_t *replica, uint64_t at) {
    const uint32_t id = mdist_replica_id(replica), local = mdist_replica_local_index(replica);
    float own_weights[WEIGHTS], gradient[WEIGHTS];
    int64_t own_rows[64];
    double own_seen;
    mdist_tensor_t own, row, rate, count;
    TRY(mdist_variable_tensor(weights, local, &own, NULL));
    TRY(mdist_replica_argument(replica, 0, NULL, &row, NULL));
    if (row.shape[0] > sizeof own_rows / sizeof own_rows[0]) return MDIST_ERR_INTERNAL;
    const mdist_tensor_t here = vector(own_weights, MDIST_FLOAT32, WEIGHTS),
                         rows_here = vector(own_rows, MDIST_INT64, row.shape[0]),
                         seen_here = vector(&own_seen, MDIST_FLOAT64, 1);
    TRY(mdist_replica_copy(replica, &here, &own, NULL));
    TRY(mdist_replica_copy(replica, &rows_here, &row, NULL));
    double rows = 0;
    for (uint64_t i = 0; i < row.shape[0]; ++i) rows += (double)own_rows[i];
    generator[id] = mixed(mirrored ? 100 * id + at : generator[id] + at);
    for (int i = 0; i < WEIGHTS; ++i)
        gradient[i] = (float)((generator[id] >> (i % 40)) & 1023) / 997.0f - own_weights[i] * (float)(id + 1) * 0.1f +
                      (float)rows * 1e-3f;
    const mdist_tensor_t own_gradient = vector(gradient, MDIST_FLOAT32, WEIGHTS);
    TRY(mdist_variable_tensor(speed, local, &rate, NULL));
    TRY(mdist_replica_assign(replica, speed, at % 3 == 0 ? MDIST_ASSIGN_SET : MDIST_ASSIGN_ADD, &own_gradient, NULL,
                             NULL));
    TRY(sum(replica, gradient, at % 2 == 0));
    float own_speed[WEIGHTS];
    const mdist_tensor_t speed_here = vector(own_speed, MDIST_FLOAT32, WEIGHTS);
    TRY(mdist_replica_copy(replica, &speed_here, &rate, NULL));
    for (int i = 0; i < WEIGHTS; ++i) own_weights[i] += 0.01f * gradient[i] + 0.001f * own_speed[i];
    TRY(mdist_replica_copy(replica, &own, &here, NULL));
    if (mirrored) return MDIST_OK;
    TRY(mdist_variable_tensor(seen, local, &count, NULL));
    TRY(mdist_replica_copy(replica, &seen_here, &count, NULL));
    own_seen += rows + (double)id;
    return mdist_replica_copy(replica, &count, &seen_here, NULL);
}

int32_t step_of_state(mdist_replica_t *replica, void *user_data) {
    const Step *const step = user_data;
    step->reached(step->at, mdist_replica_id(replica));
    return try_step(replica, step->at) != MDIST_OK;
}

static uint64_t hash_of(uint64_t hash, const void *data, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) hash = (hash ^ ((const unsigned char *)data)[i]) * 0x100000001b3u;
    return hash;
}

mdist_status_t hash_state(uint64_t *hash, mdist_error_t **error) {
    mdist_variable_t *const all[] = {weights, speed, seen};
    *hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < (mirrored ? 2 : 3); ++i) {
        mdist_value_t *value;
        mdist_tensor_t tensor;
        TRY(mdist_variable_read(all[i], &value, NULL, error));
        const mdist_status_t status = mdist_value_tensor(value, 0, &tensor, error);
        if (status == MDIST_OK) *hash = hash_of(*hash, tensor.data, i < 2 ? WEIGHTS * sizeof(float) : sizeof(double));
        mdist_value_destroy(value);
        if (status != MDIST_OK) return status;
    }
    return MDIST_OK;
}

void touch_state(const mdist_strategy_t *strategy) {
    static float zeros[WEIGHTS];
    mdist_tensor_t tensor = vector(zeros, MDIST_FLOAT32, WEIGHTS);
    mdist_value_t *value = NULL;
    if (mdist_value_create(&tensor, &value, NULL) == MDIST_OK)
        (void)mdist_variable_assign(weights, MDIST_ASSIGN_SET, value, NULL);
    mdist_value_destroy(value);
    for (uint32_t local = 0; local < mdist_strategy_local_replica_count(strategy); ++local) {
        (void)mdist_variable_tensor(weights, local, &tensor, NULL);
        if (gradients != NULL) (void)mdist_gradients_tensor(gradients, local, 0, &tensor, NULL);
    }
}

void destroy_state(void) {
    free_sums();
    mdist_gradients_destroy(gradients);
    mdist_variable_destroy(weights);
    mdist_variable_destroy(speed);
    mdist_variable_destroy(seen);
}
