// SPDX-License-Identifier: Apache-2.0
// Strategies on GPUs are created and destroyed, several at once and with work under way. Nothing is left behind.
#include "gpu_support.h"
#include "time_limits.h"

enum { kCount = 1000 };

static fake_gpu_live live_now(void) {
    fake_gpu_live live;
    fake->live(&live);
    return live;
}

/// The same, when the thread that gives memory back to CUDA is done with reservations. The alarm ends it otherwise.
static fake_gpu_live live_without_reservations(void) {
    while (live_now().reservations != 0) nap();
    return live_now();
}

typedef struct World {
    mdist_tensor_t memory[4];
    Note notes[4];
    mdist_variable_t *variable;
    mdist_strategy_t *strategy;
} World;

/// Sets results again and again. The library allocates and frees memory for them long before the stream uses it.
static int32_t set_often(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    mdist_error_t *error = NULL;
    const uint32_t local = mdist_replica_local_index(replica);
    const mdist_tensor_t *memory = &world->memory[local];
    void *stream = NULL;
    note(&world->notes[local], MDIST_OK, mdist_replica_stream(replica, &stream, &error), &error, "stream");
    for (int i = 0; i < 20; ++i) {
        gpus->fill(memory->device_index, memory->data, i % 2, kCount * 4, stream);
        note(&world->notes[local], MDIST_OK, mdist_replica_set_result(replica, 0, NULL, memory, &error), &error, "set");
    }
    return 0;
}

static void use(mdist_strategy_t *strategy, int32_t second) {
    mdist_error_t *error = NULL;
    const uint32_t replicas = mdist_strategy_local_replica_count(strategy);
    float ones;
    World world;
    memset(&world, 0, sizeof world);
    memset(&ones, 1, sizeof ones);
    for (uint32_t local = 0; local < replicas; ++local)
        world.memory[local] = floats_on(strategy, local, NULL, kCount, local == 0 ? 0 : second);
    mdist_value_t *result = NULL;
    OK(mdist_run(strategy, set_often, &world,
                 &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &result, .result_count = 1}, &error));
    for (uint32_t local = 0; local < replicas; ++local) {
        mdist_tensor_t tensor;
        assert_string_equal(world.notes[local].text, "");
        OK(mdist_value_tensor(result, local, &tensor, &error));
        assert_int_equal(tensor.device_kind, MDIST_DEVICE_GPU);
        expect_floats(&tensor, ones);
        mdist_free(world.memory[local].data);
    }
    mdist_value_destroy(result);
}

static void strategies_leave_nothing_behind(void **state) {
    (void)state;
    const char *const devices[] = {"gpu:0*2", "gpu:0,gpu:1"};
    fake_gpu_live after_first = {.blocks = 0};
    for (int i = 0; i < 20; ++i) {
        mdist_strategy_t *strategy = gpu_strategy(devices[i % 2]);
        use(strategy, i % 2);
        mdist_error_t *error = NULL;
        mdist_variable_t *variable = NULL;
        const mdist_tensor_t initial = tensor_of(NULL, MDIST_FLOAT32, kCount);
        OK(mdist_variable_create(strategy, "v", &initial, &variable, NULL, &error));
        mdist_variable_destroy(variable);
        mdist_strategy_destroy(strategy);
        const fake_gpu_live live = live_without_reservations();
        if (i == 3) after_first = live;
        assert_int_equal(live.reservations, 0);
        if (i <= 3) continue;
        assert_int_equal(live.streams, after_first.streams); // the GPUs' own streams, for copies
        assert_true(live.blocks <= after_first.blocks + 8);  // kept for later strategies
    }
    expect_no_problems();
}

static void strategies_share_a_gpu(void **state) {
    (void)state;
    mdist_strategy_t *one = gpu_strategy("gpu:0*2"), *other = gpu_strategy("gpu:0,gpu:1");
    for (int i = 0; i < 5; ++i) {
        use(one, 0);
        use(other, 1);
    }
    mdist_strategy_destroy(one);
    use(other, 1);
    mdist_strategy_destroy(other);
    expect_no_problems();
}

/// Destroys everything before the stream has used it.
static int32_t destroy_early(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    mdist_error_t *error = NULL;
    void *stream = NULL;
    note(&world->notes[0], MDIST_OK, mdist_replica_stream(replica, &stream, &error), &error, "stream");
    gpus->spin(0, 10000, stream);
    note(&world->notes[0], MDIST_OK,
         mdist_replica_assign(replica, world->variable, MDIST_ASSIGN_SET, &world->memory[0], NULL, &error), &error,
         "set");
    mdist_free(world->memory[0].data);
    mdist_variable_destroy(world->variable);
    return 0;
}

static void what_is_destroyed_in_a_step_is_used_to_its_end(void **state) {
    (void)state;
    for (int i = 0; i < 5; ++i) {
        mdist_error_t *error = NULL;
        mdist_strategy_t *strategy = gpu_strategy("gpu:0");
        World world;
        memset(&world, 0, sizeof world);
        const mdist_tensor_t initial = tensor_of(NULL, MDIST_FLOAT32, kCount);
        world.memory[0] = floats_on(strategy, 0, NULL, kCount, 0);
        OK(mdist_variable_create(strategy, "v", &initial, &world.variable, NULL, &error));
        OK(mdist_run(strategy, destroy_early, &world, NULL, &error));
        assert_string_equal(world.notes[0].text, "");
        const mdist_tensor_t next = floats_on(strategy, 0, NULL, kCount, 0);
        expect_floats(&next, 0);
        mdist_strategy_destroy(strategy);
        expect_floats(&next, 0); // memory outlives its strategy
        mdist_free(next.data);
    }
    expect_no_problems();
}

static int32_t destroy_the_strategy(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    mdist_error_t *error = NULL;
    void *stream = NULL;
    const uint32_t local = mdist_replica_local_index(replica);
    mdist_replica_stream(replica, &stream, &error);
    gpus->spin(0, 5000, stream);
    gpus->fill(0, world->memory[local].data, 1, kCount * 4, stream);
    if (local == 0) mdist_strategy_destroy(world->strategy);
    return 0;
}

static void a_strategy_destroyed_in_its_step_waits_for_its_streams(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0*2");
    World world;
    memset(&world, 0, sizeof world);
    for (uint32_t local = 0; local < 2; ++local) world.memory[local] = floats_on(strategy, local, NULL, kCount, 0);
    world.strategy = strategy;
    FAILS(MDIST_ERR_ABORTED, mdist_run(strategy, destroy_the_strategy, &world, NULL, &error));
    float ones;
    memset(&ones, 1, sizeof ones);
    for (uint32_t local = 0; local < 2; ++local) {
        expect_floats(&world.memory[local], ones);
        mdist_free(world.memory[local].data);
    }
    expect_no_problems();
}

GPU_TESTS("devices=2,delay_us=100", cmocka_unit_test(strategies_leave_nothing_behind),
          cmocka_unit_test(strategies_share_a_gpu), cmocka_unit_test(what_is_destroyed_in_a_step_is_used_to_its_end),
          cmocka_unit_test(a_strategy_destroyed_in_its_step_waits_for_its_streams))
