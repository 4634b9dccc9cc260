// SPDX-License-Identifier: Apache-2.0
// Packs among several workers: they give the same sums, with one operation for each pack. A disagreement is reported.
// Cached reads ask no other worker.
#include "multi.h"

enum { VALUES = 40, ELEMENTS = 300 };

static mdist_call_options_t packs_of_bytes(int64_t bytes) {
    mdist_call_options_t options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.bytes_per_pack = bytes;
    return options;
}

/// Makes value i. Every element of replica r is i + r + 1. Every third value is of integers.
static mdist_value_t *value_of(mdist_strategy_t *strategy, int i) {
    const uint32_t locals = mdist_strategy_local_replica_count(strategy);
    static float floats[4][ELEMENTS];
    static int64_t integers[4][ELEMENTS];
    mdist_tensor_t tensors[4];
    for (uint32_t local = 0; local < locals; ++local) {
        for (int e = 0; e < ELEMENTS; ++e) {
            integers[local][e] = i + (int64_t)(first_replica_of[rank] + local) + 1;
            floats[local][e] = (float)integers[local][e];
        }
        tensors[local] = i % 3 == 0 ? tensor_of(integers[local], MDIST_INT64, ELEMENTS)
                                    : tensor_of(floats[local], MDIST_FLOAT32, ELEMENTS);
    }
    mdist_value_t *value = NULL;
    GIVES(MDIST_OK, mdist_value_per_replica(strategy, tensors, locals, &value, &error));
    return value;
}

static void expect_sum(const mdist_value_t *sum, int i, uint32_t replicas) {
    const int64_t wanted = (int64_t)replicas * (i + 1) + replicas * (replicas - 1) / 2;
    for (size_t copy = 0; copy < mdist_value_count(sum); ++copy) {
        mdist_tensor_t tensor;
        GIVES(MDIST_OK, mdist_value_tensor(sum, copy, &tensor, &error));
        for (int e = 0; e < ELEMENTS; ++e) {
            if (i % 3 == 0) REQUIRE(((const int64_t *)tensor.data)[e] == wanted);
            if (i % 3 != 0) REQUIRE(((const float *)tensor.data)[e] == (float)wanted);
        }
    }
}

static void check_batch(mdist_strategy_t *strategy, const mdist_call_options_t *options) {
    mdist_value_t *values[VALUES], *sums[VALUES];
    for (int i = 0; i < VALUES; ++i) values[i] = value_of(strategy, i);
    const char *const to_host[VALUES] = {device_name(0), device_name(0),
                                         NULL}; // two to one device, the rest everywhere
    GIVES(MDIST_OK, mdist_strategy_reduce_to(strategy, MDIST_SUM, values, to_host, VALUES, sums, options, &error));
    for (int i = 0; i < VALUES; ++i) {
        expect_sum(sums[i], i, mdist_strategy_replica_count(strategy));
        mdist_value_destroy(values[i]);
        mdist_value_destroy(sums[i]);
    }
}

static void reduces_in_packs(void) {
    mdist_strategy_t *strategy = join();
    const int64_t sizes[] = {0, 1, 5000, 1 << 30};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        const mdist_call_options_t options = packs_of_bytes(sizes[i]);
        check_batch(strategy, &options);
    }
    check_batch(strategy, NULL);
    mdist_strategy_destroy(strategy);
}

static int32_t reducing_step(mdist_replica_t *replica, void *user_data) {
    float numbers[3][64];
    mdist_buffer_t buffers[3];
    const float own = (float)(mdist_replica_id(replica) + 1);
    for (int b = 0; b < 3; ++b) {
        for (int e = 0; e < 64; ++e) numbers[b][e] = own;
        buffers[b] = buffer_of(numbers[b], MDIST_FLOAT32, 64);
    }
    if (mdist_all_reduce(replica, MDIST_SUM, buffers, buffers, 3, user_data, NULL) != MDIST_OK) return 1;
    const uint32_t replicas = mdist_replica_count(replica);
    for (int b = 0; b < 3; ++b)
        for (int e = 0; e < 64; ++e)
            if (numbers[b][e] != (float)(replicas * (replicas + 1) / 2)) return 2;
    return 0;
}

static void reduces_in_packs_in_a_step(void) {
    mdist_strategy_t *strategy = join();
    mdist_call_options_t options = packs_of_bytes(1);
    GIVES(MDIST_OK, mdist_run(strategy, reducing_step, &options, NULL, &error));
    GIVES(MDIST_OK, mdist_run(strategy, reducing_step, NULL, NULL, &error));
    mdist_strategy_destroy(strategy);
}

static void packs_as_configured(void) {
    mdist_strategy_t *strategy = join();
    check_batch(strategy, NULL);
    GIVES(MDIST_OK, mdist_run(strategy, reducing_step, NULL, NULL, &error));
    mdist_strategy_destroy(strategy);
}

/// Worker 0 asks for packs, and worker 1 does not.
static void disagrees_on_packs(void) {
    mdist_strategy_t *strategy = join();
    mdist_value_t *values[VALUES], *sums[VALUES] = {NULL};
    for (int i = 0; i < VALUES; ++i) values[i] = value_of(strategy, i);
    const mdist_call_options_t options = packs_of_bytes(rank == 0 ? 5000 : 0);
    GIVES(MDIST_ERR_MISMATCH,
          mdist_strategy_reduce_to(strategy, MDIST_SUM, values, NULL, VALUES, sums, &options, &error));
    REQUIRE(strstr(message, "mdist_strategy_reduce_to") != NULL);
    REQUIRE(sums[0] == NULL);
    for (int i = 0; i < VALUES; ++i) mdist_value_destroy(values[i]);
    mdist_strategy_destroy(strategy);
}

static float read_number(mdist_variable_t *variable) {
    mdist_value_t *value = NULL;
    mdist_tensor_t tensor;
    GIVES(MDIST_OK, mdist_variable_read(variable, &value, NULL, &error));
    GIVES(MDIST_OK, mdist_value_tensor(value, 0, &tensor, &error));
    const float number = *(const float *)tensor.data;
    mdist_value_destroy(value);
    return number;
}

/// Only the first read needs all workers: worker 1 reads once, and worker 0 as often as it likes.
static void caches_reads(void) {
    mdist_strategy_t *strategy = join();
    float one = 1;
    const mdist_tensor_t initial = tensor_of(&one, MDIST_FLOAT32, 0);
    mdist_variable_options_t options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.synchronization = MDIST_SYNC_ON_READ;
    options.aggregation = MDIST_AGGREGATION_SUM;
    mdist_variable_t *variable = NULL;
    GIVES(MDIST_OK, mdist_variable_create(strategy, "total", &initial, &variable, &options, &error));
    const float replicas = (float)mdist_strategy_replica_count(strategy);
    GIVES(MDIST_OK, mdist_cached_reads_enter(strategy, &error));
    for (int reads = rank == 0 ? 5 : 1; reads > 0; --reads) REQUIRE(read_number(variable) == replicas);
    GIVES(MDIST_OK, mdist_cached_reads_exit(strategy, &error));
    REQUIRE(read_number(variable) == replicas); // here all meet again
    mdist_variable_destroy(variable);
    mdist_strategy_destroy(strategy);
}

/// Cross-device operations "one_device" work only in one process, so several workers are refused.
static void is_refused(void) {
    mdist_strategy_t *strategy = NULL;
    GIVES(MDIST_ERR_UNSUPPORTED, mdist_strategy_create(NULL, &strategy, &error));
    REQUIRE(strstr(message, "one_device") != NULL);
}

static void check_with(const char *scenario, const char *const *environment) {
    static const char *const devices[] = {"cpu*1", "cpu*2", "cpu*1|cpu*3"};
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; ++i) {
        const Workers job = {.scenario = scenario, .count = 2, .devices = devices[i], .environment = environment};
        assert_int_equal(run_workers(&job), 0);
    }
}

static void sums_are_the_same_in_packs(void **unused) {
    (void)unused;
    check_with("reduces_in_packs", NULL);
    check_with("reduces_in_packs_in_a_step", NULL);
}

static void packs_can_be_configured(void **unused) {
    (void)unused;
    static const char *const by_bytes[] = {"MDIST_COMMUNICATION_BYTES_PER_PACK=3000", NULL};
    static const char *const by_count[] = {"MDIST_COMMUNICATION_NUM_PACKS=3", NULL};
    static const char *const over_sockets[] = {"MDIST_COMMUNICATION_NUM_PACKS=0",
                                               "MDIST_COMMUNICATION_IMPLEMENTATION=tcp", NULL};
    check_with("packs_as_configured", by_bytes);
    check_with("packs_as_configured", by_count);
    check_with("packs_as_configured", over_sockets);
}

static void different_packs_are_a_mismatch(void **unused) {
    (void)unused;
    check_with("disagrees_on_packs", NULL);
}

static void cached_reads_ask_nobody(void **unused) {
    (void)unused;
    check_with("caches_reads", NULL);
}

static void one_device_is_for_one_worker(void **unused) {
    (void)unused;
    static const char *const one_device[] = {"MDIST_CROSS_DEVICE_OPS=one_device", NULL};
    check_with("is_refused", one_device);
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_the_same_in_packs),     cmocka_unit_test(packs_can_be_configured),
        cmocka_unit_test(different_packs_are_a_mismatch), cmocka_unit_test(cached_reads_ask_nobody),
        cmocka_unit_test(one_device_is_for_one_worker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {
        {"reduces_in_packs", reduces_in_packs},
        {"reduces_in_packs_in_a_step", reduces_in_packs_in_a_step},
        {"packs_as_configured", packs_as_configured},
        {"disagrees_on_packs", disagrees_on_packs},
        {"caches_reads", caches_reads},
        {"is_refused", is_refused},
    };
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
