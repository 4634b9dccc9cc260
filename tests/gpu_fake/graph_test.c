// SPDX-License-Identifier: Apache-2.0
// Recorded parts of steps: launched instead of called, with everything that the library puts on streams.
#include "graph_world.h"
#include "started.h"

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
    world.key = 7; // another graph
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

/// Collectives started before the graph and in it, and waited for in it and after it.
static int32_t start_and_wait(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    mdist_error_t *error = NULL;
    mdist_work_t *work = NULL;
    int32_t done = 0;
    ++world->calls;
    const mdist_buffer_t from = buffer_of(world->numbers.data, MDIST_FLOAT32, kCount);
    const mdist_buffer_t to = buffer_of(world->sum.data, MDIST_FLOAT32, kCount);
    note(&world->note, MDIST_OK, mdist_work_wait(world->work, MDIST_FOREVER, &done, &error), &error, "wait before");
    note(&world->note, MDIST_OK, start_all_reduce(replica, MDIST_SUM, &from, &from, 1, &work, NULL, &error), &error,
         "start");
    note(&world->note, MDIST_OK, mdist_work_wait(work, MDIST_FOREVER, &done, &error), &error, "wait");
    mdist_work_destroy(work);
    if (add_ones(replica, world) != 0) return 1;
    mdist_work_destroy(world->work);
    note(&world->note, MDIST_OK, start_all_reduce(replica, MDIST_SUM, &from, &to, 1, &world->work, NULL, &error),
         &error, "start last");
    return 0;
}

static int32_t with_work_around(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    mdist_error_t *error = NULL;
    int32_t done = 0;
    const mdist_buffer_t ones = buffer_of(world->ones.data, MDIST_FLOAT32, kCount);
    note(&world->note, MDIST_OK, start_all_reduce(replica, MDIST_SUM, &ones, &ones, 1, &world->work, NULL, &error),
         &error, "before");
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

static int32_t copy_and_add(mdist_replica_t *replica, void *user_data) {
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
    set_up(&world, strategy, copy_and_add);
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
    run(strategy, by_graph, &world); // that graph is already forgotten
    expect_floats(&world.sum, 2);
    world.body = count_up;
    run(strategy, by_graph, &world);
    run(strategy, by_graph, &world);
    assert_int_equal(world.calls, 2);
    expect_floats(&world.sum, 4);
    tear_down(&world, strategy);
}

/// Puts a kernel on the stream that writes to some memory, and frees that memory.
static int32_t fill_and_free(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    ++world->calls;
    if (gpus->fill(0, world->spare.data, 7, kCount * 4, stream_of(replica, world)) != 0) return 1;
    mdist_free(world->spare.data);
    return 0;
}

static void memory_that_is_given_back_meanwhile_stays_with_the_graph(void **state) {
    (void)state;
    World world;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0");
    set_up(&world, strategy, fill_and_free);
    world.spare = floats_on(strategy, 0, NULL, kCount, 0);
    run(strategy, by_graph, &world);
    const mdist_tensor_t again = floats_on(strategy, 0, NULL, kCount, 0);
    assert_ptr_not_equal(again.data, world.spare.data);
    run(strategy, by_graph, &world);
    assert_int_equal(world.calls, 1);
    expect_floats(&again, 0);
    mdist_free(again.data);
    tear_down(&world, strategy);
}

static void an_entered_replica_has_its_steps_recorded(void **state) {
    (void)state;
    World world;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0");
    set_up(&world, strategy, count_up);
    for (int i = 1; i <= 3; ++i) {
        mdist_replica_t *replica = NULL;
        OK(mdist_run_begin(strategy, NULL, &error));
        OK(mdist_replica_enter(strategy, 0, &replica, &error));
        assert_int_equal(by_graph(replica, &world), 0);
        OK(mdist_replica_exit(replica, 0, &error));
        OK(mdist_run_end(strategy, NULL, 0, &error));
        expect_floats(&world.sum, (float)(1 + i));
    }
    assert_int_equal(world.calls, 1);
    tear_down(&world, strategy);
}

GPU_TESTS("devices=1,delay_us=200", cmocka_unit_test(what_was_recorded_is_done_again),
          cmocka_unit_test(graphs_stand_in_line_with_other_work), cmocka_unit_test(started_operations_are_recorded_too),
          cmocka_unit_test(copies_on_the_gpu_are_recorded),
          cmocka_unit_test(memory_of_a_variable_that_went_meanwhile_is_the_next_ones),
          cmocka_unit_test(a_graph_that_is_forgotten_is_recorded_anew),
          cmocka_unit_test(memory_that_is_given_back_meanwhile_stays_with_the_graph),
          cmocka_unit_test(an_entered_replica_has_its_steps_recorded))
