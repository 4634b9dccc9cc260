// SPDX-License-Identifier: Apache-2.0
// NCCL over worker processes: every kind of collective, blocking and started, in one order. If a worker is lost, all
// others get an error in time.
#include "multi.h"
#include "started.h"

#include <signal.h>

enum { ELEMENTS = 500, ROUNDS = 6, MOST_REPLICAS = 8 };

typedef struct Self {
    mdist_strategy_t *strategy;
    Note notes[MOST_REPLICAS];
    mdist_status_t told[MOST_REPLICAS];
    int dies;
} Self;

static mdist_strategy_t *strategy_by_nccl(void) {
    mdist_strategy_t *strategy = NULL;
    mdist_config_t *config = NULL;
    GIVES(MDIST_OK, mdist_config_create(&config, &error));
    GIVES(MDIST_OK, mdist_config_load_environment(config, &error));
    GIVES(MDIST_OK, mdist_config_set(config, "communication.implementation", "nccl", &error));
    GIVES(MDIST_OK, mdist_strategy_create(config, &strategy, &error));
    mdist_config_destroy(config);
    return strategy;
}

static int all_are(const int32_t *numbers, size_t count, int32_t wanted) {
    for (size_t i = 0; i < count; ++i)
        if (numbers[i] != wanted) return 0;
    return 1;
}

static const char *round_of(mdist_replica_t *replica, uint32_t id, uint32_t n) {
    int32_t sum[ELEMENTS], parts[MOST_REPLICAS], taken[MOST_REPLICAS], own = (int32_t)id, mine = -1, started[ELEMENTS];
    for (size_t i = 0; i < ELEMENTS; ++i) sum[i] = started[i] = (int32_t)id;
    const mdist_buffer_t all = buffer_of(sum, MDIST_INT32, ELEMENTS), one = buffer_of(&own, MDIST_INT32, 1);
    const mdist_buffer_t whole = buffer_of(parts, MDIST_INT32, n), out = buffer_of(&mine, MDIST_INT32, 1);
    const mdist_buffer_t late = buffer_of(started, MDIST_INT32, ELEMENTS);
    mdist_work_t *work = NULL;
    int32_t done = 0;
    if (start_all_reduce(replica, MDIST_MAX, &late, &late, 1, &work, NULL, NULL) != MDIST_OK) return "start";
    if (mdist_all_reduce(replica, MDIST_SUM, &all, &all, 1, NULL, NULL) != MDIST_OK) return "all_reduce";
    if (!all_are(sum, ELEMENTS, (int32_t)(n * (n - 1) / 2))) return "sums";
    if (mdist_work_wait(work, MDIST_FOREVER, &done, NULL) != MDIST_OK || !done) return "wait";
    mdist_work_destroy(work);
    if (!all_are(started, ELEMENTS, (int32_t)n - 1)) return "maximum";
    if (mdist_all_gather(replica, &one, &whole, 1, NULL, NULL) != MDIST_OK) return "all_gather";
    for (uint32_t r = 0; r < n; ++r)
        if (parts[r] != (int32_t)r) return "gathered";
    if (mdist_reduce_scatter(replica, MDIST_SUM, &whole, &out, 1, NULL, NULL) != MDIST_OK) return "reduce_scatter";
    if (mine != (int32_t)(id * n)) return "scattered";
    const uint32_t root = n - 1;
    if (mdist_gather_to_root(replica, root, &one, &whole, 1, NULL, NULL) != MDIST_OK) return "gather_to_root";
    for (uint32_t r = 0; r < n && id == root; ++r)
        if (parts[r] != (int32_t)r) return "gathered to the root";
    for (uint32_t r = 0; r < n; ++r) parts[r] = (int32_t)(id * MOST_REPLICAS + r);
    if (mdist_scatter(replica, root, &whole, &out, 1, NULL, NULL) != MDIST_OK) return "scatter";
    if (mine != (int32_t)(root * MOST_REPLICAS + id)) return "scattered from the root";
    const mdist_buffer_t other = buffer_of(taken, MDIST_INT32, n);
    if (mdist_all_to_all(replica, &whole, &other, 1, NULL, NULL) != MDIST_OK) return "all_to_all";
    for (uint32_t r = 0; r < n; ++r)
        if (taken[r] != (int32_t)(r * MOST_REPLICAS + id)) return "taken";
    if (mdist_broadcast(replica, root, &one, 1, NULL, NULL) != MDIST_OK || own != (int32_t)root) return "broadcast";
    return NULL;
}

static int32_t rounds(mdist_replica_t *replica, void *user_data) {
    Self *self = user_data;
    const uint32_t id = mdist_replica_id(replica), n = mdist_strategy_replica_count(self->strategy);
    for (int i = 0; i < ROUNDS; ++i) {
        const char *const wrong = round_of(replica, id, n);
        if (wrong == NULL) continue;
        snprintf(self->notes[id].text, sizeof self->notes[id].text, "%s", wrong);
        return 1;
    }
    return 0;
}

static void all_kinds(void) {
    Self self = {.strategy = strategy_by_nccl()};
    GIVES(MDIST_OK, mdist_run(self.strategy, rounds, &self, NULL, &error));
    for (int r = 0; r < MOST_REPLICAS; ++r) REQUIRE(self.notes[r].text[0] == '\0');
    mdist_strategy_destroy(self.strategy);
}

static int32_t until_lost(mdist_replica_t *replica, void *user_data) {
    Self *self = user_data;
    int32_t numbers[ELEMENTS] = {0};
    const mdist_buffer_t buffer = buffer_of(numbers, MDIST_INT32, ELEMENTS);
    for (int i = 0;; ++i) {
        if (self->dies && i == 3) raise(SIGKILL);
        const mdist_status_t status = mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL);
        if (status == MDIST_OK) continue;
        self->told[mdist_replica_id(replica)] = status;
        return 1;
    }
}

static void one_dies(void) {
    Self self = {.strategy = strategy_by_nccl(), .dies = rank == victim};
    GIVES(MDIST_ERR_PEER_LOST, mdist_run(self.strategy, until_lost, &self, NULL, &error));
    mdist_strategy_destroy(self.strategy);
}

static const NamedScenario scenarios[] = {{"all_kinds", all_kinds}, {"one_dies", one_dies}};

static void run(const char *scenario, uint32_t count, const char *devices, int killed) {
    const Workers workers = {
        .scenario = scenario, .count = count, .devices = devices, .victim = killed ? 1 : 0, .killed = killed};
    assert_int_equal(run_workers(&workers), 0);
}

static void workers_with_one_and_two_gpus(void **state) {
    (void)state;
    run("all_kinds", 2, "cpu*1", 0);
    run("all_kinds", 2, "cpu*2", 0);
    run("all_kinds", 3, "cpu*1", 0);
    run("all_kinds", 3, "cpu*2", 0);
}

static void workers_with_different_numbers_of_gpus(void **state) {
    (void)state;
    run("all_kinds", 2, "cpu*1|cpu*4", 0);
    run("all_kinds", 3, "cpu*3|cpu*1|cpu*2", 0);
}

static void a_lost_worker_is_heard_of(void **state) {
    (void)state;
    run("one_dies", 2, "cpu*1", 1);
    run("one_dies", 3, "cpu*2", 1);
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_with_one_and_two_gpus),
        cmocka_unit_test(workers_with_different_numbers_of_gpus),
        cmocka_unit_test(a_lost_worker_is_heard_of),
    };
    return cmocka_run_group_tests_name("gpu/comm/nccl_workers", tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
