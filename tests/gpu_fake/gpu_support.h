// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of strategies on simulated GPUs, whose memory the host cannot access: ways to read and write such
// memory. Steps put kernels on their streams through the simulated GPU's own table.
#pragma once

#include "mdist_test.h"

#include "device/gpu/module.h"
#include "fake_gpu.h"

#include <dlfcn.h>

extern const mdist_gpu_api *gpus;
extern const fake_gpu_controls *fake;

/// Makes this process use a simulated GPU with these options, and those in $MDIST_TEST_FAKE_GPU_TOO. GPU_TESTS calls it
/// before anything of the library.
void load_fake(const char *options);

MDIST_TEST_HELPER mdist_config_t *gpu_config(const char *devices) {
    mdist_error_t *error = NULL;
    mdist_config_t *config = NULL;
    OK(mdist_config_create(&config, &error));
    if (devices != NULL) OK(mdist_config_set(config, "devices", devices, &error));
    return config;
}

/// Makes a strategy from a config, and destroys the config.
MDIST_TEST_HELPER mdist_strategy_t *strategy_by(mdist_config_t *config) {
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = NULL;
    OK(mdist_strategy_create(config, &strategy, &error));
    mdist_config_destroy(config);
    return strategy;
}

MDIST_TEST_HELPER mdist_strategy_t *gpu_strategy(const char *devices) {
    return strategy_by(gpu_config(devices));
}

MDIST_TEST_HELPER mdist_tensor_t on_gpu(void *data, mdist_dtype_t dtype, uint64_t elements, int32_t gpu) {
    mdist_tensor_t tensor = tensor_of(data, dtype, elements);
    tensor.device_kind = MDIST_DEVICE_GPU;
    tensor.device_index = gpu;
    return tensor;
}

/// Allocates memory on a replica's GPU with these elements.
MDIST_TEST_HELPER mdist_tensor_t floats_on(mdist_strategy_t *strategy, uint32_t local, const float *from,
                                           uint64_t count, int32_t gpu) {
    mdist_error_t *error = NULL;
    void *memory = NULL;
    OK(mdist_alloc(strategy, local, count * sizeof *from, &memory, &error));
    const mdist_tensor_t to = on_gpu(memory, MDIST_FLOAT32, count, gpu);
    const mdist_tensor_t host = tensor_of((void *)(uintptr_t)from, MDIST_FLOAT32, count);
    if (from != NULL) OK(mdist_tensor_copy(&to, &host, &error));
    return to;
}

/// Reads the content of a tensor, wherever it lies.
MDIST_TEST_HELPER void floats_of(const mdist_tensor_t *tensor, float *to) {
    mdist_error_t *error = NULL;
    mdist_tensor_t host = *tensor;
    host.data = to;
    host.device_kind = MDIST_DEVICE_CPU;
    host.device_index = 0;
    OK(mdist_tensor_copy(&host, tensor, &error));
}

/// Puts on a stream of their GPU: to[i] = to[i] (op) from[i]. Returns the table's error.
MDIST_TEST_HELPER int combine_floats(int32_t op, const mdist_tensor_t *to, const mdist_tensor_t *from, uint64_t count,
                                     mdist_gpu_stream *stream) {
    const void *const sources[] = {to->data, from->data};
    const mdist_gpu_reduction reduction = {MDIST_FLOAT32, op, 1, 2, 1, sources, &to->data, count};
    return gpus->reduce(to->device_index, &reduction, 1, stream);
}

/// Asserts that all elements of a tensor have this value.
MDIST_TEST_HELPER void expect_floats(const mdist_tensor_t *tensor, float wanted) {
    float numbers[4096];
    const uint64_t count = mdist_tensor_elements(tensor);
    assert_true(count <= sizeof numbers / sizeof *numbers);
    floats_of(tensor, numbers);
    for (uint64_t i = 0; i < count; ++i)
        if (numbers[i] != wanted) {
            print_error("element %u is %g, not %g\n", (unsigned)i, (double)numbers[i], (double)wanted);
            fail();
        }
}

/// Asserts that nobody used the simulated GPU in a forbidden way.
MDIST_TEST_HELPER void expect_no_problems(void) {
    char text[1024] = "";
    if (fake->problems(text, sizeof text) == 0) return;
    print_error("%s\n", text);
    fail();
}

/// main() of a test on a simulated GPU with these options.
#define GPU_TESTS(options, ...)                           \
    int main(void) {                                      \
        const struct CMUnitTest tests[] = {__VA_ARGS__};  \
        load_fake(options);                               \
        return cmocka_run_group_tests(tests, NULL, NULL); \
    }
