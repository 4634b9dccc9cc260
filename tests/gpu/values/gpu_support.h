// SPDX-License-Identifier: Apache-2.0
// Strategies on GPUs, each with a twin on the CPU. With the same numbers, both must give the same bits.
#pragma once

#include "gpu_memory.h"
#include "mdist_test.h"

enum { MOST_REPLICAS = 3 };

/// How replicas lie on two GPUs.
static const char *const kDevices[] = {"gpu:0", "gpu:0*2", "gpu:0*3", "gpu:0,gpu:1", "gpu:0*2,gpu:1"};
enum { DEVICES = sizeof kDevices / sizeof kDevices[0] };

/// A strategy on GPUs, and one with as many replicas on the CPU.
typedef struct Twins {
    mdist_strategy_t *gpu, *cpu;
    uint32_t replicas;
    int is_gpu; // whether the current strategy is the one on GPUs
} Twins;

MDIST_TEST_HELPER mdist_strategy_t *strategy_with(const char *devices, const char *key, const char *value) {
    mdist_error_t *error = NULL;
    mdist_config_t *config = NULL;
    mdist_strategy_t *strategy = NULL;
    OK(mdist_config_create(&config, &error));
    OK(mdist_config_set(config, "devices", devices, &error));
    if (key != NULL) OK(mdist_config_set(config, key, value, &error));
    OK(mdist_strategy_create(config, &strategy, &error));
    mdist_config_destroy(config);
    return strategy;
}

MDIST_TEST_HELPER Twins make_twins(const char *devices, const char *key, const char *value) {
    Twins twins;
    char cpu[16];
    memset(&twins, 0, sizeof twins);
    twins.gpu = strategy_with(devices, key, value);
    twins.replicas = mdist_strategy_local_replica_count(twins.gpu);
    snprintf(cpu, sizeof cpu, "cpu*%u", (unsigned)twins.replicas);
    twins.cpu = strategy_with(cpu, key, value);
    return twins;
}

MDIST_TEST_HELPER void destroy_twins(Twins *twins) {
    mdist_strategy_destroy(twins->gpu);
    mdist_strategy_destroy(twins->cpu);
}

MDIST_TEST_HELPER size_t bytes_of(const mdist_tensor_t *tensor) {
    return mdist_tensor_elements(tensor) * mdist_dtype_size((mdist_dtype_t)tensor->dtype);
}

/// Returns a copy on the host. The caller frees it.
MDIST_TEST_HELPER void *host_bytes(const mdist_tensor_t *tensor) {
    mdist_error_t *error = NULL;
    mdist_tensor_t copy = *tensor;
    copy.data = calloc(1, bytes_of(tensor) + 1);
    copy.device_kind = copy.device_index = 0;
    assert_non_null(copy.data);
    if (bytes_of(tensor) != 0) OK(mdist_tensor_copy(&copy, tensor, &error));
    return copy.data;
}

MDIST_TEST_HELPER void expect_same_tensor(const mdist_tensor_t *a, const mdist_tensor_t *b) {
    assert_int_equal(a->dtype, b->dtype);
    assert_int_equal(a->rank, b->rank);
    assert_memory_equal(a->shape, b->shape, sizeof a->shape);
    void *const first = host_bytes(a), *const second = host_bytes(b);
    assert_memory_equal(first, second, bytes_of(a));
    free(first);
    free(second);
}

/// Asserts that two values have the same kind and the same tensors, bit for bit. Works for rows and structures, too.
MDIST_TEST_HELPER void expect_same_value(const mdist_value_t *a, const mdist_value_t *b) {
    mdist_error_t *error = NULL;
    assert_int_equal(mdist_value_kind(a), mdist_value_kind(b));
    assert_int_equal(mdist_value_count(a), mdist_value_count(b));
    if (mdist_value_kind(a) == MDIST_VALUE_STRUCTURE) {
        assert_int_equal(mdist_value_leaf_count(a), mdist_value_leaf_count(b));
        for (size_t i = 0; i < mdist_value_leaf_count(a); ++i) {
            mdist_value_t *one = NULL, *other = NULL;
            OK(mdist_value_at(a, mdist_value_leaf_path(a, i), &one, &error));
            OK(mdist_value_at(b, mdist_value_leaf_path(a, i), &other, &error));
            expect_same_value(one, other);
            mdist_value_destroy(one);
            mdist_value_destroy(other);
        }
        return;
    }
    for (size_t i = 0; i < mdist_value_count(a); ++i) {
        mdist_tensor_t one, other;
        OK(mdist_value_tensor(a, i, &one, &error));
        OK(mdist_value_tensor(b, i, &other, &error));
        expect_same_tensor(&one, &other);
        OK(mdist_value_indices(a, i, &one, &error));
        OK(mdist_value_indices(b, i, &other, &error));
        assert_int_equal(one.dtype, other.dtype);
        if (one.dtype != 0) expect_same_tensor(&one, &other);
    }
}

/// The same. Destroys both values.
MDIST_TEST_HELPER void expect_twins(mdist_value_t *a, mdist_value_t *b) {
    expect_same_value(a, b);
    mdist_value_destroy(a);
    mdist_value_destroy(b);
}

/// Asserts that tensor `index` lies on the host (-1) or on that GPU.
MDIST_TEST_HELPER void expect_place(const mdist_value_t *value, size_t index, int32_t gpu) {
    mdist_error_t *error = NULL;
    mdist_tensor_t tensor;
    OK(mdist_value_tensor(value, index, &tensor, &error));
    assert_int_equal(tensor.device_kind, gpu < 0 ? MDIST_DEVICE_CPU : MDIST_DEVICE_GPU);
    assert_int_equal(tensor.device_index, gpu < 0 ? 0 : gpu);
}

/// Asserts that each replica's tensor lies on its GPU.
MDIST_TEST_HELPER void expect_on_replicas(const mdist_strategy_t *strategy, const mdist_value_t *value) {
    for (uint32_t i = 0; i < mdist_value_count(value); ++i) expect_place(value, i, gpu_of_replica(strategy, i));
}

/// Fills `numbers` with numbers that differ by replica and whose sums are rounded.
MDIST_TEST_HELPER void fill_numbers(float *numbers, size_t count, uint32_t replica) {
    for (size_t i = 0; i < count; ++i) numbers[i] = (float)((i * 37 + replica * 101) % 1009) * 0.137F - 31.7F;
}

/// Makes a per-replica value of such numbers, [rows, columns]. With `longer`, each replica has one row more than the
/// one before.
MDIST_TEST_HELPER mdist_value_t *numbers_of_replicas(mdist_strategy_t *strategy, uint64_t rows, uint64_t columns,
                                                     int longer) {
    mdist_error_t *error = NULL;
    mdist_value_t *value = NULL;
    mdist_tensor_t tensors[MOST_REPLICAS];
    const uint32_t replicas = mdist_strategy_local_replica_count(strategy);
    for (uint32_t i = 0; i < replicas; ++i) {
        const uint64_t shape[] = {rows + (longer ? i : 0), columns};
        float *const numbers = malloc(shape[0] * shape[1] * sizeof(float) + 1);
        assert_non_null(numbers);
        fill_numbers(numbers, shape[0] * shape[1], i);
        OK(mdist_tensor_describe(numbers, MDIST_FLOAT32, shape, 2, &tensors[i], &error));
    }
    OK(mdist_value_per_replica(strategy, tensors, replicas, &value, &error));
    for (uint32_t i = 0; i < replicas; ++i) free(tensors[i].data);
    return value;
}

/// Calls `check` for strategies on all kDevices.
MDIST_TEST_HELPER void on_all_devices(void (*check)(Twins *twins)) {
    for (int i = 0; i < DEVICES; ++i) {
        Twins twins = make_twins(kDevices[i], NULL, NULL);
        check(&twins);
        destroy_twins(&twins);
    }
}
