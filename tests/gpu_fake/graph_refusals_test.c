// SPDX-License-Identifier: Apache-2.0
// Recording: calls that cannot be recorded are refused, layouts that cannot record call the body each time, and a
// failed recording leaves nothing behind.
#include "graph_world.h"
#include "started.h"

static int32_t merge(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                     mdist_value_t **results, size_t result_count, void *user_data) {
    (void)strategy, (void)arguments, (void)argument_count, (void)results, (void)result_count, (void)user_data;
    return 0;
}

enum { SPOILING = 10 }; // calls that spoil the recording; one more is refused and does not

static mdist_call_options_t in_group = {.struct_size = sizeof in_group};
static mdist_reduce_op_t op;

static int32_t take_left(const void *left, const void *right, void *out, uint64_t count, void *user_data) {
    (void)right, (void)user_data;
    memcpy(out, left, count * sizeof(float));
    return 0;
}

static mdist_status_t operate(mdist_replica_t *replica, const World *world, mdist_error_t **error) {
    const mdist_buffer_t buffer = buffer_of(world->numbers.data, MDIST_FLOAT32, 1);
    return mdist_all_reduce(replica, op, &buffer, &buffer, 1, NULL, error);
}

static mdist_status_t reduce_on_host(mdist_replica_t *replica, mdist_work_t **started, mdist_error_t **error) {
    float one = 1;
    const mdist_buffer_t buffer = {&one, 1, MDIST_FLOAT32, 0};
    if (started == NULL) return mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, error);
    return start_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, started, NULL, error);
}

/// Makes every call that would have to wait for recorded work, which has not run, and collectives of a group, which are
/// not recorded.
static int32_t wait_in_vain(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    mdist_error_t *error = NULL;
    mdist_work_t *work = NULL;
    float one = 1;
    const mdist_buffer_t number = {&one, 1, MDIST_FLOAT32, 0};
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
            note(&world->note, refused, mdist_barrier(replica, &in_group, &error), &error, "a group");
            break;
        case 5:
            note(&world->note, refused, operate(replica, world, &error), &error, "an operator");
            break;
        case 6:
            note(&world->note, refused, reduce_on_host(replica, NULL, &error), &error, "memory of the host");
            break;
        case 7:
            note(&world->note, refused, reduce_on_host(replica, &work, &error), &error, "the same, started");
            break;
        case 8:
            note(&world->note, refused, mdist_barrier(replica, NULL, &error), &error, "a barrier");
            break;
        case 9:
            note(&world->note, refused, mdist_send(replica, 0, 0, &number, NULL, &error), &error, "a message");
            break;
        case SPOILING:
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
    if (world->calls <= SPOILING) {
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
    const uint32_t zero = 0;
    mdist_error_t *error = NULL;
    mdist_group_t *group = NULL;
    OK(mdist_group_create(strategy, &zero, 1, &group, &error));
    in_group.group = group;
    OK(mdist_operator_register("left", sizeof(float), take_left, NULL, &op, &error));
    for (int i = 0; i < SPOILING + 2; ++i) {
        assert_int_not_equal(mdist_run(strategy, failing_graph, &world, NULL, &error), MDIST_OK);
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
    mdist_group_destroy(group);
    mdist_operator_unregister(op);
    tear_down(&world, strategy);
}

/// Checks the layouts in which nothing is recorded.
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
    expect_no_graphs(each_by_graph);
}

/// Whichever call of a recording or a launch fails, the next recording works.
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
        assert_int_not_equal(mdist_run(strategy, by_graph, &world, NULL, &error), MDIST_OK);
        mdist_error_free(error);
        world.note.text[0] = '\0'; // which call failed first may differ
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

GPU_TESTS("devices=2,delay_us=200", cmocka_unit_test(what_would_wait_is_refused_and_nothing_is_done),
          cmocka_unit_test(elsewhere_the_body_is_called_each_time),
          cmocka_unit_test(failures_of_the_gpu_are_told_and_leave_nothing))
