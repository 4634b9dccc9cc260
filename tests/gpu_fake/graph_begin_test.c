// SPDX-License-Identifier: Apache-2.0
// Recorded parts of steps without a function to call back: between mdist_replica_graph_begin and
// mdist_replica_graph_end.
#include "graph_world.h"

static int32_t between(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    mdist_error_t *error = NULL;
    int32_t record = -1;
    note(&world->note, MDIST_OK, mdist_replica_graph_begin(replica, world->key, &record, &error), &error, "begin");
    if (record == 1) count_up(replica, world);
    note(&world->note, MDIST_OK, mdist_replica_graph_end(replica, &error), &error, "end");
    return record != 0 && record != 1;
}

static void what_was_recorded_is_done_again(void **state) {
    (void)state;
    World world;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0");
    set_up(&world, strategy, count_up);
    for (int i = 1; i <= 20; ++i) {
        run(strategy, between, &world);
        assert_int_equal(world.calls, 1);
        expect_floats(&world.sum, (float)(1 + i));
    }
    run(strategy, by_graph, &world); // the same graph, by its key
    assert_int_equal(world.calls, 1);
    expect_floats(&world.sum, 22);
    world.body = NULL; // forgets it
    run(strategy, by_graph, &world);
    run(strategy, between, &world);
    assert_int_equal(world.calls, 2);
    expect_floats(&world.sum, 23);
    tear_down(&world, strategy);
}

static int32_t begin_only(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    mdist_error_t *error = NULL;
    int32_t record = 0;
    note(&world->note, MDIST_OK, mdist_replica_graph_begin(replica, world->key, &record, &error), &error, "begin");
    if (record == 1) count_up(replica, world);
    return world->code;
}

/// Runs a step that does not come to the end of its part.
static void leave(mdist_strategy_t *strategy, World *world, int32_t code, mdist_status_t wanted) {
    mdist_error_t *error = NULL;
    world->code = code;
    assert_int_equal(mdist_run(strategy, begin_only, world, NULL, &error), wanted);
    if (code == 0) {
        assert_string_equal(mdist_error_reason(error), "work_under_way");
        assert_non_null(strstr(mdist_error_message(error), "mdist_replica_graph_end"));
    }
    mdist_error_free(error);
    world->code = 0;
}

static void a_part_that_is_not_ended_does_nothing_and_fails_the_run(void **state) {
    (void)state;
    World world;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0");
    set_up(&world, strategy, count_up);
    leave(strategy, &world, 0, MDIST_ERR_FAILED_PRECONDITION);
    leave(strategy, &world, 3, MDIST_ERR_CALLBACK);
    expect_floats(&world.numbers, 1);
    run(strategy, between, &world);
    run(strategy, between, &world);
    assert_int_equal(world.calls, 3);
    expect_floats(&world.sum, 3);
    leave(strategy, &world, 0, MDIST_ERR_FAILED_PRECONDITION); // now it is recorded, and not launched
    expect_floats(&world.numbers, 3);
    tear_down(&world, strategy);
}

static int32_t wrong_order(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    mdist_error_t *error = NULL;
    int32_t record = 0;
    const mdist_status_t nested = world->wanted;
    note(&world->note, MDIST_ERR_FAILED_PRECONDITION, mdist_replica_graph_end(replica, &error), &error, "end first");
    note(&world->note, MDIST_OK, mdist_replica_graph_begin(replica, 1, &record, &error), &error, "begin");
    note(&world->note, nested, mdist_replica_graph_begin(replica, 2, &record, &error), &error, "begin in it");
    // What is refused while recording spoils the part; elsewhere the part goes on.
    const mdist_status_t end = nested == MDIST_ERR_WRONG_CONTEXT ? MDIST_ERR_WRONG_CONTEXT : MDIST_OK;
    note(&world->note, end, mdist_replica_graph_end(replica, &error), &error, "end");
    return 0;
}

static void begin_and_end_come_in_turn(void **state) {
    (void)state;
    const char *const devices[] = {"gpu:0", "cpu"};
    for (int i = 0; i < 2; ++i) {
        World world = {.wanted = i == 0 ? MDIST_ERR_WRONG_CONTEXT : MDIST_ERR_FAILED_PRECONDITION};
        mdist_error_t *error = NULL;
        mdist_strategy_t *strategy = gpu_strategy(devices[i]);
        mdist_status_t status = mdist_run(strategy, wrong_order, &world, NULL, &error);
        mdist_error_free(error);
        (void)status; // a failed collective call releases the others, and so ends the run
        assert_string_equal(world.note.text, "");
        mdist_strategy_destroy(strategy);
    }
    expect_no_problems();
}

/// Copies to the host in a part that is recorded.
static int32_t wait_in_it(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    mdist_error_t *error = NULL;
    int32_t record = 0;
    const mdist_status_t refused = MDIST_ERR_WRONG_CONTEXT;
    note(&world->note, MDIST_OK, mdist_replica_graph_begin(replica, 0, &record, &error), &error, "begin");
    note(&world->note, refused, mdist_replica_copy(replica, &world->host, &world->numbers, &error), &error, "copy");
    note(&world->note, refused, mdist_replica_graph_end(replica, &error), &error, "end");
    return 1;
}

static void what_would_wait_spoils_the_part(void **state) {
    (void)state;
    World world;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0");
    set_up(&world, strategy, count_up);
    assert_int_not_equal(mdist_run(strategy, wait_in_it, &world, NULL, &error), MDIST_OK);
    mdist_error_free(error);
    run(strategy, between, &world);
    expect_floats(&world.sum, 2);
    tear_down(&world, strategy);
}

/// Checks the layouts in which nothing is recorded.
static int32_t sum_between(mdist_replica_t *replica, void *user_data) {
    mdist_error_t *error = NULL;
    float one = 1;
    int32_t record = 0;
    const mdist_buffer_t buffer = buffer_of(&one, MDIST_FLOAT32, 1);
    World *const world = &((World *)user_data)[mdist_replica_local_index(replica)];
    note(&world->note, MDIST_OK, mdist_replica_graph_begin(replica, 5, &record, &error), &error, "begin");
    if (record == 1) {
        ++world->calls;
        note(&world->note, MDIST_OK, mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, &error), &error,
             "reduce");
    }
    note(&world->note, MDIST_OK, mdist_replica_graph_end(replica, &error), &error, "end");
    world->room[0] = one;
    return 0;
}

static void elsewhere_the_step_does_it_each_time(void **state) {
    (void)state;
    expect_no_graphs(sum_between);
}

/// Whichever call of a recording fails, the next recording works.
static void failures_of_the_gpu_are_told_and_leave_nothing(void **state) {
    (void)state;
    const char *const faults[] = {"capture_begin@1", "capture_end@1", "graph_launch@1"};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; ++i) {
        World world;
        mdist_error_t *error = NULL;
        mdist_strategy_t *strategy = gpu_strategy("gpu:0");
        set_up(&world, strategy, count_up);
        assert_int_equal(fake->plan(faults[i]), 1);
        assert_int_not_equal(mdist_run(strategy, between, &world, NULL, &error), MDIST_OK);
        mdist_error_free(error);
        assert_string_not_equal(world.note.text, "");
        world.note.text[0] = '\0'; // which call failed first differs
        fake->reset();
        const mdist_tensor_t ones = world.ones;
        OK(mdist_tensor_copy(&world.numbers, &ones, &error));
        run(strategy, between, &world);
        run(strategy, between, &world);
        expect_floats(&world.sum, 3);
        tear_down(&world, strategy);
    }
}

GPU_TESTS("devices=2,delay_us=200", cmocka_unit_test(what_was_recorded_is_done_again),
          cmocka_unit_test(a_part_that_is_not_ended_does_nothing_and_fails_the_run),
          cmocka_unit_test(begin_and_end_come_in_turn), cmocka_unit_test(what_would_wait_spoils_the_part),
          cmocka_unit_test(elsewhere_the_step_does_it_each_time),
          cmocka_unit_test(failures_of_the_gpu_are_told_and_leave_nothing))
