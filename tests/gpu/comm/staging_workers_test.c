// SPDX-License-Identifier: Apache-2.0
// Collectives of GPU memory over worker processes without NCCL. They go through page-locked memory, which started
// operations share. A worker's GPUs first add up what is theirs, along the canonical tree, which this file follows,
// too.
#include "../../fake_gpu/fake_gpu.h"
#include "multi.h"
#include "started.h"

#include <dlfcn.h>
#include <math.h>

enum { ELEMENTS = 500, ROUNDS = 20, MOST_REPLICAS_HERE = 16 };

static int all_are(const int32_t *numbers, size_t count, int32_t wanted) {
    for (size_t i = 0; i < count; ++i)
        if (numbers[i] != wanted) return 0;
    return 1;
}

/// Starts a small operation, then a large one. The large one's inputs go to the memory that holds the small one's
/// results.
static const char *small_and_large(mdist_replica_t *replica, int32_t round) {
    int32_t small[ELEMENTS], large[2 * ELEMENTS];
    for (size_t i = 0; i < 2 * ELEMENTS; ++i) small[i / 2] = large[i] = round;
    const mdist_buffer_t first = buffer_of(small, MDIST_INT32, ELEMENTS);
    const mdist_buffer_t second = buffer_of(large, MDIST_INT32, 2 * ELEMENTS);
    mdist_work_t *works[2] = {NULL, NULL};
    int32_t done = 0;
    if (start_all_reduce(replica, MDIST_SUM, &first, &first, 1, &works[0], NULL, NULL) != MDIST_OK ||
        start_all_reduce(replica, MDIST_MAX, &second, &second, 1, &works[1], NULL, NULL) != MDIST_OK)
        return "start";
    for (int i = 0; i < 2; ++i) {
        if (mdist_work_wait(works[i], MDIST_FOREVER, &done, NULL) != MDIST_OK || !done) return "wait";
        mdist_work_destroy(works[i]);
    }
    if (!all_are(small, ELEMENTS, 4 * round)) return "the small one";
    return all_are(large, 2 * ELEMENTS, round) ? NULL : "the large one";
}

static int32_t rounds(mdist_replica_t *replica, void *user_data) {
    Note *const own = (Note *)user_data + mdist_replica_local_index(replica);
    for (int32_t round = 1; round <= ROUNDS; ++round) {
        const char *const wrong = small_and_large(replica, round);
        if (wrong == NULL) continue;
        snprintf(own->text, sizeof own->text, "round %d: %s", (int)round, wrong);
        return 1;
    }
    return 0;
}

static void in_a_row(void) {
    Note notes[3] = {{""}};
    mdist_strategy_t *strategy = NULL;
    mdist_config_t *config = NULL;
    GIVES(MDIST_OK, mdist_config_create(&config, &error));
    GIVES(MDIST_OK, mdist_config_load_environment(config, &error));
    GIVES(MDIST_OK, mdist_strategy_create(config, &strategy, &error));
    mdist_config_destroy(config);
    GIVES(MDIST_OK, mdist_run(strategy, rounds, notes, NULL, &error));
    mdist_strategy_destroy(strategy);
}

/// The number of copies that the worker's GPUs were asked for.
static uint64_t copies(void) {
    void *const file = dlopen(getenv("MDIST_CUDA_MODULE"), RTLD_NOW | RTLD_NOLOAD);
    fake_gpu_controls_fn controls;
    *(void **)&controls = file != NULL ? dlsym(file, FAKE_GPU_SYMBOL) : NULL;
    REQUIRE(controls != NULL);
    dlclose(file);
    return controls()->calls("copy");
}

static uint32_t half_of(uint32_t count) {
    uint32_t half = 1;
    while (2 * half < count) half *= 2;
    return half;
}

/// The number of the largest subtrees over replicas begin to end - 1 that lie among this worker's replicas.
static uint32_t own_subtrees(uint32_t begin, uint32_t end) {
    const uint32_t first = first_replica_of[rank], last = first_replica_of[rank + 1];
    if (end <= first || begin >= last) return 0;
    if (begin >= first && end <= last) return 1;
    const uint32_t middle = begin + half_of(end - begin);
    return own_subtrees(begin, middle) + own_subtrees(middle, end);
}

/// Numbers whose sum depends on the order: of very different sizes, and of both signs. They are exact as bfloat16.
static float number(uint32_t replica, size_t i) {
    const uint32_t mixed = (uint32_t)(replica * 7919 + i * 104729 + 12345) * 2654435761u;
    const float size = ldexpf((float)(128 + mixed % 128), (int)(mixed >> 8) % 24 - 12);
    return (mixed >> 20) % 2 != 0 ? -size : size;
}

static float tree(uint32_t begin, uint32_t end, size_t i, int largest) {
    if (end - begin == 1) return number(begin, i);
    const uint32_t middle = begin + half_of(end - begin);
    const float a = tree(begin, middle, i, largest), b = tree(middle, end, i, largest);
    return !largest ? a + b : a > b ? a : b;
}

static uint16_t to_bfloat16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

typedef struct Sums {
    mdist_reduce_op_t op;
    int in_place;
    float single[MOST_REPLICAS_HERE][ELEMENTS], single_result[MOST_REPLICAS_HERE][ELEMENTS];
    uint16_t half[MOST_REPLICAS_HERE][ELEMENTS], half_result[MOST_REPLICAS_HERE][ELEMENTS];
} Sums;

static int32_t sum_both(mdist_replica_t *replica, void *user_data) {
    Sums *const self = user_data;
    const uint32_t r = mdist_replica_local_index(replica);
    const mdist_buffer_t inputs[] = {buffer_of(self->single[r], MDIST_FLOAT32, ELEMENTS),
                                     buffer_of(self->half[r], MDIST_BFLOAT16, ELEMENTS)};
    const mdist_buffer_t outputs[] = {buffer_of(self->single_result[r], MDIST_FLOAT32, ELEMENTS),
                                      buffer_of(self->half_result[r], MDIST_BFLOAT16, ELEMENTS)};
    return mdist_all_reduce(replica, self->op, inputs, self->in_place ? inputs : outputs, 2, NULL, NULL) != MDIST_OK;
}

static int32_t sum_single(mdist_replica_t *replica, void *user_data) {
    Sums *const self = user_data;
    const mdist_buffer_t buffer = buffer_of(self->single[mdist_replica_local_index(replica)], MDIST_FLOAT32, ELEMENTS);
    return mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL) != MDIST_OK;
}

static int32_t sum_to_root(mdist_replica_t *replica, void *user_data) {
    Sums *const self = user_data;
    const uint32_t r = mdist_replica_local_index(replica), root = mdist_replica_count(replica) - 1;
    const mdist_buffer_t input = buffer_of(self->single[r], MDIST_FLOAT32, ELEMENTS);
    const mdist_buffer_t output = buffer_of(self->single_result[r], MDIST_FLOAT32, ELEMENTS);
    return mdist_reduce_to_root(replica, MDIST_SUM, root, &input, &output, 1, NULL, NULL) != MDIST_OK;
}

static int32_t sum_and_scatter(mdist_replica_t *replica, void *user_data) {
    Sums *const self = user_data;
    const uint32_t r = mdist_replica_local_index(replica), id = mdist_replica_id(replica);
    const uint64_t begin = ELEMENTS * id / mdist_replica_count(replica);
    const uint64_t end = ELEMENTS * (id + 1) / mdist_replica_count(replica);
    const mdist_buffer_t input = buffer_of(self->single[r], MDIST_FLOAT32, ELEMENTS);
    const mdist_buffer_t output = buffer_of(self->single_result[r] + begin, MDIST_FLOAT32, end - begin);
    return mdist_reduce_scatter(replica, MDIST_SUM, &input, &output, 1, NULL, NULL) != MDIST_OK;
}

static Sums sums;

static void fill_numbers(mdist_reduce_op_t op, int in_place) {
    const uint32_t first = first_replica_of[rank];
    memset(&sums, 0, sizeof sums);
    sums.op = op;
    sums.in_place = in_place;
    for (uint32_t r = first; r < first_replica_of[rank + 1]; ++r)
        for (size_t i = 0; i < ELEMENTS; ++i) {
            sums.single[r - first][i] = number(r, i);
            sums.half[r - first][i] = to_bfloat16(number(r, i));
        }
}

/// Checks elements begin to end - 1 of a local replica's result.
static void check_numbers(const float *single, const uint16_t *half, size_t begin, size_t end) {
    const uint32_t all = first_replica_of[worker_count];
    for (size_t i = begin; i < end; ++i) {
        float wanted = tree(0, all, i, sums.op == MDIST_MAX);
        if (sums.op == MDIST_MEAN) wanted /= (float)all;
        REQUIRE(single[i] == wanted);
        if (half != NULL) REQUIRE(half[i] == to_bfloat16(wanted));
    }
}

static void adds_up_on_gpus(void) {
    static const mdist_reduce_op_t ops[] = {MDIST_SUM, MDIST_MEAN, MDIST_MAX};
    const uint32_t first = first_replica_of[rank], own = first_replica_of[rank + 1] - first;
    const uint32_t all = first_replica_of[worker_count];
    mdist_strategy_t *const strategy = join();
    for (size_t turn = 0; turn < 2 * (sizeof ops / sizeof ops[0]); ++turn) {
        fill_numbers(ops[turn / 2], (int)(turn % 2));
        GIVES(MDIST_OK, mdist_run(strategy, sum_both, &sums, NULL, &error));
        for (uint32_t r = 0; r < own; ++r)
            check_numbers(sums.in_place ? sums.single[r] : sums.single_result[r],
                          sums.in_place ? sums.half[r] : sums.half_result[r], 0, ELEMENTS);
    }
    fill_numbers(MDIST_SUM, 0);
    GIVES(MDIST_OK, mdist_run(strategy, sum_to_root, &sums, NULL, &error));
    if (rank + 1 == worker_count) check_numbers(sums.single_result[own - 1], NULL, 0, ELEMENTS);
    GIVES(MDIST_OK, mdist_run(strategy, sum_and_scatter, &sums, NULL, &error));
    for (uint32_t r = 0; r < own; ++r)
        check_numbers(sums.single_result[r], NULL, ELEMENTS * (first + r) / all, ELEMENTS * (first + r + 1) / all);
    const uint64_t before = copies();
    GIVES(MDIST_OK, mdist_run(strategy, sum_single, &sums, NULL, &error));
    for (uint32_t r = 0; r < own; ++r) check_numbers(sums.single[r], NULL, 0, ELEMENTS);
    // Sums of subtrees go to the host, and each GPU gets the result once. GPUs that cannot reach each other add up
    // nothing.
    const int apart = strstr(getenv("MDIST_FAKE_GPU"), "reach=0") != NULL;
    const int one_gpu = strcmp(getenv("MDIST_TEST_DEVICE"), "gpu") == 0;
    REQUIRE(copies() - before == (apart ? own : own_subtrees(0, all)) + (one_gpu ? 1 : own));
    mdist_strategy_destroy(strategy);
}

static const NamedScenario scenarios[] = {{"in_a_row", in_a_row}, {"adds_up_on_gpus", adds_up_on_gpus}};

static void started_operations_share_memory(void **state) {
    (void)state;
    const Workers workers = {.scenario = "in_a_row", .count = 2, .devices = "cpu*2"};
    assert_int_equal(run_workers(&workers), 0);
    const Workers uneven = {.scenario = "in_a_row", .count = 2, .devices = "cpu*1|cpu*3"};
    assert_int_equal(run_workers(&uneven), 0);
}

static void a_workers_gpus_add_up_before_the_host_does(void **state) {
    (void)state;
    static const char *const layouts[] = {"cpu*4|cpu*4", "cpu*1|cpu*3", "cpu*3|cpu*5", "cpu*2|cpu*1"};
    static const char *const ways[] = {NULL, "MDIST_COMMUNICATION_IMPLEMENTATION=tcp"};
    for (size_t i = 0; i < 8; ++i) {
        const char *const environment[] = {ways[i % 2], NULL};
        const Workers workers = {
            .scenario = "adds_up_on_gpus", .count = 2, .devices = layouts[i / 2], .environment = environment};
        assert_int_equal(run_workers(&workers), 0);
    }
    const Workers three = {.scenario = "adds_up_on_gpus", .count = 3, .devices = "cpu*3|cpu*4|cpu*1"};
    assert_int_equal(run_workers(&three), 0);
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(started_operations_share_memory),
                                       cmocka_unit_test(a_workers_gpus_add_up_before_the_host_does)};
    return cmocka_run_group_tests_name("gpu/comm/staging_workers", tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
