// SPDX-License-Identifier: Apache-2.0
// Variables whose copies lie on GPUs: creating, writing and reading them, there and through the host.
#include "gpu_support.h"

#include <sched.h>

enum { kCount = 1000 };

static const char *const kDevices[] = {"gpu:0", "gpu:0*3", "gpu:0,gpu:1"};

static void expect_copies(mdist_strategy_t *strategy, mdist_variable_t *variable, float wanted) {
    mdist_error_t *error = NULL;
    for (uint32_t local = 0; local < mdist_strategy_local_replica_count(strategy); ++local) {
        mdist_tensor_t copy;
        OK(mdist_variable_tensor(variable, local, &copy, &error));
        assert_int_equal(copy.device_kind, MDIST_DEVICE_GPU);
        expect_floats(&copy, wanted);
    }
    mdist_value_t *read = NULL;
    mdist_tensor_t tensor;
    OK(mdist_variable_read(variable, &read, NULL, &error));
    OK(mdist_value_tensor(read, 0, &tensor, &error));
    expect_floats(&tensor, wanted);
    mdist_value_destroy(read);
}

static mdist_variable_t *variable_of(mdist_strategy_t *strategy, const char *name, const mdist_tensor_t *initial,
                                     mdist_aggregation_t aggregation) {
    mdist_error_t *error = NULL;
    mdist_variable_options_t options;
    mdist_variable_t *variable = NULL;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.aggregation = aggregation;
    OK(mdist_variable_create(strategy, name, initial, &variable, &options, &error));
    return variable;
}

/// A value on the host or on gpu:0 is assigned to all copies.
static void assign(mdist_strategy_t *strategy, mdist_variable_t *variable, mdist_assign_t how, float number,
                   int there) {
    mdist_error_t *error = NULL;
    static float numbers[kCount];
    for (int i = 0; i < kCount; ++i) numbers[i] = number;
    mdist_tensor_t tensor = tensor_of(numbers, MDIST_FLOAT32, kCount);
    if (there) tensor = floats_on(strategy, 0, numbers, kCount, 0);
    mdist_value_t *value = NULL;
    OK(mdist_value_create(&tensor, &value, &error));
    if (there) mdist_free(tensor.data);
    OK(mdist_variable_assign(variable, how, value, &error));
    mdist_value_destroy(value);
}

static void variables_are_written_from_the_host_and_from_gpus(void **state) {
    (void)state;
    float numbers[kCount];
    for (int i = 0; i < kCount; ++i) numbers[i] = 5;
    for (int i = 0; i < 6; ++i) {
        mdist_strategy_t *strategy = gpu_strategy(kDevices[i / 2]);
        const int there = i % 2;
        mdist_tensor_t initial = tensor_of(numbers, MDIST_FLOAT32, kCount);
        if (there) initial = floats_on(strategy, 0, numbers, kCount, 0);
        mdist_variable_t *variable = variable_of(strategy, "v", &initial, MDIST_AGGREGATION_MEAN);
        if (there) mdist_free(initial.data);
        expect_copies(strategy, variable, 5);
        assign(strategy, variable, MDIST_ASSIGN_ADD, 2, there);
        expect_copies(strategy, variable, 7);
        assign(strategy, variable, MDIST_ASSIGN_SUB, 3, !there);
        expect_copies(strategy, variable, 4);
        assign(strategy, variable, MDIST_ASSIGN_SET, 9, there);
        expect_copies(strategy, variable, 9);
        mdist_variable_destroy(variable);
        mdist_tensor_t nothing = tensor_of(NULL, MDIST_FLOAT32, kCount); // zeros, in place of the 9
        variable = variable_of(strategy, "v", &nothing, MDIST_AGGREGATION_MEAN);
        expect_copies(strategy, variable, 0);
        mdist_variable_destroy(variable);
        mdist_strategy_destroy(strategy);
        expect_no_problems();
    }
}

typedef struct World {
    mdist_variable_t *own, *mean; // synchronized on read, and a mirrored one
    mdist_tensor_t there[4];
    Note notes[4];
} World;

/// Assigns values that late work on the stream computes, from the GPU and from the host.
static int32_t assign_in_step(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    mdist_error_t *error = NULL;
    const uint32_t local = mdist_replica_local_index(replica);
    Note *const own = &world->notes[local];
    const mdist_tensor_t *there = &world->there[local];
    static const float twos[kCount] = {2, 2, 2};
    mdist_tensor_t here = tensor_of((void *)(uintptr_t)twos, MDIST_FLOAT32, kCount);
    void *stream = NULL;
    note(own, MDIST_OK, mdist_replica_stream(replica, &stream, &error), &error, "stream");
    gpus->spin(there->device_index, 3000, stream);
    gpus->fill(there->device_index, there->data, 0, kCount * 4, stream);
    note(own, MDIST_OK, mdist_replica_assign(replica, world->own, MDIST_ASSIGN_SET, there, NULL, &error), &error,
         "set");
    note(own, MDIST_OK, mdist_replica_assign(replica, world->own, MDIST_ASSIGN_ADD, &here, NULL, &error), &error,
         "add");
    note(own, MDIST_OK, mdist_replica_copy(replica, there, &here, &error), &error, "copy");
    note(own, MDIST_OK, mdist_replica_assign(replica, world->own, MDIST_ASSIGN_ADD, there, NULL, &error), &error,
         "add");
    note(own, MDIST_OK, mdist_replica_assign(replica, world->mean, MDIST_ASSIGN_SUB, there, NULL, &error), &error,
         "mean");
    return 0;
}

static void steps_assign_in_the_order_of_their_streams(void **state) {
    (void)state;
    for (int i = 0; i < 3; ++i) {
        mdist_error_t *error = NULL;
        mdist_strategy_t *strategy = gpu_strategy(kDevices[i]);
        const uint32_t replicas = mdist_strategy_local_replica_count(strategy);
        World world;
        memset(&world, 0, sizeof world);
        float ones[kCount];
        for (int j = 0; j < kCount; ++j) ones[j] = 1;
        const mdist_tensor_t initial = tensor_of(ones, MDIST_FLOAT32, kCount);
        mdist_variable_options_t options;
        memset(&options, 0, sizeof options);
        options.struct_size = sizeof options;
        options.synchronization = MDIST_SYNC_ON_READ;
        options.aggregation = MDIST_AGGREGATION_ONLY_FIRST_REPLICA;
        OK(mdist_variable_create(strategy, "own", &initial, &world.own, &options, &error));
        world.mean = variable_of(strategy, "mean", &initial, MDIST_AGGREGATION_MEAN);
        for (uint32_t local = 0; local < replicas; ++local)
            world.there[local] = floats_on(strategy, local, ones, kCount, i == 2 ? (int32_t)local : 0);
        OK(mdist_run(strategy, assign_in_step, &world, NULL, &error));
        for (uint32_t local = 0; local < replicas; ++local) {
            mdist_tensor_t copies[2];
            float numbers[kCount];
            assert_string_equal(world.notes[local].text, "");
            OK(mdist_variable_tensor(world.own, local, &copies[0], &error));
            OK(mdist_variable_tensor(world.mean, local, &copies[1], &error));
            floats_of(&copies[0], numbers);
            for (int j = 0; j < kCount; ++j) assert_true(numbers[j] == (j < 3 ? 4 : 0));
            floats_of(&copies[1], numbers);
            for (int j = 0; j < kCount; ++j) assert_true(numbers[j] == (j < 3 ? -1 : 1));
            mdist_free(world.there[local].data);
        }
        mdist_variable_destroy(world.own);
        mdist_variable_destroy(world.mean);
        mdist_strategy_destroy(strategy);
        expect_no_problems();
    }
}

static void an_arena_is_one_buffer_of_each_gpu(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0,gpu:1");
    const mdist_tensor_t initial = tensor_of(NULL, MDIST_FLOAT32, kCount);
    mdist_variable_t *variables[3];
    for (int i = 0; i < 3; ++i)
        variables[i] = variable_of(strategy, (const char *[]){"a", "b", "c"}[i], &initial, MDIST_AGGREGATION_NONE);
    for (uint32_t local = 0; local < 2; ++local) {
        mdist_buffer_t arena;
        mdist_tensor_t first, described;
        OK(mdist_variable_arena(strategy, MDIST_FLOAT32, local, &arena, &error));
        OK(mdist_variable_tensor(variables[0], local, &first, &error));
        assert_ptr_equal(arena.data, first.data);
        assert_true(arena.elements >= 3 * kCount);
        OK(mdist_tensor_describe(arena.data, MDIST_FLOAT32, &arena.elements, 1, &described, &error));
        assert_int_equal(described.device_kind, MDIST_DEVICE_GPU);
        assert_int_equal(described.device_index, local);
        mdist_variable_t *found = NULL;
        uint32_t where = 9;
        OK(mdist_variable_at_address(strategy, (char *)first.data + 5, &found, &where, &error));
        assert_int_equal(where, local);
        mdist_variable_destroy(found);
    }
    for (int i = 0; i < 3; ++i) mdist_variable_destroy(variables[i]);
    mdist_strategy_destroy(strategy);
}

/// An optimizer's update: subtracts its argument on the GPU, with a kernel of its own that it waits for.
static int32_t subtract(uint32_t local, const mdist_tensor_t *copy, const mdist_tensor_t *arguments, size_t count,
                        mdist_value_t **results, size_t result_count, void *user_data) {
    (void)results, (void)result_count, (void)user_data, (void)local;
    mdist_gpu_stream *stream = NULL;
    const int32_t gpu = copy->device_index;
    if (count != 1 || arguments[0].device_kind != MDIST_DEVICE_GPU || gpus->stream_create(gpu, 0, &stream) != 0)
        return 1;
    if (combine_floats(MDIST_GPU_DIFFERENCE, copy, &arguments[0], kCount, stream) != 0) return 2;
    while (gpus->stream_query(gpu, stream) != 0) sched_yield();
    return gpus->stream_destroy(gpu, stream);
}

static void updates_work_on_each_copy(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0,gpu:1");
    float numbers[kCount];
    for (int i = 0; i < kCount; ++i) numbers[i] = 3;
    const mdist_tensor_t initial = tensor_of(numbers, MDIST_FLOAT32, kCount);
    mdist_variable_t *variable = variable_of(strategy, "v", &initial, MDIST_AGGREGATION_MEAN);
    mdist_value_t *gradient = NULL;
    OK(mdist_strategy_broadcast(strategy, &initial, &gradient, &error));
    OK(mdist_update(variable, subtract, NULL,
                    &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &gradient, .argument_count = 1}, &error));
    expect_copies(strategy, variable, 0);
    mdist_value_destroy(gradient);
    mdist_variable_destroy(variable);
    mdist_strategy_destroy(strategy);
    expect_no_problems();
}

GPU_TESTS("devices=2,delay_us=200", cmocka_unit_test(variables_are_written_from_the_host_and_from_gpus),
          cmocka_unit_test(steps_assign_in_the_order_of_their_streams),
          cmocka_unit_test(an_arena_is_one_buffer_of_each_gpu), cmocka_unit_test(updates_work_on_each_copy))
