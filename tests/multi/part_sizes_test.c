// SPDX-License-Identifier: Apache-2.0
// Gathers, scatters and scattered sums whose sizes change from call to call: from a few bytes, which all workers relay,
// to many, and back. Every element has the value that the collective's definition gives it.
#include "multi.h"

#include <string.h>

enum { kRounds = 24, kMostReplicas = 16, kRootLength = 3 };

static uint32_t replicas;

/// The elements of a replica's part in a round. Some parts are empty, and some rounds have one large part only.
static size_t part(uint32_t replica, uint32_t round) {
    static const size_t sizes[] = {1, 2, 0, 40, 3, 900, 2, 2, 30000, 1, 5000, 4};
    const size_t size = sizes[round % (sizeof sizes / sizeof *sizes)];
    return (replica + round) % 4 == 3 ? size / 2 : size + replica % 3;
}
static size_t begin_of(uint32_t replica, uint32_t round) {
    size_t begin = 0;
    for (uint32_t r = 0; r < replica; ++r) begin += part(r, round);
    return begin;
}

/// Element i of what a replica gives. Sums of these are exact.
static float given(uint32_t replica, uint32_t round, size_t i) {
    return (float)((replica + 1) * (1 + (i * 7 + round) % 50));
}
static float sum_of_all(uint32_t round, size_t i) {
    float sum = 0;
    for (uint32_t r = 0; r < replicas; ++r) sum += given(r, round, i);
    return sum;
}

/// A replica's memory: what it gives, and what it takes, which begins as -1.
typedef struct Memory {
    float *from, *to;
    size_t length;
} Memory;

static Memory fill(uint32_t id, uint32_t round, size_t length) {
    const Memory memory = {malloc((length + 1) * sizeof(float)), malloc((length + 1) * sizeof(float)), length};
    REQUIRE(memory.from != NULL && memory.to != NULL);
    for (size_t i = 0; i < length; ++i) {
        memory.from[i] = given(id, round, i);
        memory.to[i] = -1;
    }
    return memory;
}

static mdist_buffer_t floats(float *data, size_t count) {
    return (mdist_buffer_t){data, count, MDIST_FLOAT32, 0};
}

static void check_gathered(const float *all, uint32_t round) {
    for (uint32_t r = 0; r < replicas; ++r)
        for (size_t i = 0; i < part(r, round); ++i) REQUIRE(*all++ == given(r, round, i));
}

static void gathers(mdist_replica_t *replica, uint32_t id, uint32_t round, uint32_t root, Memory memory) {
    const mdist_buffer_t own = floats(memory.from, part(id, round)), all = floats(memory.to, memory.length);
    GIVES(MDIST_OK, mdist_all_gather(replica, &own, &all, 1, NULL, &error));
    check_gathered(memory.to, round);
    for (size_t i = 0; i < memory.length; ++i) memory.to[i] = -1;
    GIVES(MDIST_OK, mdist_gather_to_root(replica, root, &own, id == root ? &all : NULL, 1, NULL, &error));
    if (id == root) check_gathered(memory.to, round);
    if (id != root && memory.length != 0) REQUIRE(memory.to[0] == -1);
}

static void scatters(mdist_replica_t *replica, uint32_t id, uint32_t round, uint32_t root, Memory memory) {
    const mdist_buffer_t all = floats(memory.from, memory.length), own = floats(memory.to, part(id, round));
    const size_t begin = begin_of(id, round);
    GIVES(MDIST_OK, mdist_scatter(replica, root, id == root ? &all : NULL, &own, 1, NULL, &error));
    for (size_t i = 0; i < own.elements; ++i) REQUIRE(memory.to[i] == given(root, round, begin + i));
    GIVES(MDIST_OK, mdist_reduce_scatter(replica, MDIST_SUM, &all, &own, 1, NULL, &error));
    for (size_t i = 0; i < own.elements; ++i) REQUIRE(memory.to[i] == sum_of_all(round, begin + i));
}

static void reduces(mdist_replica_t *replica, uint32_t id, uint32_t round, uint32_t root, Memory memory) {
    const mdist_buffer_t all = floats(memory.from, memory.length), result = floats(memory.to, memory.length);
    GIVES(MDIST_OK, mdist_reduce_to_root(replica, MDIST_SUM, root, &all, id == root ? &result : NULL, 1, NULL, &error));
    for (size_t i = 0; id == root && i < memory.length; ++i) REQUIRE(memory.to[i] == sum_of_all(round, i));
    float few[kRootLength];
    for (size_t i = 0; i < kRootLength; ++i) few[i] = given(id, round, i);
    const mdist_buffer_t told = floats(few, kRootLength);
    GIVES(MDIST_OK, mdist_broadcast(replica, root, &told, 1, NULL, &error));
    for (size_t i = 0; i < kRootLength; ++i) REQUIRE(few[i] == given(root, round, i));
    GIVES(MDIST_OK, mdist_barrier(replica, NULL, &error));
}

static int32_t step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    const uint32_t id = mdist_replica_id(replica);
    for (uint32_t round = 0; round < kRounds; ++round) {
        const Memory memory = fill(id, round, begin_of(replicas, round));
        const uint32_t root = round % replicas;
        gathers(replica, id, round, root, memory);
        scatters(replica, id, round, root, memory);
        reduces(replica, id, round, root, memory);
        free(memory.from);
        free(memory.to);
    }
    return 0;
}

/// Parts that move on to the next replica, and may change their sizes. If the first stays, replica 0's own lengths
/// never change, although those of the others do: it remembers a call of other parts.
static size_t moving_part(uint32_t replica, uint32_t moved, int first_stays) {
    static const size_t units[] = {1, 90, 600};
    if (!first_stays) return (replica + moved) % replicas * units[moved % 3];
    return (replica == 0 ? 1 : (replica + moved) % (replicas - 1)) * units[1];
}

/// Parts of reduce-scatters move on every few rounds: all call the same, but with other parts than they remember, and
/// then with those.
static int32_t step_of_moving_parts(mdist_replica_t *replica, void *user_data) {
    enum { kSame = 4 };
    const int first_stays = *(const int *)user_data;
    const uint32_t id = mdist_replica_id(replica), moves = first_stays ? 2 * replicas : 9;
    for (uint32_t round = 0; round < kSame * moves; ++round) {
        const uint32_t moved = round / kSame;
        size_t begin = 0, length = 0;
        for (uint32_t r = 0; r < replicas; ++r) {
            if (r == id) begin = length;
            length += moving_part(r, moved, first_stays);
        }
        const Memory memory = fill(id, round, length);
        const mdist_buffer_t all = floats(memory.from, length);
        const mdist_buffer_t own = floats(memory.to, moving_part(id, moved, first_stays));
        GIVES(MDIST_OK, mdist_reduce_scatter(replica, MDIST_SUM, &all, &own, 1, NULL, &error));
        for (size_t i = 0; i < own.elements; ++i) REQUIRE(memory.to[i] == sum_of_all(round, begin + i));
        for (size_t i = own.elements; i < length; ++i) REQUIRE(memory.to[i] == -1);
        free(memory.from);
        free(memory.to);
    }
    return 0;
}

static void changing_sizes(void) {
    mdist_strategy_t *strategy = join();
    replicas = mdist_strategy_replica_count(strategy);
    REQUIRE(replicas <= kMostReplicas);
    GIVES(MDIST_OK, mdist_run(strategy, step, NULL, NULL, &error));
    for (int first_stays = 0; first_stays < 2; ++first_stays)
        GIVES(MDIST_OK, mdist_run(strategy, step_of_moving_parts, &first_stays, NULL, &error));
    mdist_strategy_destroy(strategy);
}

static const char *const sockets[] = {"MDIST_COMMUNICATION_IMPLEMENTATION=tcp", NULL};

static void check(uint32_t workers, const char *devices, const char *const *environment) {
    const Workers job = {
        .scenario = "changing_sizes", .count = workers, .devices = devices, .environment = environment};
    assert_int_equal(run_workers(&job), 0);
}

static void sizes_may_change_from_call_to_call(void **unused) {
    (void)unused;
    check(3, "cpu*2", sockets);
    check(4, "cpu*1", sockets);
    check(5, "cpu*1|cpu*3|cpu*1|cpu*2|cpu*1", sockets);
    check(7, "cpu*1", sockets);
    check(8, "cpu*1|cpu*1|cpu*1|cpu*3|cpu*1|cpu*2|cpu*1|cpu*1", sockets);
    check(4, "cpu*1", NULL);
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes_may_change_from_call_to_call)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {{"changing_sizes", changing_sizes}};
    return multi_main(argument_count, arguments, scenarios, 1, test_all);
}
