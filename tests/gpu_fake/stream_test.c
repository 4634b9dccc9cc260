// SPDX-License-Identifier: Apache-2.0
// Work that a step puts on its replica's stream runs in order, and is done when the run returns.
#include "gpu_support.h"

enum { kReplicas = 2, kCount = 1000 };

typedef struct World {
    mdist_tensor_t memory[kReplicas];
    void *streams[kReplicas];
    mdist_gpu_stream *own; // the caller's
    float room[kReplicas][kCount];
    Note notes[kReplicas];
} World;

/// Keeps a stream busy, and then fills memory with bytes of value 1.
static int late_ones(void *stream, const mdist_tensor_t *memory) {
    const int32_t gpu = memory->device_index;
    return gpus->spin(gpu, 5000, (mdist_gpu_stream *)stream) != 0 ||
           gpus->fill(gpu, memory->data, 1, mdist_tensor_elements(memory) * 4, (mdist_gpu_stream *)stream) != 0;
}

static float ones(void) {
    float number;
    memset(&number, 1, sizeof number);
    return number;
}

static void set_up(World *world, mdist_strategy_t *strategy, int32_t second_gpu) {
    memset(world, 0, sizeof *world);
    for (uint32_t local = 0; local < kReplicas; ++local)
        world->memory[local] = floats_on(strategy, local, NULL, kCount, local == 0 ? 0 : second_gpu);
}

static void tear_down(World *world, mdist_strategy_t *strategy) {
    for (uint32_t local = 0; local < kReplicas; ++local) {
        mdist_free(world->memory[local].data);
        assert_string_equal(world->notes[local].text, "");
    }
    mdist_strategy_destroy(strategy);
    expect_no_problems();
}

static int32_t ask_and_be_late(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    const uint32_t local = mdist_replica_local_index(replica);
    mdist_error_t *error = NULL;
    note(&world->notes[local], MDIST_OK, mdist_replica_stream(replica, &world->streams[local], &error), &error,
         "stream");
    return late_ones(world->streams[local], &world->memory[local]);
}

static void the_end_of_a_run_waits_for_all_streams(void **state) {
    (void)state;
    const char *const devices[] = {"gpu:0*2", "gpu:0,gpu:1"};
    const char *const executors[] = {"threads", "caller"};
    for (int i = 0; i < 4; ++i) {
        mdist_error_t *error = NULL;
        mdist_config_t *config = gpu_config(devices[i % 2]);
        OK(mdist_config_set(config, "executor", executors[i / 2], &error));
        mdist_strategy_t *strategy = strategy_by(config);
        World world;
        set_up(&world, strategy, i % 2);
        OK(mdist_run(strategy, ask_and_be_late, &world, NULL, &error));
        for (uint32_t local = 0; local < kReplicas; ++local) {
            assert_non_null(world.streams[local]);
            assert_int_equal(gpus->stream_query(world.memory[local].device_index, world.streams[local]), 0);
            expect_floats(&world.memory[local], ones());
        }
        assert_ptr_not_equal(world.streams[0], world.streams[1]);
        void *const before = world.streams[1];
        OK(mdist_run(strategy, ask_and_be_late, &world, NULL, &error));
        assert_ptr_equal(world.streams[1], before);
        tear_down(&world, strategy);
    }
}

static void replicas_that_exit_have_waited_for_their_streams(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0*2");
    World world;
    set_up(&world, strategy, 0);
    OK(mdist_run_begin(strategy, NULL, &error));
    for (uint32_t local = 0; local < kReplicas; ++local) {
        mdist_replica_t *replica = NULL;
        OK(mdist_replica_enter(strategy, local, &replica, &error));
        assert_int_equal(ask_and_be_late(replica, &world), 0);
        OK(mdist_replica_exit(replica, 0, &error));
        expect_floats(&world.memory[local], ones());
    }
    OK(mdist_run_end(strategy, NULL, 0, &error));
    tear_down(&world, strategy);
}

static int32_t look(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                    mdist_value_t **results, size_t result_count, void *user_data) {
    (void)strategy, (void)arguments, (void)argument_count, (void)results, (void)result_count;
    World *const world = user_data;
    mdist_error_t *error = NULL;
    for (uint32_t local = 0; local < kReplicas; ++local) {
        const mdist_tensor_t to = tensor_of(world->room[local], MDIST_FLOAT32, kCount);
        note(&world->notes[0], MDIST_OK, mdist_tensor_copy(&to, &world->memory[local], &error), &error, "copy");
    }
    return 0;
}

static int32_t be_late_and_merge(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    mdist_error_t *error = NULL;
    if (ask_and_be_late(replica, user_data) != 0) return 1;
    Note *const own = &world->notes[mdist_replica_local_index(replica)];
    note(own, MDIST_OK, mdist_merge_call(replica, look, world, NULL, 0, NULL, 0, NULL, &error), &error, "merge");
    return 0;
}

static void a_merge_waits_for_all_streams(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0,gpu:1");
    World world;
    set_up(&world, strategy, 1);
    OK(mdist_run(strategy, be_late_and_merge, &world, NULL, &error));
    for (uint32_t local = 0; local < kReplicas; ++local)
        for (int i = 0; i < kCount; ++i) assert_true(world.room[local][i] == ones());
    tear_down(&world, strategy);
}

/// The library's copy runs after the work on its own stream, and then after the work on the caller's stream.
static int32_t change_streams(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    const uint32_t local = mdist_replica_local_index(replica);
    Note *const own = &world->notes[local];
    mdist_error_t *error = NULL;
    void *stream = NULL, *now = NULL;
    if (local != 0) return 0;
    const mdist_tensor_t room = tensor_of(world->room[0], MDIST_FLOAT32, kCount);
    note(own, MDIST_OK, mdist_replica_stream(replica, &stream, &error), &error, "stream");
    if (late_ones(stream, &world->memory[0]) != 0) return 1;
    note(own, MDIST_OK, mdist_replica_use_stream(replica, world->own, &error), &error, "use");
    note(own, MDIST_OK, mdist_replica_stream(replica, &now, &error), &error, "stream");
    if (now != world->own) return 2;
    note(own, MDIST_OK, mdist_replica_copy(replica, &room, &world->memory[0], &error), &error, "copy");
    if (world->room[0][kCount - 1] != ones()) return 3;
    if (gpus->spin(0, 5000, world->own) != 0) return 4;
    if (gpus->fill(0, world->memory[0].data, 0, kCount * 4, world->own) != 0) return 5;
    note(own, MDIST_OK, mdist_replica_use_stream(replica, NULL, &error), &error, "use");
    note(own, MDIST_OK, mdist_replica_copy(replica, &room, &world->memory[0], &error), &error, "copy");
    if (world->room[0][kCount - 1] != 0) return 6;
    note(own, MDIST_OK, mdist_replica_use_stream(replica, world->own, &error), &error, "use");
    return late_ones(world->own, &world->memory[0]);
}

static void a_stream_of_the_step_is_worked_on_in_order(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0*2");
    World world;
    set_up(&world, strategy, 0);
    assert_int_equal(gpus->stream_create(0, 0, &world.own), 0);
    OK(mdist_run(strategy, change_streams, &world, NULL, &error));
    assert_int_equal(gpus->stream_query(0, world.own), 0);
    expect_floats(&world.memory[0], ones());
    assert_int_equal(gpus->stream_destroy(0, world.own), 0); // the next run is on the library's own again
    OK(mdist_run(strategy, ask_and_be_late, &world, NULL, &error));
    tear_down(&world, strategy);
}

/// Replica 0's step ends on the caller's stream, which then cannot be marked.
static int32_t leave_badly(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    mdist_error_t *error = NULL;
    if (mdist_replica_local_index(replica) != 0) return 0;
    note(&world->notes[0], MDIST_OK, mdist_replica_use_stream(replica, world->own, &error), &error, "use");
    return late_ones(world->own, &world->memory[0]) != 0 || fake->plan("event_record@1") == 0;
}

static void a_stream_of_the_step_is_left_whatever_fails(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0*2");
    World world;
    set_up(&world, strategy, 0);
    assert_int_equal(gpus->stream_create(0, 0, &world.own), 0);
    OK(mdist_run(strategy, leave_badly, &world, NULL, &error));
    fake->reset();
    assert_int_equal(gpus->stream_query(0, world.own), 0);
    expect_floats(&world.memory[0], ones());
    assert_int_equal(gpus->stream_destroy(0, world.own), 0);
    OK(mdist_run(strategy, ask_and_be_late, &world, NULL, &error));
    assert_ptr_not_equal(world.streams[0], world.own);
    tear_down(&world, strategy);
}

static int32_t ask_cpu(mdist_replica_t *replica, void *user_data) {
    Note *const own = user_data;
    mdist_error_t *error = NULL;
    void *stream = own;
    note(own, MDIST_OK, mdist_replica_stream(replica, &stream, &error), &error, "stream");
    note(own, MDIST_OK, mdist_replica_use_stream(replica, NULL, &error), &error, "none");
    note(own, MDIST_ERR_INVALID_ARGUMENT, mdist_replica_use_stream(replica, own, &error), &error, "some");
    return stream != NULL;
}

static void the_cpu_has_no_streams(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    Note own = {""};
    mdist_strategy_t *strategy = gpu_strategy("cpu");
    OK(mdist_run(strategy, ask_cpu, &own, NULL, &error));
    assert_string_equal(own.text, "");
    mdist_strategy_destroy(strategy);
}

/// With gpu.blocking a copy from GPU to GPU is done when the function returns.
static int32_t copy_and_ask(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    const uint32_t local = mdist_replica_local_index(replica);
    mdist_error_t *error = NULL;
    void *stream = NULL;
    Note *const own = &world->notes[local];
    mdist_tensor_t half = world->memory[local], rest = half;
    half.shape[0] = rest.shape[0] = kCount / 2;
    rest.data = (char *)rest.data + kCount / 2 * sizeof(float);
    note(own, MDIST_OK, mdist_replica_stream(replica, &stream, &error), &error, "stream");
    if (late_ones(stream, &half) != 0) return 1;
    note(own, MDIST_OK, mdist_replica_copy(replica, &rest, &half, &error), &error, "copy");
    return gpus->stream_query(half.device_index, stream);
}

static void blocking_functions_are_done_on_return(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_config_t *config = gpu_config("gpu:0,gpu:1");
    OK(mdist_config_set(config, "gpu.blocking", "true", &error));
    mdist_strategy_t *strategy = strategy_by(config);
    World world;
    set_up(&world, strategy, 1);
    OK(mdist_run(strategy, copy_and_ask, &world, NULL, &error));
    expect_floats(&world.memory[1], ones());
    tear_down(&world, strategy);
}

GPU_TESTS("devices=2,delay_us=500", cmocka_unit_test(the_end_of_a_run_waits_for_all_streams),
          cmocka_unit_test(replicas_that_exit_have_waited_for_their_streams),
          cmocka_unit_test(a_merge_waits_for_all_streams), cmocka_unit_test(a_stream_of_the_step_is_worked_on_in_order),
          cmocka_unit_test(a_stream_of_the_step_is_left_whatever_fails), cmocka_unit_test(the_cpu_has_no_streams),
          cmocka_unit_test(blocking_functions_are_done_on_return))
