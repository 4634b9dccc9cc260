// SPDX-License-Identifier: Apache-2.0
// Groups of replicas with communicators of NCCL of their own: every kind of collective, any order of groups that share
// cards, and what is left when a group is destroyed or NCCL fails. A card runs one communicator's kernels at a time
// here, so operations that nobody orders would wait for each other.
#include "gpu_support.h"
#include "started.h"

enum { REPLICAS = 4, ELEMENTS = 300, ROUNDS = 60, GROUPS = 4 };

typedef struct World {
    mdist_strategy_t *strategy;
    mdist_group_t *groups[GROUPS]; // NULL: all replicas
    Note notes[REPLICAS];
    int32_t way; // mdist_implementation_t of choosing_step
} World;

static const uint32_t lists[GROUPS][REPLICAS] = {{0, 1, 2}, {3, 2, 1}, {3, 0}, {0, 1, 2, 3}};
static const uint32_t sizes[GROUPS] = {3, 3, 2, REPLICAS};

static mdist_call_options_t in(const mdist_group_t *group) {
    return (mdist_call_options_t){.struct_size = sizeof(mdist_call_options_t), .group = group};
}

static int is_member(int group, uint32_t id) {
    for (uint32_t i = 0; i < sizes[group]; ++i)
        if (lists[group][i] == id) return 1;
    return 0;
}

static World make_world(void) {
    mdist_error_t *error = NULL;
    mdist_config_t *config = gpu_config("gpu:0,gpu:1,gpu:2,gpu:3");
    OK(mdist_config_set(config, "communication.implementation", "nccl", &error));
    OK(mdist_config_set(config, "communication.timeout", "60s", &error));
    OK(mdist_config_set(config, "gpu.blocking", "true", &error));
    World self = {.strategy = strategy_by(config)};
    for (int g = 0; g + 1 < GROUPS; ++g)
        OK(mdist_group_create(self.strategy, lists[g], sizes[g], &self.groups[g], &error));
    return self;
}

static uint64_t communicators(void) {
    fake_gpu_live live;
    fake->live(&live);
    return live.comms;
}

static void end_world(World *self) {
    for (int g = 0; g < GROUPS; ++g) mdist_group_destroy(self->groups[g]);
    mdist_strategy_destroy(self->strategy);
    assert_int_equal(communicators(), 0);
    expect_no_problems();
}

static void run(World *self, mdist_step_fn step) {
    mdist_error_t *error = NULL;
    const mdist_status_t status = mdist_run(self->strategy, step, self, NULL, &error);
    for (int r = 0; r < REPLICAS; ++r) assert_string_equal(self->notes[r].text, "");
    OK(status);
}

// ---- Every kind.

/// In the group {3, 2, 1}. Returns what went wrong, or NULL.
static const char *kinds(mdist_replica_t *replica, const mdist_group_t *group) {
    const mdist_call_options_t options = in(group);
    const uint32_t id = mdist_replica_id(replica), position = mdist_group_position(group, id), n = 3, root = 2;
    int32_t sum[ELEMENTS], own = (int32_t)id, parts[3] = {-1, -1, -1}, taken[3], mine = -1;
    uint8_t bits = (uint8_t)(1u << id | 1);
    for (int i = 0; i < ELEMENTS; ++i) sum[i] = (int32_t)id + i;
    const mdist_buffer_t all = buffer_of(sum, MDIST_INT32, ELEMENTS), one = buffer_of(&own, MDIST_INT32, 1);
    const mdist_buffer_t whole = buffer_of(parts, MDIST_INT32, n), out = buffer_of(&mine, MDIST_INT32, 1);
    const mdist_buffer_t other = buffer_of(taken, MDIST_INT32, n), flags = buffer_of(&bits, MDIST_UINT8, 1);
    if (mdist_all_reduce(replica, MDIST_SUM, &all, &all, 1, &options, NULL) != MDIST_OK) return "all_reduce";
    for (int i = 0; i < ELEMENTS; ++i)
        if (sum[i] != 6 + 3 * i) return "sums";
    if (mdist_all_gather(replica, &one, &whole, 1, &options, NULL) != MDIST_OK) return "all_gather";
    if (parts[0] != 3 || parts[1] != 2 || parts[2] != 1) return "gathered";
    if (mdist_reduce_scatter(replica, MDIST_MAX, &whole, &out, 1, &options, NULL) != MDIST_OK) return "reduce_scatter";
    if (mine != 3 - (int32_t)position) return "scattered sums";
    if (mdist_reduce_to_root(replica, MDIST_PROD, root, &one, &out, 1, &options, NULL) != MDIST_OK)
        return "reduce_to_root";
    if (id == root && mine != 6) return "the root's product";
    if (mdist_gather_to_root(replica, root, &one, &whole, 1, &options, NULL) != MDIST_OK) return "gather_to_root";
    for (int i = 0; i < 3; ++i) parts[i] = (int32_t)(10 * id) + i;
    if (mdist_scatter(replica, root, &whole, &out, 1, &options, NULL) != MDIST_OK) return "scatter";
    if (mine != 20 + (int32_t)position) return "scattered";
    if (mdist_all_to_all(replica, &whole, &other, 1, &options, NULL) != MDIST_OK) return "all_to_all";
    for (int32_t i = 0; i < 3; ++i)
        if (taken[i] != 10 * (3 - i) + (int32_t)position) return "taken";
    if (mdist_broadcast(replica, root, &one, 1, &options, NULL) != MDIST_OK || own != 2) return "broadcast";
    if (mdist_all_reduce(replica, MDIST_XOR, &flags, &flags, 1, &options, NULL) != MDIST_OK) return "bits";
    return bits == 15 ? NULL : "exclusive or"; // NCCL has none: the library's kernel
}

static int32_t kinds_step(mdist_replica_t *replica, void *user_data) {
    World *const self = user_data;
    const uint32_t id = mdist_replica_id(replica);
    const char *const wrong = is_member(1, id) ? kinds(replica, self->groups[1]) : NULL;
    if (wrong == NULL) return 0;
    snprintf(self->notes[id].text, sizeof self->notes[id].text, "%s", wrong);
    return 1;
}

static void every_kind_goes_by_nccl_in_the_order_of_the_list(void **state) {
    (void)state;
    World self = make_world();
    assert_int_equal(communicators(), 4 + 3 + 3 + 2);
    const uint64_t before = fake->calls("nccl_all_reduce");
    run(&self, kinds_step);
    assert_int_equal(fake->calls("nccl_all_reduce") - before, 3); // one on each member
    end_world(&self);
}

// ---- Groups that share cards, in different orders.

static int32_t orders_step(mdist_replica_t *replica, void *user_data) {
    World *const self = user_data;
    const uint32_t id = mdist_replica_id(replica);
    for (uint32_t round = 0; round < ROUNDS; ++round) {
        static const int32_t sums[GROUPS] = {3, 6, 3, 6};
        int32_t numbers[GROUPS][ELEMENTS], done = 0;
        mdist_work_t *works[GROUPS] = {NULL};
        for (uint32_t i = 0; i < GROUPS; ++i) {
            const uint32_t g = (i * (id % 2 == 0 ? 1 : 3) + id + round) % GROUPS;
            const mdist_call_options_t options = in(self->groups[g]);
            const mdist_buffer_t buffer = buffer_of(numbers[g], MDIST_INT32, ELEMENTS);
            for (int e = 0; e < ELEMENTS; ++e) numbers[g][e] = (int32_t)id;
            if (is_member((int)g, id) &&
                start_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, &works[g], &options, NULL) != MDIST_OK)
                return 1;
        }
        for (uint32_t g = 0; g < GROUPS; ++g) {
            if (works[g] == NULL) continue;
            if (mdist_work_wait(works[g], MDIST_FOREVER, &done, NULL) != MDIST_OK) return 2;
            mdist_work_destroy(works[g]);
            for (int e = 0; e < ELEMENTS; ++e)
                if (numbers[g][e] != sums[g]) return 3;
        }
    }
    return 0;
}

static void groups_that_share_cards_may_be_used_in_any_order(void **state) {
    (void)state;
    World self = make_world();
    run(&self, orders_step);
    end_world(&self);
}

// ---- Ends.

static int32_t destroying_step(mdist_replica_t *replica, void *user_data) {
    World *const self = user_data;
    const uint32_t id = mdist_replica_id(replica);
    int32_t number = (int32_t)id, done = 0;
    mdist_work_t *work = NULL;
    const mdist_buffer_t buffer = buffer_of(&number, MDIST_INT32, 1);
    const mdist_call_options_t options = in(self->groups[0]);
    if (is_member(0, id) &&
        start_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, &work, &options, NULL) != MDIST_OK)
        return 1;
    if (mdist_barrier(replica, NULL, NULL) != MDIST_OK) return 2;
    if (id == 0) mdist_group_destroy(self->groups[0]);
    if (work != NULL && (mdist_work_wait(work, MDIST_FOREVER, &done, NULL) != MDIST_OK || number != 3)) return 3;
    mdist_work_destroy(work);
    return 0;
}

static void a_destroyed_group_finishes_and_gives_its_communicators_back(void **state) {
    (void)state;
    World self = make_world();
    run(&self, destroying_step);
    assert_int_equal(communicators(), 4 + 3 + 2);
    self.groups[0] = NULL;
    run(&self, kinds_step);
    end_world(&self);
}

static int32_t failing_step(mdist_replica_t *replica, void *user_data) {
    World *const self = user_data;
    int32_t number = 1;
    const mdist_buffer_t buffer = buffer_of(&number, MDIST_INT32, 1);
    const mdist_call_options_t options = in(self->groups[0]);
    if (!is_member(0, mdist_replica_id(replica))) return 0;
    return mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, &options, NULL);
}

static void a_failure_of_nccl_in_a_group_ends_the_collectives(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    World self = make_world();
    quiet_log();
    assert_int_equal(fake->plan("nccl_all_reduce@2"), 1);
    assert_int_equal(mdist_run(self.strategy, failing_step, &self, NULL, &error), MDIST_ERR_DEVICE);
    WORDS(error, "NCCL: all-reduce failed");
    mdist_error_free(error);
    fake->reset();
    assert_int_not_equal(mdist_run(self.strategy, kinds_step, &self, NULL, NULL), MDIST_OK);
    end_world(&self);
}

// ---- Without NCCL.

static int32_t choosing_step(mdist_replica_t *replica, void *user_data) {
    const World *const self = user_data;
    mdist_call_options_t options = in(self->groups[1]);
    options.implementation = self->way;
    return is_member(1, mdist_replica_id(replica)) ? mdist_barrier(replica, &options, NULL) : 0;
}

/// Calls {3, 2, 1} with an implementation, which is refused if `words` are given.
static void choose(World *self, int32_t way, const char *words) {
    mdist_error_t *error = NULL;
    self->way = way;
    const mdist_status_t status = mdist_run(self->strategy, choosing_step, self, NULL, &error);
    assert_int_equal(status, words == NULL ? MDIST_OK : MDIST_ERR_UNSUPPORTED);
    if (words != NULL) WORDS(error, words);
    mdist_error_free(error);
}

static void without_communicators_a_group_works_too(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    World self = make_world();
    choose(&self, MDIST_IMPLEMENTATION_NCCL, NULL);
    choose(&self, MDIST_IMPLEMENTATION_RING, "group {3, 2, 1} uses NCCL");
    mdist_group_destroy(self.groups[1]);
    quiet_log();
    assert_int_equal(fake->plan("nccl_init@2"), 1);
    OK(mdist_group_create(self.strategy, lists[1], sizes[1], &self.groups[1], &error));
    fake->reset();
    assert_int_equal(communicators(), 4 + 3 + 2);
    const uint64_t before = fake->calls("nccl_all_reduce");
    run(&self, kinds_step);
    assert_int_equal(fake->calls("nccl_all_reduce"), before);
    choose(&self, MDIST_IMPLEMENTATION_RING, NULL);
    choose(&self, MDIST_IMPLEMENTATION_NCCL, "group {3, 2, 1} does not use NCCL");
    end_world(&self);
}

GPU_TESTS("devices=4,memory=open,nccl_alone=1,delay_us=60",
          cmocka_unit_test(every_kind_goes_by_nccl_in_the_order_of_the_list),
          cmocka_unit_test(groups_that_share_cards_may_be_used_in_any_order),
          cmocka_unit_test(a_destroyed_group_finishes_and_gives_its_communicators_back),
          cmocka_unit_test(a_failure_of_nccl_in_a_group_ends_the_collectives),
          cmocka_unit_test(without_communicators_a_group_works_too))
