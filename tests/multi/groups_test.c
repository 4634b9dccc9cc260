// SPDX-License-Identifier: Apache-2.0
// Groups of replicas of several workers: the bits of one process in every layout, groups that do not wait for each
// other, and what members and others hear when something goes wrong.
#include "random_calls.h"
#include "started.h"

#include <signal.h>

static const char *const sockets[] = {"MDIST_COMMUNICATION_IMPLEMENTATION=tcp", NULL};

static void same_bits(void) {
    compare_with_one_worker(MOST_GROUPS);
}

static mdist_call_options_t in(const mdist_group_t *group) {
    return (mdist_call_options_t){.struct_size = sizeof(mdist_call_options_t), .group = group};
}

static mdist_status_t add_up(mdist_replica_t *replica, const mdist_group_t *group, float *x) {
    const mdist_buffer_t buffer = buffer_of(x, MDIST_FLOAT32, 1);
    const mdist_call_options_t options = in(group);
    return mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, &options, NULL);
}

// --- groups at the same time

enum { TURNS = 200 };

/// The replicas of each worker pair up, and replica i of each worker makes a third group. Some pairs are far ahead of
/// others, since nobody waits for the whole job.
static int32_t independent_step(mdist_replica_t *replica, void *user_data) {
    mdist_group_t *const *groups = user_data;
    const uint32_t id = mdist_replica_id(replica), own = id / 2;
    for (int turn = 0; turn < TURNS * (int)(own + 1); ++turn) {
        float x = (float)(id + 1);
        if (add_up(replica, groups[own], &x) != MDIST_OK || x != (float)(4 * own + 3)) return 1;
    }
    for (int turn = 0; turn < TURNS; ++turn) { // across
        float x = (float)(id + 1), sum = 0;
        for (uint32_t w = 0; w < worker_count; ++w) sum += (float)(2 * w + id % 2 + 1);
        if (add_up(replica, groups[worker_count + id % 2], &x) != MDIST_OK || x != sum) return 2;
    }
    return 0;
}

static void independent(void) {
    mdist_strategy_t *strategy = join();
    mdist_group_t *groups[16];
    for (uint32_t g = 0; g < worker_count + 2; ++g) {
        uint32_t list[16], count = 0;
        for (uint32_t r = 0; r < 2 * worker_count; ++r)
            if (g < worker_count ? r / 2 == g : r % 2 == g - worker_count) list[count++] = r;
        GIVES(MDIST_OK, mdist_group_create(strategy, list, count, &groups[g], &error));
    }
    GIVES(MDIST_OK, mdist_run(strategy, independent_step, groups, NULL, &error));
    for (uint32_t g = 0; g < worker_count + 2; ++g) mdist_group_destroy(groups[g]);
    mdist_strategy_destroy(strategy);
}

/// Four replicas on two workers: groups {0, 2} and {3, 1} span both. Each replica starts one operation in its group
/// before anybody waits.
static int32_t overlapping_step(mdist_replica_t *replica, void *user_data) {
    mdist_group_t *const *groups = user_data;
    const uint32_t id = mdist_replica_id(replica);
    static float many[4][50000];
    mdist_work_t *works[2] = {NULL, NULL};
    mdist_buffer_t buffers[2];
    int32_t done = 0;
    for (int i = 0; i < 50000; ++i) many[id][i] = (float)(id + 1);
    const mdist_call_options_t pair = in(groups[id % 2]), all = in(groups[2]);
    buffers[0] = buffer_of(many[id], MDIST_FLOAT32, 30000);
    buffers[1] = buffer_of(many[id] + 30000, MDIST_FLOAT32, 20000);
    const mdist_call_options_t *options[] = {&pair, &all};
    for (int i = 0; i < 2; ++i) {
        const int which = id < 2 ? i : 1 - i; // started in different orders, which different groups may
        if (start_all_reduce(replica, MDIST_SUM, &buffers[which], &buffers[which], 1, &works[which], options[which],
                             NULL) != MDIST_OK)
            return 1;
    }
    for (int i = 0; i < 2; ++i) {
        if (mdist_work_wait(works[i], MDIST_FOREVER, &done, NULL) != MDIST_OK || !done) return 2;
        mdist_work_destroy(works[i]);
    }
    if (many[id][0] != (id % 2 == 0 ? 4.0f : 6.0f) || many[id][29999] != many[id][0]) return 3;
    return many[id][30000] != 10.0f || many[id][49999] != 10.0f;
}

static void overlapping(void) {
    static const uint32_t lists[3][4] = {{0, 2}, {3, 1}, {2, 0, 3, 1}}, sizes[] = {2, 2, 4};
    mdist_strategy_t *strategy = join();
    mdist_group_t *groups[3];
    for (int g = 0; g < 3; ++g) GIVES(MDIST_OK, mdist_group_create(strategy, lists[g], sizes[g], &groups[g], &error));
    for (int i = 0; i < 5; ++i) GIVES(MDIST_OK, mdist_run(strategy, overlapping_step, groups, NULL, &error));
    for (int g = 0; g < 3; ++g) mdist_group_destroy(groups[g]);
    mdist_strategy_destroy(strategy);
}

// --- mistakes and losses

static void lists_differ(void) {
    const uint32_t lists[2][2] = {{0, 1}, {1, 0}};
    mdist_strategy_t *strategy = join();
    mdist_group_t *group = NULL;
    GIVES(MDIST_ERR_MISMATCH, mdist_group_create(strategy, lists[rank == victim], 2, &group, &error));
    REQUIRE(strstr(message, "has group {0, 1} and") != NULL &&
            strstr(message, "has group {1, 0}; all workers must make the same groups") != NULL);
    REQUIRE(group == NULL);
    mdist_strategy_destroy(strategy);
}

/// Replica 1 and 2, on different workers, make different calls of their group. All others wait for the whole job.
static int32_t calls_differ_step(mdist_replica_t *replica, void *user_data) {
    mdist_group_t *group = user_data;
    const uint32_t id = mdist_replica_id(replica);
    float x[2] = {1, 1};
    const mdist_buffer_t buffer = buffer_of(x, MDIST_FLOAT32, id);
    const mdist_call_options_t options = in(group);
    if (mdist_group_position(group, id) == MDIST_NONE) return mdist_barrier(replica, NULL, NULL) == MDIST_OK;
    return mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, &options, NULL) == MDIST_OK;
}

static void calls_differ(void) {
    const uint32_t list[] = {2, 1};
    mdist_strategy_t *strategy = join();
    mdist_group_t *group = NULL;
    GIVES(MDIST_OK, mdist_group_create(strategy, list, 2, &group, &error));
    GIVES(MDIST_ERR_MISMATCH, mdist_run(strategy, calls_differ_step, group, NULL, &error));
    REQUIRE(strstr(message, "group {2, 1}: workers disagree: worker ") != NULL);
    REQUIRE(strstr(message, "float32 x 1") != NULL && strstr(message, "float32 x 2") != NULL);
    REQUIRE(strstr(message, "worker 0 is in operation 1") != NULL ||
            strstr(message, "worker 1 is in operation 1") != NULL);
    mdist_group_destroy(group);
    mdist_strategy_destroy(strategy);
}

/// The last worker's member never comes.
static int32_t late_step(mdist_replica_t *replica, void *user_data) {
    float x = 1;
    if (rank == victim) return outlive_others(), 0;
    const mdist_status_t status = add_up(replica, user_data, &x);
    return status == MDIST_ERR_TIMEOUT || status == MDIST_ERR_ABORTED ? 1 : 2;
}

static void late(void) {
    const uint32_t list[] = {0, 2};
    mdist_strategy_t *strategy = join();
    mdist_group_t *group = NULL;
    GIVES(MDIST_OK, mdist_group_create(strategy, list, 2, &group, &error));
    if (rank == victim) {
        mdist_run(strategy, late_step, group, NULL, NULL);
    } else if (rank == 0) {
        GIVES(MDIST_ERR_TIMEOUT, mdist_run(strategy, late_step, group, NULL, &error));
        REQUIRE(strstr(message, "of group {0, 2}") != NULL && strstr(message, "worker 2") != NULL);
        REQUIRE(guilty_worker == 2);
    }
    mdist_group_destroy(group);
    mdist_strategy_destroy(strategy);
}

/// A worker is killed while groups with and without it are busy.
static int32_t killed_step(mdist_replica_t *replica, void *user_data) {
    mdist_group_t *const *groups = user_data;
    const uint32_t id = mdist_replica_id(replica);
    for (int i = 0;; ++i) {
        float x = 1;
        if (rank == victim && i == 50) raise(SIGKILL);
        if (add_up(replica, groups[id % 2], &x) != MDIST_OK) return 1;
        if (x != (float)worker_count) return 2;
    }
}

static void killed(void) {
    mdist_strategy_t *strategy = join();
    mdist_group_t *groups[2];
    uint32_t lists[2][8];
    for (uint32_t w = 0; w < worker_count; ++w) lists[0][w] = 2 * w, lists[1][worker_count - 1 - w] = 2 * w + 1;
    for (int g = 0; g < 2; ++g)
        GIVES(MDIST_OK, mdist_group_create(strategy, lists[g], worker_count, &groups[g], &error));
    GIVES(MDIST_ERR_PEER_LOST, mdist_run(strategy, killed_step, groups, NULL, &error));
    REQUIRE(guilty_worker == victim);
    GIVES(MDIST_ERR_PEER_LOST, mdist_run(strategy, killed_step, groups, NULL, &error));
    REQUIRE(guilty_worker == victim);
    for (int g = 0; g < 2; ++g) mdist_group_destroy(groups[g]);
    mdist_strategy_destroy(strategy);
}

// --- prepared calls

/// Neither associative nor the same both ways.
static int32_t twice_and_minus(const void *left, const void *right, void *out, uint64_t count, void *user_data) {
    (void)user_data;
    for (uint64_t i = 0; i < count; ++i) ((float *)out)[i] = 2 * ((const float *)left)[i] - ((const float *)right)[i];
    return 0;
}

typedef struct Prepared {
    float x[2]; // by local replica
    mdist_prepared_t *calls[2];
} Prepared;

static mdist_status_t make_call(mdist_replica_t *replica, mdist_prepared_t *call, int starts) {
    mdist_work_t *work = NULL;
    int32_t done = 0;
    if (!starts) return mdist_prepared_run(replica, call, NULL);
    mdist_status_t status = mdist_prepared_start(replica, call, &work, NULL);
    if (status == MDIST_OK) status = mdist_work_wait(work, MDIST_FOREVER, &done, NULL);
    mdist_work_destroy(work);
    return status;
}

static int32_t prepared_step(mdist_replica_t *replica, void *user_data) {
    Prepared *const self = user_data;
    const uint32_t local = mdist_replica_local_index(replica);
    for (int i = 0; i < 20 && self->calls[local] != NULL; ++i) {
        self->x[local] = (float)(mdist_replica_id(replica) + 1);
        if (make_call(replica, self->calls[local], i % 2) != MDIST_OK) return 1;
        if (self->x[local] != 2 * (2 * 6 - 1) - 4) return 2; // replicas 5 and 0, then 3
    }
    return 0;
}

static void prepared(void) {
    static const uint32_t list[] = {5, 0, 3};
    Prepared self = {.calls = {NULL, NULL}};
    mdist_strategy_t *strategy = join();
    mdist_group_t *group = NULL;
    mdist_reduce_op_t op;
    GIVES(MDIST_OK, mdist_operator_register("twice and minus", sizeof(float), twice_and_minus, NULL, &op, &error));
    GIVES(MDIST_OK, mdist_group_create(strategy, list, 3, &group, &error));
    const mdist_call_options_t options = in(group);
    for (uint32_t local = 0; local < 2; ++local) {
        const mdist_buffer_t buffer = buffer_of(&self.x[local], MDIST_FLOAT32, 1);
        const mdist_collective_description_t it = {.struct_size = sizeof it,
                                                   .kind = MDIST_COLLECTIVE_ALL_REDUCE,
                                                   .op = (int32_t)op,
                                                   .inputs = &buffer,
                                                   .outputs = &buffer,
                                                   .buffer_count = 1};
        if (mdist_group_position(group, 2 * rank + local) != MDIST_NONE)
            GIVES(MDIST_OK, mdist_prepared_create(strategy, local, &it, &self.calls[local], &options, &error));
    }
    mdist_group_destroy(group);
    mdist_operator_unregister(op);
    GIVES(MDIST_OK, mdist_run(strategy, prepared_step, &self, NULL, &error));
    for (uint32_t local = 0; local < 2; ++local) mdist_prepared_destroy(self.calls[local]);
    mdist_strategy_destroy(strategy);
}

/// Groups come and go between runs, with and without members here. A worker may be in its last operation of a group
/// that another one has already destroyed.
static void many_groups(void) {
    mdist_strategy_t *strategy = join();
    for (int i = 0; i < 30; ++i) {
        const uint32_t list[] = {(uint32_t)i % worker_count, (uint32_t)(i + 1) % worker_count};
        mdist_group_t *group = NULL;
        GIVES(MDIST_OK, mdist_group_create(strategy, list, 2, &group, &error));
        REQUIRE(mdist_group_size(group) == 2 && mdist_group_position(group, list[1]) == 1);
        mdist_replica_t *replica = NULL;
        GIVES(MDIST_OK, mdist_run_begin(strategy, NULL, &error));
        GIVES(MDIST_OK, mdist_replica_enter(strategy, 0, &replica, &error));
        if (mdist_group_position(group, rank) != MDIST_NONE)
            for (int turn = 0; turn < 3; ++turn) {
                float x = 1;
                GIVES(MDIST_OK, add_up(replica, group, &x));
                REQUIRE(x == 2);
            }
        GIVES(MDIST_OK, mdist_replica_exit(replica, 0, &error));
        GIVES(MDIST_OK, mdist_run_end(strategy, NULL, 0, &error));
        mdist_group_destroy(group);
    }
    mdist_strategy_destroy(strategy);
}

static void check(const char *scenario, uint32_t workers, const char *devices, const char *const *environment) {
    const Workers job = {.scenario = scenario, .count = workers, .devices = devices, .environment = environment};
    assert_int_equal(run_workers(&job), 0);
}

static void groups_have_the_bits_of_one_worker(void **unused) {
    (void)unused;
    check("same_bits", 2, "cpu*2", NULL);
    check("same_bits", 2, "cpu*3", sockets);
    check("same_bits", 3, "cpu*2", NULL);
    check("same_bits", 4, "cpu*1", sockets);
    check("same_bits", 3, "cpu*1|cpu*4|cpu*2", NULL);
    check("same_bits", 3, "cpu*3|cpu*1|cpu*2", sockets);
}

static void groups_do_not_wait_for_each_other(void **unused) {
    (void)unused;
    check("independent", 2, "cpu*2", NULL);
    check("independent", 3, "cpu*2", sockets);
}

static void started_operations_of_groups_overlap(void **unused) {
    (void)unused;
    check("overlapping", 2, "cpu*2", NULL);
    check("overlapping", 2, "cpu*2", sockets);
}

static void groups_come_and_go(void **unused) {
    (void)unused;
    check("many_groups", 3, "cpu*1", NULL);
    check("many_groups", 3, "cpu*1", sockets);
}

static void prepared_calls_keep_their_group_and_operator(void **unused) {
    (void)unused;
    check("prepared", 3, "cpu*2", NULL);
    check("prepared", 3, "cpu*2", sockets);
}

static void different_lists_and_calls_are_told_to_all(void **unused) {
    (void)unused;
    for (int i = 0; i < 2; ++i) {
        const char *const *const environment = i == 0 ? NULL : sockets;
        Workers job = {.scenario = "lists_differ", .count = 3, .devices = "cpu*1", .environment = environment};
        job.victim = 2;
        assert_int_equal(run_workers(&job), 0);
        check("calls_differ", 2, "cpu*2", environment);
    }
}

static void a_member_that_never_comes_is_named(void **unused) {
    (void)unused;
    for (int i = 0; i < 2; ++i) {
        const Workers job = {
            .scenario = "late", .count = 3, .devices = "cpu*1", .environment = i == 0 ? NULL : sockets, .victim = 2};
        assert_int_equal(run_workers_in_time(&job, "MDIST_COMMUNICATION_TIMEOUT"), 0);
    }
}

static void a_lost_worker_ends_all_groups(void **unused) {
    (void)unused;
    for (int i = 0; i < 2; ++i) {
        const Workers job = {.scenario = "killed",
                             .count = 3,
                             .devices = "cpu*2",
                             .environment = i == 0 ? NULL : sockets,
                             .victim = 1,
                             .killed = 1};
        assert_int_equal(run_workers(&job), 0);
    }
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_have_the_bits_of_one_worker),
        cmocka_unit_test(groups_do_not_wait_for_each_other),
        cmocka_unit_test(started_operations_of_groups_overlap),
        cmocka_unit_test(groups_come_and_go),
        cmocka_unit_test(prepared_calls_keep_their_group_and_operator),
        cmocka_unit_test(different_lists_and_calls_are_told_to_all),
        cmocka_unit_test(a_member_that_never_comes_is_named),
        cmocka_unit_test(a_lost_worker_ends_all_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {
        {"same_bits", same_bits},
        {"independent", independent},
        {"overlapping", overlapping},
        {"lists_differ", lists_differ},
        {"calls_differ", calls_differ},
        {"late", late},
        {"killed", killed},
        {"many_groups", many_groups},
        {"prepared", prepared},
    };
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
