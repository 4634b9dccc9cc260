// SPDX-License-Identifier: Apache-2.0
// Recorded parts of steps: launched instead of called, with everything that the library puts on streams; and what is
// refused in them.
#include "gpu_support.h"

enum { kCount = 100 };

typedef struct World {
    mdist_tensor_t numbers, sum, ones;
    mdist_tensor_t host;
    float room[kCount];
    uint64_t key;
    int calls;    // of the body
    int32_t code; // that it returns
    mdist_work_t *work;
    mdist_variable_t *variable;
    mdist_status_t wanted;
    mdist_step_fn body;
    Note note;
} World;

static void set_up(World *world, mdist_strategy_t *strategy, mdist_step_fn body) {
    float ones[kCount];
    for (int i = 0; i < kCount; ++i) ones[i] = 1;
    memset(world, 0, sizeof *world);
    world->numbers = floats_on(strategy, 0, ones, kCount, 0);
    world->sum = floats_on(strategy, 0, NULL, kCount, 0);
    world->ones = floats_on(strategy, 0, ones, kCount, 0);
    world->host = tensor_of(world->room, MDIST_FLOAT32, kCount);
    world->body = body;
}

static void tear_down(World *world, mdist_strategy_t *strategy) {
    fake_gpu_live live;
    assert_string_equal(world->note.text, "");
    mdist_free(world->numbers.data);
    mdist_free(world->sum.data);
    mdist_free(world->ones.data);
    mdist_strategy_destroy(strategy);
    fake->live(&live);
    assert_int_equal(live.graphs, 0);
    expect_no_problems();
}

static void *stream_of(mdist_replica_t *replica, World *world) {
    mdist_error_t *error = NULL;
    void *stream = NULL;
    note(&world->note, MDIST_OK, mdist_replica_stream(replica, &stream, &error), &error, "stream");
    return stream;
}

/// numbers += ones, by a kernel of the step's own.
static int32_t add_ones(mdist_replica_t *replica, World *world) {
    return gpus->assign(0, MDIST_FLOAT32, 2, world->numbers.data, world->ones.data, kCount, stream_of(replica, world));
}

/// sum = numbers, by a collective.
static void all_reduce(mdist_replica_t *replica, World *world) {
    mdist_error_t *error = NULL;
    const mdist_buffer_t from = buffer_of(world->numbers.data, MDIST_FLOAT32, kCount);
    const mdist_buffer_t to = buffer_of(world->sum.data, MDIST_FLOAT32, kCount);
    note(&world->note, MDIST_OK, mdist_all_reduce(replica, MDIST_SUM, &from, &to, 1, NULL, &error), &error, "reduce");
}

static int32_t count_up(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    ++world->calls;
    if (add_ones(replica, world) != 0) return 9;
    all_reduce(replica, world);
    return world->code;
}

static int32_t by_graph(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    mdist_error_t *error = NULL;
    note(&world->note, world->wanted, mdist_replica_graph(replica, world->key, world->body, world, &error), &error,
         "graph");
    return 0;
}

static void run(mdist_strategy_t *strategy, mdist_step_fn step, World *world) {
    mdist_error_t *error = NULL;
    OK(mdist_run(strategy, step, world, NULL, 0, NULL, 0, NULL, &error));
}

static void what_was_recorded_is_done_again(void **state) {
    (void)state;
    World world;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0");
    set_up(&world, strategy, count_up);
    for (int i = 1; i <= 20; ++i) {
        run(strategy, by_graph, &world);
        assert_int_equal(world.calls, 1);
        expect_floats(&world.sum, (float)(1 + i));
    }
    world.key = 7; // another one
    run(strategy, by_graph, &world);
    assert_int_equal(world.calls, 2);
    expect_floats(&world.sum, 22);
    tear_down(&world, strategy);
}

static int32_t twice_between_kernels(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    for (int i = 0; i < 2; ++i) {
        if (add_ones(replica, world) != 0) return 1;
        if (by_graph(replica, world) != 0) return 2;
        all_reduce(replica, world);
    }
    return 0;
}

static void graphs_stand_in_line_with_other_work(void **state) {
    (void)state;
    World world;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0");
    set_up(&world, strategy, count_up);
    for (int i = 1; i <= 10; ++i) {
        run(strategy, twice_between_kernels, &world);
        expect_floats(&world.sum, (float)(1 + 4 * i));
    }
    assert_int_equal(world.calls, 1);
    tear_down(&world, strategy);
}

/// Started before the graph, in it, and waited for in it and behind it.
static int32_t start_and_wait(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    mdist_error_t *error = NULL;
    mdist_work_t *work = NULL;
    int32_t done = 0;
    ++world->calls;
    const mdist_buffer_t from = buffer_of(world->numbers.data, MDIST_FLOAT32, kCount);
    const mdist_buffer_t to = buffer_of(world->sum.data, MDIST_FLOAT32, kCount);
    note(&world->note, MDIST_OK, mdist_work_wait(world->work, MDIST_FOREVER, &done, &error), &error, "wait before");
    note(&world->note, MDIST_OK, mdist_all_reduce_start(replica, MDIST_SUM, &from, &from, 1, &work, NULL, &error),
         &error, "start");
    note(&world->note, MDIST_OK, mdist_work_wait(work, MDIST_FOREVER, &done, &error), &error, "wait");
    mdist_work_destroy(work);
    if (add_ones(replica, world) != 0) return 1;
    mdist_work_destroy(world->work);
    note(&world->note, MDIST_OK, mdist_all_reduce_start(replica, MDIST_SUM, &from, &to, 1, &world->work, NULL, &error),
         &error, "start last");
    return 0;
}

static int32_t with_work_around(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    mdist_error_t *error = NULL;
    int32_t done = 0;
    const mdist_buffer_t ones = buffer_of(world->ones.data, MDIST_FLOAT32, kCount);
    note(&world->note, MDIST_OK,
         mdist_all_reduce_start(replica, MDIST_SUM, &ones, &ones, 1, &world->work, NULL, &error), &error, "before");
    by_graph(replica, world);
    note(&world->note, MDIST_OK, mdist_work_wait(world->work, MDIST_FOREVER, &done, &error), &error, "behind");
    all_reduce(replica, world);
    mdist_work_destroy(world->work);
    return 0;
}

static void started_operations_are_recorded_too(void **state) {
    (void)state;
    World world;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0");
    set_up(&world, strategy, start_and_wait);
    for (int i = 1; i <= 5; ++i) {
        run(strategy, with_work_around, &world);
        expect_floats(&world.sum, (float)(1 + i));
    }
    assert_int_equal(world.calls, 1);
    tear_down(&world, strategy);
}

static int32_t assign_variables(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    mdist_error_t *error = NULL;
    ++world->calls;
    note(&world->note, MDIST_OK, mdist_replica_copy(replica, &world->sum, &world->numbers, &error), &error, "copy");
    return add_ones(replica, world);
}

static void copies_on_the_gpu_are_recorded(void **state) {
    (void)state;
    World world;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0");
    set_up(&world, strategy, assign_variables);
    for (int i = 1; i <= 5; ++i) {
        run(strategy, by_graph, &world);
        expect_floats(&world.sum, (float)i);
    }
    assert_int_equal(world.calls, 1);
    tear_down(&world, strategy);
}

static int32_t count_and_destroy(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    mdist_variable_destroy(world->variable);
    return count_up(replica, world);
}

static mdist_variable_t *variable_of_ones(mdist_strategy_t *strategy, const World *world) {
    mdist_error_t *error = NULL;
    mdist_variable_t *variable = NULL;
    OK(mdist_variable_create(strategy, "v", &world->ones, &variable, NULL, &error));
    return variable;
}

static void memory_of_a_variable_that_went_meanwhile_is_the_next_ones(void **state) {
    (void)state;
    World world;
    mdist_error_t *error = NULL;
    mdist_tensor_t first, second;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0");
    set_up(&world, strategy, count_and_destroy);
    world.variable = variable_of_ones(strategy, &world);
    OK(mdist_variable_tensor(world.variable, 0, &first, &error));
    run(strategy, by_graph, &world);
    world.variable = variable_of_ones(strategy, &world);
    OK(mdist_variable_tensor(world.variable, 0, &second, &error));
    assert_ptr_equal(first.data, second.data);
    run(strategy, by_graph, &world);
    assert_int_equal(world.calls, 1);
    expect_floats(&second, 1);
    mdist_variable_destroy(world.variable);
    tear_down(&world, strategy);
}

static void a_graph_that_is_forgotten_is_recorded_anew(void **state) {
    (void)state;
    World world;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0");
    set_up(&world, strategy, count_up);
    run(strategy, by_graph, &world);
    world.body = NULL;
    run(strategy, by_graph, &world);
    run(strategy, by_graph, &world); // of which there is none
    expect_floats(&world.sum, 2);
    world.body = count_up;
    run(strategy, by_graph, &world);
    run(strategy, by_graph, &world);
    assert_int_equal(world.calls, 2);
    expect_floats(&world.sum, 4);
    tear_down(&world, strategy);
}

static int32_t merge(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                     mdist_value_t **results, size_t result_count, void *user_data) {
    (void)strategy, (void)arguments, (void)argument_count, (void)results, (void)result_count, (void)user_data;
    return 0;
}

/// Everything that would have to wait for what has not happened.
static int32_t wait_in_vain(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    mdist_error_t *error = NULL;
    const mdist_status_t refused = MDIST_ERR_WRONG_CONTEXT;
    if (add_ones(replica, world) != 0) return 1;
    switch (world->calls++) {
        case 0:
            note(&world->note, refused, mdist_replica_copy(replica, &world->host, &world->numbers, &error), &error,
                 "to the host");
            break;
        case 1:
            note(&world->note, refused, mdist_replica_copy(replica, &world->numbers, &world->host, &error), &error,
                 "from the host");
            break;
        case 2:
            note(&world->note, refused, mdist_replica_use_stream(replica, world, &error), &error, "another stream");
            break;
        case 3:
            note(&world->note, refused, mdist_replica_graph(replica, 3, count_up, world, &error), &error, "a graph");
            break;
        case 4:
            note(&world->note, refused, mdist_merge_call(replica, merge, world, NULL, 0, NULL, 0, NULL, &error), &error,
                 "a merge");
            break;
        default:
            return 7;
    }
    return 0;
}

static int32_t failing_graph(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    mdist_error_t *error = NULL;
    const mdist_status_t status = mdist_replica_graph(replica, 0, world->body, world, &error);
    if (world->calls <= 4) {
        note(&world->note, MDIST_ERR_WRONG_CONTEXT, status, &error, "graph");
        return 1;
    }
    if (error != NULL && status == MDIST_ERR_CALLBACK && mdist_error_native(error) == 7) world->code = 7;
    mdist_error_free(error);
    return 1;
}

static void what_would_wait_is_refused_and_nothing_is_done(void **state) {
    (void)state;
    World world;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0");
    set_up(&world, strategy, wait_in_vain);
    for (int i = 0; i < 6; ++i) {
        mdist_error_t *error = NULL;
        assert_int_not_equal(mdist_run(strategy, failing_graph, &world, NULL, 0, NULL, 0, NULL, &error), MDIST_OK);
        mdist_error_free(error);
        assert_string_equal(world.note.text, "");
        expect_floats(&world.numbers, 1);
    }
    assert_int_equal(world.code, 7);
    world.code = 0;
    world.calls = 0;
    world.body = count_up;
    run(strategy, by_graph, &world);
    run(strategy, by_graph, &world);
    expect_floats(&world.sum, 3);
    tear_down(&world, strategy);
}

/// On every layout that records nothing.
static int32_t sum_by_graph(mdist_replica_t *replica, void *user_data) {
    mdist_error_t *error = NULL;
    float one = 1;
    const mdist_buffer_t buffer = buffer_of(&one, MDIST_FLOAT32, 1);
    World *const worlds = user_data, *const world = &worlds[mdist_replica_local_index(replica)];
    ++world->calls;
    note(&world->note, MDIST_OK, mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, &error), &error,
         "reduce");
    world->room[0] = one;
    return 0;
}

static int32_t each_by_graph(mdist_replica_t *replica, void *user_data) {
    mdist_error_t *error = NULL;
    World *const worlds = user_data, *const world = &worlds[mdist_replica_local_index(replica)];
    note(&world->note, MDIST_OK, mdist_replica_graph(replica, 1, sum_by_graph, worlds, &error), &error, "graph");
    return 0;
}

static void elsewhere_the_body_is_called_each_time(void **state) {
    (void)state;
    const struct {
        const char *devices, *blocking;
        float replicas;
    } layouts[] = {{"cpu", "false", 1}, {"cpu*2", "false", 2}, {"gpu:0,gpu:1", "false", 2}, {"gpu:0", "true", 1}};
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; ++i) {
        mdist_error_t *error = NULL;
        World worlds[2] = {{.calls = 0}};
        mdist_config_t *config = gpu_config(layouts[i].devices);
        OK(mdist_config_set(config, "gpu.blocking", layouts[i].blocking, &error));
        mdist_strategy_t *strategy = strategy_by(config);
        for (int run = 1; run <= 3; ++run) {
            OK(mdist_run(strategy, each_by_graph, worlds, NULL, 0, NULL, 0, NULL, &error));
            assert_int_equal(worlds[0].calls, run);
            assert_string_equal(worlds[0].note.text, "");
            assert_true(worlds[0].room[0] == layouts[i].replicas);
        }
        mdist_strategy_destroy(strategy);
    }
    expect_no_problems();
}

static void an_entered_replica_has_its_steps_recorded(void **state) {
    (void)state;
    World world;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0");
    set_up(&world, strategy, count_up);
    for (int i = 1; i <= 3; ++i) {
        mdist_replica_t *replica = NULL;
        OK(mdist_run_begin(strategy, NULL, 0, 0, NULL, &error));
        OK(mdist_replica_enter(strategy, 0, &replica, &error));
        assert_int_equal(by_graph(replica, &world), 0);
        OK(mdist_replica_exit(replica, 0, &error));
        OK(mdist_run_end(strategy, NULL, 0, &error));
        expect_floats(&world.sum, (float)(1 + i));
    }
    assert_int_equal(world.calls, 1);
    tear_down(&world, strategy);
}

/// Whatever of a recording or a launch fails, the next one works.
static void failures_of_the_gpu_are_told_and_leave_nothing(void **state) {
    (void)state;
    const char *const faults[] = {"capture_begin@1", "capture_end@1", "graph_launch@1", "event_record@2"};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; ++i) {
        World world;
        mdist_error_t *error = NULL;
        mdist_strategy_t *strategy = gpu_strategy("gpu:0");
        set_up(&world, strategy, count_up);
        world.wanted = MDIST_ERR_DEVICE;
        assert_int_equal(fake->plan(faults[i]), 1);
        assert_int_not_equal(mdist_run(strategy, by_graph, &world, NULL, 0, NULL, 0, NULL, &error), MDIST_OK);
        mdist_error_free(error);
        world.note.text[0] = '\0'; // where it came first differs
        fake->reset();
        world.wanted = MDIST_OK;
        const mdist_tensor_t ones = world.ones;
        OK(mdist_tensor_copy(&world.numbers, &ones, &error));
        run(strategy, by_graph, &world);
        run(strategy, by_graph, &world);
        expect_floats(&world.sum, 3);
        tear_down(&world, strategy);
    }
}

GPU_TESTS("devices=2,delay_us=200", cmocka_unit_test(what_was_recorded_is_done_again),
          cmocka_unit_test(graphs_stand_in_line_with_other_work), cmocka_unit_test(started_operations_are_recorded_too),
          cmocka_unit_test(copies_on_the_gpu_are_recorded),
          cmocka_unit_test(memory_of_a_variable_that_went_meanwhile_is_the_next_ones),
          cmocka_unit_test(a_graph_that_is_forgotten_is_recorded_anew),
          cmocka_unit_test(what_would_wait_is_refused_and_nothing_is_done),
          cmocka_unit_test(elsewhere_the_body_is_called_each_time),
          cmocka_unit_test(an_entered_replica_has_its_steps_recorded),
          cmocka_unit_test(failures_of_the_gpu_are_told_and_leave_nothing))
