// SPDX-License-Identifier: Apache-2.0
// Shared parts of tests of recorded steps: one replica, numbers on its GPU, and a body that adds to them.
#pragma once

#include "gpu_support.h"

enum { kCount = 100 };

typedef struct World {
    mdist_tensor_t numbers, sum, ones, spare;
    mdist_tensor_t host;
    float room[kCount];
    uint64_t key;
    int calls;    // how often the body was called
    int32_t code; // what the body returns
    mdist_work_t *work;
    mdist_variable_t *variable;
    mdist_status_t wanted;
    mdist_step_fn body;
    Note note;
} World;

MDIST_TEST_HELPER void set_up(World *world, mdist_strategy_t *strategy, mdist_step_fn body) {
    float ones[kCount];
    for (int i = 0; i < kCount; ++i) ones[i] = 1;
    memset(world, 0, sizeof *world);
    world->numbers = floats_on(strategy, 0, ones, kCount, 0);
    world->sum = floats_on(strategy, 0, NULL, kCount, 0);
    world->ones = floats_on(strategy, 0, ones, kCount, 0);
    world->host = tensor_of(world->room, MDIST_FLOAT32, kCount);
    world->body = body;
}

MDIST_TEST_HELPER void tear_down(World *world, mdist_strategy_t *strategy) {
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

MDIST_TEST_HELPER void *stream_of(mdist_replica_t *replica, World *world) {
    mdist_error_t *error = NULL;
    void *stream = NULL;
    note(&world->note, MDIST_OK, mdist_replica_stream(replica, &stream, &error), &error, "stream");
    return stream;
}

/// numbers += ones, by a kernel of the step's own.
MDIST_TEST_HELPER int32_t add_ones(mdist_replica_t *replica, World *world) {
    return combine_floats(MDIST_SUM, &world->numbers, &world->ones, kCount, stream_of(replica, world));
}

/// sum = numbers, by a collective.
MDIST_TEST_HELPER void all_reduce(mdist_replica_t *replica, World *world) {
    mdist_error_t *error = NULL;
    const mdist_buffer_t from = buffer_of(world->numbers.data, MDIST_FLOAT32, kCount);
    const mdist_buffer_t to = buffer_of(world->sum.data, MDIST_FLOAT32, kCount);
    note(&world->note, MDIST_OK, mdist_all_reduce(replica, MDIST_SUM, &from, &to, 1, NULL, &error), &error, "reduce");
}

MDIST_TEST_HELPER int32_t count_up(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    ++world->calls;
    if (add_ones(replica, world) != 0) return 9;
    all_reduce(replica, world);
    return world->code;
}

MDIST_TEST_HELPER int32_t by_graph(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    mdist_error_t *error = NULL;
    note(&world->note, world->wanted, mdist_replica_graph(replica, world->key, world->body, world, &error), &error,
         "graph");
    return 0;
}

MDIST_TEST_HELPER void run(mdist_strategy_t *strategy, mdist_step_fn step, World *world) {
    mdist_error_t *error = NULL;
    OK(mdist_run(strategy, step, world, NULL, &error));
}

MDIST_TEST_HELPER int32_t forget_graph(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    return mdist_replica_graph(replica, 1, NULL, NULL, NULL);
}

/// Runs a step where no graphs are recorded: it does its part each time, and leaves the number of replicas in its room.
/// The step gets two Worlds, one for each replica.
MDIST_TEST_HELPER void expect_no_graphs(mdist_step_fn step) {
    const struct {
        const char *devices, *blocking;
        float replicas;
    } layouts[] = {{"cpu", "false", 1}, {"cpu*2", "false", 2}, {"gpu:0*2", "false", 2}, {"gpu:0", "true", 1}};
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; ++i) {
        mdist_error_t *error = NULL;
        World worlds[2] = {{.calls = 0}};
        mdist_config_t *config = gpu_config(layouts[i].devices);
        OK(mdist_config_set(config, "gpu.blocking", layouts[i].blocking, &error));
        mdist_strategy_t *strategy = strategy_by(config);
        OK(mdist_run(strategy, forget_graph, NULL, NULL, &error)); // nothing, but no mistake
        for (int run = 1; run <= 3; ++run) {
            OK(mdist_run(strategy, step, worlds, NULL, &error));
            assert_int_equal(worlds[0].calls, run);
            assert_string_equal(worlds[0].note.text, "");
            assert_true(worlds[0].room[0] == layouts[i].replicas);
        }
        mdist_strategy_destroy(strategy);
    }
    expect_no_problems();
}
