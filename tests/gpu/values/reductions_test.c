// SPDX-License-Identifier: Apache-2.0
// Reductions and gathers of values on GPUs have the bits of the CPU, and their results lie in the requested memory.
#include "gpu_support.h"

static const mdist_reduce_op_t kOps[] = {MDIST_SUM, MDIST_MEAN, MDIST_MIN, MDIST_MAX, MDIST_PROD};
enum { OPS = sizeof kOps / sizeof kOps[0] };

typedef mdist_value_t *Reduction(mdist_strategy_t *strategy, mdist_reduce_op_t op);

static mdist_value_t *whole(mdist_strategy_t *strategy, mdist_reduce_op_t op) {
    mdist_error_t *error = NULL;
    mdist_value_t *out = NULL, *const value = numbers_of_replicas(strategy, 7, 11, 0);
    OK(mdist_strategy_reduce(strategy, op, value, &out, NULL, &error));
    expect_place(out, 0, -1);
    mdist_value_destroy(value);
    return out;
}

/// Large enough that the CPU uses all threads.
static mdist_value_t *whole_and_large(mdist_strategy_t *strategy, mdist_reduce_op_t op) {
    mdist_error_t *error = NULL;
    mdist_value_t *out = NULL, *const value = numbers_of_replicas(strategy, 300, 333, 0);
    OK(mdist_strategy_reduce_to(strategy, op, &value, NULL, 1, &out, NULL, &error));
    expect_on_replicas(strategy, out);
    mdist_value_destroy(value);
    return out;
}

static mdist_value_t *to_last_device(mdist_strategy_t *strategy, mdist_reduce_op_t op) {
    mdist_error_t *error = NULL;
    mdist_value_t *out = NULL, *const value = numbers_of_replicas(strategy, 5, 3, 0);
    const uint32_t last = mdist_strategy_local_replica_count(strategy) - 1;
    char device[32];
    OK(mdist_strategy_device(strategy, last, device, sizeof device, NULL, &error));
    OK(mdist_strategy_reduce_to(strategy, op, &value, (const char *const[]){device}, 1, &out, NULL, &error));
    expect_place(out, 0, gpu_of_replica(strategy, last));
    mdist_value_destroy(value);
    return out;
}

static mdist_value_t *over_axes(mdist_strategy_t *strategy, mdist_reduce_op_t op) {
    mdist_error_t *error = NULL;
    mdist_value_t *out = NULL, *const value = numbers_of_replicas(strategy, 4, 6, 1);
    const int32_t axis = 0;
    OK(mdist_strategy_reduce_axes(strategy, op, value, &axis, 1, &out, NULL, &error));
    mdist_value_destroy(value);
    return out;
}

static mdist_value_t *gathered(mdist_strategy_t *strategy, mdist_reduce_op_t op) {
    (void)op;
    mdist_error_t *error = NULL;
    mdist_value_t *out = NULL, *const value = numbers_of_replicas(strategy, 2, 5, 1);
    OK(mdist_strategy_gather(strategy, value, 0, &out, NULL, &error));
    mdist_value_destroy(value);
    return out;
}

/// Rows of a per-replica value; indices lie on the GPUs, too.
static mdist_value_t *rows(mdist_strategy_t *strategy, mdist_reduce_op_t op) {
    mdist_error_t *error = NULL;
    mdist_value_t *out = NULL, *which = NULL, *some = NULL, *const values = numbers_of_replicas(strategy, 2, 4, 0);
    int64_t indices[MOST_REPLICAS][2] = {{0, 3}, {1, 3}, {2, 0}};
    mdist_tensor_t tensors[MOST_REPLICAS];
    for (uint32_t i = 0; i < MOST_REPLICAS; ++i) tensors[i] = tensor_of(indices[i], MDIST_INT64, 2);
    OK(mdist_value_per_replica(strategy, tensors, mdist_strategy_local_replica_count(strategy), &which, &error));
    OK(mdist_value_sparse(which, values, &some, &error));
    OK(mdist_strategy_reduce_to(strategy, op == MDIST_MEAN ? MDIST_MEAN : MDIST_SUM, &some, NULL, 1, &out, NULL,
                                &error));
    expect_on_replicas(strategy, out);
    mdist_value_destroy(which);
    mdist_value_destroy(values);
    mdist_value_destroy(some);
    return out;
}

static void check_all(Twins *twins) {
    Reduction *const reductions[] = {whole, whole_and_large, to_last_device, over_axes, gathered, rows};
    for (size_t i = 0; i < sizeof reductions / sizeof reductions[0]; ++i)
        for (int op = 0; op < OPS; ++op)
            expect_twins(reductions[i](twins->gpu, kOps[op]), reductions[i](twins->cpu, kOps[op]));
}

static void reductions_have_the_bits_of_the_cpu(void **state) {
    (void)state;
    on_all_devices(check_all);
}

// ---- Many reductions at once, to different places.

static void batch(mdist_strategy_t *strategy, mdist_value_t **out) {
    enum { COUNT = 9 };
    mdist_error_t *error = NULL;
    mdist_value_t *values[COUNT];
    const char *destinations[COUNT];
    char first[32];
    OK(mdist_strategy_device(strategy, 0, first, sizeof first, NULL, &error));
    for (int i = 0; i < COUNT; ++i) {
        values[i] = numbers_of_replicas(strategy, (uint64_t)i, 13, 0);
        destinations[i] = i % 3 == 0 ? first : NULL;
    }
    OK(mdist_strategy_reduce_to(strategy, MDIST_SUM, values, destinations, COUNT, out, NULL, &error));
    for (int i = 0; i < COUNT; ++i) mdist_value_destroy(values[i]);
}

static void check_batch(Twins *twins) {
    mdist_value_t *gpu[9], *cpu[9];
    batch(twins->gpu, gpu);
    batch(twins->cpu, cpu);
    for (int i = 0; i < 9; ++i) {
        expect_on_replicas(twins->gpu, gpu[i]);
        expect_twins(gpu[i], cpu[i]);
    }
}

static void a_batch_of_reductions_goes_to_its_places(void **state) {
    (void)state;
    on_all_devices(check_batch);
    for (int i = 0; i < DEVICES; ++i) {
        Twins twins = make_twins(kDevices[i], "communication.num_packs", "3");
        check_batch(&twins);
        destroy_twins(&twins);
    }
}

// ---- The caller's own buffers.

static void check_buffers(Twins *twins) {
    enum { COUNT = 1000 };
    mdist_error_t *error = NULL;
    float *const host = malloc(COUNT * sizeof(float));
    mdist_buffer_t inputs[MOST_REPLICAS], outputs[MOST_REPLICAS], wanted[MOST_REPLICAS];
    float *const sums = malloc(MOST_REPLICAS * COUNT * sizeof(float));
    assert_non_null(host);
    assert_non_null(sums);
    for (uint32_t i = 0; i < twins->replicas; ++i) {
        const int32_t gpu = gpu_of_replica(twins->gpu, i);
        fill_numbers(host, COUNT, i);
        inputs[i] = buffer_of(gpu_allocate(gpu, COUNT * sizeof(float)), MDIST_FLOAT32, COUNT);
        outputs[i] = i % 2 == 0 ? inputs[i] : buffer_of(gpu_allocate(gpu, sizeof(float[COUNT])), MDIST_FLOAT32, COUNT);
        const mdist_tensor_t to = tensor_of(inputs[i].data, MDIST_FLOAT32, COUNT);
        const mdist_tensor_t from = tensor_of(host, MDIST_FLOAT32, COUNT);
        OK(mdist_tensor_copy(&to, &from, &error));
        fill_numbers(sums + i * COUNT, COUNT, i);
        wanted[i] = buffer_of(sums + i * COUNT, MDIST_FLOAT32, COUNT);
    }
    OK(mdist_strategy_all_reduce(twins->gpu, MDIST_SUM, inputs, outputs, 1, NULL, &error));
    OK(mdist_strategy_all_reduce(twins->cpu, MDIST_SUM, wanted, wanted, 1, NULL, &error));
    for (uint32_t i = 0; i < twins->replicas; ++i) {
        const mdist_tensor_t got = tensor_of(outputs[i].data, MDIST_FLOAT32, COUNT);
        const mdist_tensor_t sum = tensor_of(wanted[i].data, MDIST_FLOAT32, COUNT);
        expect_same_tensor(&got, &sum);
        const int32_t gpu = gpu_of_replica(twins->gpu, i);
        if (outputs[i].data != inputs[i].data) gpu_release(gpu, outputs[i].data);
        gpu_release(gpu, inputs[i].data);
    }
    free(host);
    free(sums);
}

static void buffers_on_gpus_are_reduced(void **state) {
    (void)state;
    on_all_devices(check_buffers);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions_have_the_bits_of_the_cpu),
        cmocka_unit_test(a_batch_of_reductions_goes_to_its_places),
        cmocka_unit_test(buffers_on_gpus_are_reduced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
