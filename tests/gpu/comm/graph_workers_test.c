// SPDX-License-Identifier: Apache-2.0
// Recorded steps on workers with one GPU or two each. The graphs contain NCCL's operations, and all workers must launch
// the same graphs. Also the loss of a worker while a graph runs.
#include "multi.h"
#include "started.h"

#include <signal.h>

enum { ELEMENTS = 300, ROUNDS = 20, MOST_LOCAL = 2 };

typedef struct Self {
    mdist_strategy_t *strategy;
    uint64_t key;
    struct {
        int32_t numbers[ELEMENTS], sums[ELEMENTS];
        int calls; // how often the body was called
    } replicas[MOST_LOCAL];
} Self;

static int32_t body(mdist_replica_t *replica, void *user_data) {
    Self *self = user_data;
    mdist_work_t *work = NULL;
    int32_t done = 0;
    const uint32_t local = mdist_replica_local_index(replica);
    const mdist_buffer_t in = buffer_of(self->replicas[local].numbers, MDIST_INT32, ELEMENTS);
    const mdist_buffer_t out = buffer_of(self->replicas[local].sums, MDIST_INT32, ELEMENTS);
    ++self->replicas[local].calls;
    if (mdist_all_reduce(replica, MDIST_SUM, &in, &out, 1, NULL, NULL) != MDIST_OK) return 1;
    if (start_all_reduce(replica, MDIST_SUM, &out, &out, 1, &work, NULL, NULL) != MDIST_OK) return 2;
    if (mdist_work_wait(work, MDIST_FOREVER, &done, NULL) != MDIST_OK) return 3;
    mdist_work_destroy(work);
    return 0;
}

static int32_t step(mdist_replica_t *replica, void *user_data) {
    Self *self = user_data;
    return mdist_replica_graph(replica, self->key, body, self, NULL);
}

static void join_by_nccl(Self *self) {
    mdist_config_t *config = NULL;
    memset(self, 0, sizeof *self);
    GIVES(MDIST_OK, mdist_config_create(&config, &error));
    GIVES(MDIST_OK, mdist_config_load_environment(config, &error));
    GIVES(MDIST_OK, mdist_config_set(config, "communication.implementation", "nccl", &error));
    GIVES(MDIST_OK, mdist_strategy_create(config, &self->strategy, &error));
    mdist_config_destroy(config);
}

static void run_once(Self *self) {
    GIVES(MDIST_OK, mdist_run(self->strategy, step, self, NULL, &error));
}

static void sums(void) {
    Self self;
    join_by_nccl(&self);
    const int32_t n = (int32_t)mdist_strategy_replica_count(self.strategy);
    const int locals = (int)mdist_strategy_local_replica_count(self.strategy);
    for (int round = 0; round < ROUNDS; ++round) {
        for (int r = 0; r < locals; ++r)
            for (int i = 0; i < ELEMENTS; ++i) self.replicas[r].numbers[i] = (int32_t)rank * locals + r + round + i;
        self.key = (uint64_t)round % 2;
        run_once(&self);
        for (int r = 0; r < locals; ++r)
            for (int i = 0; i < ELEMENTS; ++i)
                REQUIRE(self.replicas[r].sums[i] == n * (n * (n - 1) / 2 + n * (round + i)));
    }
    for (int r = 0; r < locals; ++r) REQUIRE(self.replicas[r].calls == 2);
    mdist_strategy_destroy(self.strategy);
}

static void different_keys(void) {
    Self self;
    join_by_nccl(&self);
    for (self.key = 0; self.key < 2; ++self.key) run_once(&self);
    self.key = rank == 0;
    GIVES(MDIST_ERR_MISMATCH, mdist_run(self.strategy, step, &self, NULL, &error));
    REQUIRE(strstr(message, "mdist_replica_graph(key 0)") != NULL);
    REQUIRE(strstr(message, "mdist_replica_graph(key 1)") != NULL);
    mdist_strategy_destroy(self.strategy);
}

static int32_t until_lost(mdist_replica_t *replica, void *user_data) {
    for (int i = 0;; ++i) {
        if (rank == victim && i == 3) raise(SIGKILL);
        if (step(replica, user_data) != MDIST_OK) return 1;
    }
}

static void one_dies(void) {
    Self self;
    join_by_nccl(&self);
    GIVES(MDIST_ERR_PEER_LOST, mdist_run(self.strategy, until_lost, &self, NULL, &error));
    REQUIRE(self.replicas[0].calls == 1);
    mdist_strategy_destroy(self.strategy);
}

static const NamedScenario scenarios[] = {{"sums", sums}, {"different_keys", different_keys}, {"one_dies", one_dies}};

static void run(const char *scenario, uint32_t count, const char *devices, int killed) {
    const Workers workers = {
        .scenario = scenario, .count = count, .devices = devices, .victim = killed ? 1 : 0, .killed = killed};
    assert_int_equal(run_workers(&workers), 0);
}

static void launches_add_up(void **state) {
    (void)state;
    run("sums", 2, "cpu*1", 0);
    run("sums", 3, "cpu*1", 0);
    run("sums", 2, "cpu*2", 0);
    run("sums", 3, "cpu*2", 0);
}

static void other_graphs_are_a_mismatch(void **state) {
    (void)state;
    run("different_keys", 2, "cpu*1", 0);
    run("different_keys", 2, "cpu*2", 0);
}

static void a_lost_worker_is_heard_of(void **state) {
    (void)state;
    run("one_dies", 3, "cpu*1", 1);
    run("one_dies", 3, "cpu*2", 1);
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_add_up),
        cmocka_unit_test(other_graphs_are_a_mismatch),
        cmocka_unit_test(a_lost_worker_is_heard_of),
    };
    return cmocka_run_group_tests_name("gpu/comm/graph_workers", tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
