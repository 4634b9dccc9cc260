// SPDX-License-Identifier: Apache-2.0
// Reductions cut into packs. The result is the same for all sizes of packs, the number of operations is as requested,
// and impossible settings are refused with their names.
#include "started.h"
#include "value_support.h"

#include <stdatomic.h>

enum { MOST = 3, BUFFERS = 5 };

/// Makes a strategy of CPU replicas with two more keys, unless they are NULL.
static mdist_strategy_t *strategy_with(uint32_t replicas, const char *key, const char *value, const char *key2,
                                       const char *value2) {
    mdist_error_t *error = NULL;
    mdist_config_t *config = NULL;
    mdist_strategy_t *strategy = NULL;
    char devices[32];
    snprintf(devices, sizeof devices, "cpu*%u", (unsigned)replicas);
    OK(mdist_config_create(&config, &error));
    OK(mdist_config_set(config, "devices", devices, &error));
    if (key != NULL) OK(mdist_config_set(config, key, value, &error));
    if (key2 != NULL) OK(mdist_config_set(config, key2, value2, &error));
    OK(mdist_strategy_create(config, &strategy, &error));
    mdist_config_destroy(config);
    return strategy;
}

static mdist_call_options_t packs_of_bytes(int64_t bytes) {
    mdist_call_options_t options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.bytes_per_pack = bytes;
    return options;
}

// ---- One replica's numbers: buffers of two types and of lengths that no pack divides.

static const uint64_t lengths[BUFFERS] = {1000, 1, 0, 7013, 40000};
static const mdist_dtype_t dtypes[BUFFERS] = {MDIST_FLOAT32, MDIST_INT64, MDIST_FLOAT32, MDIST_FLOAT32, MDIST_INT64};

typedef struct Numbers {
    float floats[3][7013];
    int64_t integers[2][40000];
    mdist_buffer_t buffers[BUFFERS];
} Numbers;

static void *memory_of(Numbers *numbers, int b) {
    return dtypes[b] == MDIST_FLOAT32 ? (void *)numbers->floats[b == 0 ? 0 : b - 1]
                                      : (void *)numbers->integers[b == 1 ? 0 : 1];
}

static Numbers *make_numbers(uint32_t replica) {
    Numbers *numbers = malloc(sizeof *numbers);
    assert_non_null(numbers);
    for (int b = 0; b < BUFFERS; ++b) {
        numbers->buffers[b] = buffer_of(memory_of(numbers, b), dtypes[b], lengths[b]);
        for (uint64_t i = 0; i < lengths[b]; ++i) {
            // The sum of these floats depends on the order.
            if (dtypes[b] == MDIST_FLOAT32)
                ((float *)numbers->buffers[b].data)[i] = (float)(i + 1) / (float)(replica + 3);
            if (dtypes[b] == MDIST_INT64) ((int64_t *)numbers->buffers[b].data)[i] = (int64_t)(i * (replica + 1));
        }
    }
    return numbers;
}

static void expect_sums(const Numbers *numbers, Numbers *const *wanted, uint32_t replicas) {
    for (int b = 0; b < BUFFERS; ++b)
        for (uint64_t i = 0; i < lengths[b]; ++i) {
            if (dtypes[b] == MDIST_FLOAT32) {
                const float *const parts[MOST] = {wanted[0]->buffers[b].data,
                                                  replicas > 1 ? wanted[1]->buffers[b].data : NULL,
                                                  replicas > 2 ? wanted[2]->buffers[b].data : NULL};
                float sum = parts[0][i];
                for (uint32_t r = 1; r < replicas; ++r) sum += parts[r][i];
                if (((const float *)numbers->buffers[b].data)[i] != sum)
                    fail_msg("buffer %d, element %u", b, (unsigned)i);
            } else {
                int64_t sum = 0;
                for (uint32_t r = 0; r < replicas; ++r) sum += ((const int64_t *)wanted[r]->buffers[b].data)[i];
                if (((const int64_t *)numbers->buffers[b].data)[i] != sum)
                    fail_msg("buffer %d, element %u", b, (unsigned)i);
            }
        }
}

typedef struct Reducing {
    Numbers *numbers[MOST];
    const mdist_call_options_t *options;
} Reducing;

static int32_t reducing_step(mdist_replica_t *replica, void *user_data) {
    const Reducing *const reducing = user_data;
    const mdist_buffer_t *const buffers = reducing->numbers[mdist_replica_id(replica)]->buffers;
    return mdist_all_reduce(replica, MDIST_SUM, buffers, buffers, BUFFERS, reducing->options, NULL);
}

/// Reduces many buffers in each way: in a step, between steps, and as values.
static void check_sums(mdist_strategy_t *strategy, const mdist_call_options_t *options) {
    mdist_error_t *error = NULL;
    const uint32_t replicas = mdist_strategy_replica_count(strategy);
    Reducing reducing = {.options = options};
    Numbers *wanted[MOST] = {NULL};
    mdist_buffer_t between[MOST * BUFFERS];
    for (int way = 0; way < 3; ++way) {
        mdist_value_t *values[BUFFERS], *sums[BUFFERS];
        for (uint32_t r = 0; r < replicas && r < MOST; ++r) { // gcc 14 does not know that there are never more
            reducing.numbers[r] = make_numbers(r);
            wanted[r] = make_numbers(r);
            memcpy(between + r * BUFFERS, reducing.numbers[r]->buffers, sizeof reducing.numbers[r]->buffers);
        }
        if (way == 0) OK(mdist_run(strategy, reducing_step, &reducing, NULL, &error));
        if (way == 1) OK(mdist_strategy_all_reduce(strategy, MDIST_SUM, between, between, BUFFERS, options, &error));
        for (int b = 0; way == 2 && b < BUFFERS; ++b) {
            mdist_tensor_t tensors[MOST];
            for (uint32_t r = 0; r < replicas; ++r) {
                tensors[r] = tensor_of(reducing.numbers[r]->buffers[b].data, dtypes[b], 1);
                tensors[r].shape[0] = lengths[b];
            }
            values[b] = per_replica(strategy, tensors);
        }
        if (way == 2) OK(mdist_strategy_reduce_to(strategy, MDIST_SUM, values, NULL, BUFFERS, sums, options, &error));
        for (int b = 0; way == 2 && b < BUFFERS; ++b) {
            for (uint32_t r = 0; r < replicas; ++r) {
                mdist_tensor_t sum;
                OK(mdist_value_tensor(sums[b], r, &sum, &error));
                const size_t bytes = lengths[b] * mdist_dtype_size(dtypes[b]);
                if (bytes != 0) memcpy(reducing.numbers[r]->buffers[b].data, sum.data, bytes);
            }
            mdist_value_destroy(sums[b]);
            mdist_value_destroy(values[b]);
        }
        for (uint32_t r = 0; r < replicas; ++r) expect_sums(reducing.numbers[r], wanted, replicas);
        for (uint32_t r = 0; r < replicas; ++r) free(reducing.numbers[r]), free(wanted[r]);
    }
}

static void packs_of_a_call_change_no_bit(void **state) {
    (void)state;
    for (uint32_t replicas = 1; replicas <= MOST; ++replicas) {
        mdist_strategy_t *strategy = make_strategy(replicas, NULL);
        const int64_t sizes[] = {0, 1, 4096, 30000, 1 << 30};
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
            const mdist_call_options_t options = packs_of_bytes(sizes[i]);
            check_sums(strategy, &options);
        }
        mdist_strategy_destroy(strategy);
    }
}

static void packs_of_a_strategy_change_no_bit(void **state) {
    (void)state;
    const char *const keys[][2] = {{"communication.bytes_per_pack", "4KiB"},
                                   {"communication.num_packs", "0"},
                                   {"communication.num_packs", "3"},
                                   {"communication.num_packs", "5000"},
                                   {"cross_device_ops", "hierarchical_copy"}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; ++i)
        for (uint32_t replicas = 1; replicas <= MOST; ++replicas) {
            if (i == 3 && replicas != 2) continue; // one number of replicas is enough for many operations
            mdist_strategy_t *strategy = strategy_with(replicas, keys[i][0], keys[i][1], NULL, NULL);
            check_sums(strategy, NULL);
            mdist_strategy_destroy(strategy);
        }
}

static void one_device_reduces_to_the_same_bits(void **state) {
    (void)state;
    for (uint32_t replicas = 1; replicas <= MOST; ++replicas)
        for (uint32_t device = 0; device < replicas; ++device) {
            char name[32];
            snprintf(name, sizeof name, device % 2 == 0 ? "cpu:%u" : "/device:CPU:%u", (unsigned)device);
            mdist_strategy_t *strategy = strategy_with(replicas, "cross_device_ops", "one_device",
                                                       device == 0 ? NULL : "reduce_to_device", name);
            check_sums(strategy, NULL);
            mdist_strategy_destroy(strategy);
        }
}

// ---- The number of operations.

typedef struct Counting {
    const mdist_call_options_t *options;
} Counting;

/// Replica 1 leaves early, so the run fails. The message has the number of operations before.
static int32_t counting_step(mdist_replica_t *replica, void *user_data) {
    const Counting *const counting = user_data;
    float numbers[4][1024] = {{0}};
    int32_t whole = 0;
    mdist_buffer_t buffers[5];
    for (int b = 0; b < 4; ++b) buffers[b] = buffer_of(numbers[b], MDIST_FLOAT32, 1024);
    buffers[4] = buffer_of(&whole, MDIST_INT32, 1);
    if (mdist_all_reduce(replica, MDIST_SUM, buffers, buffers, 5, counting->options, NULL) != MDIST_OK) return 1;
    return mdist_replica_id(replica) == 1 ? 0 : mdist_barrier(replica, NULL, NULL);
}

static void expect_operations(mdist_strategy_t *strategy, const mdist_call_options_t *options, const char *operations) {
    mdist_error_t *error = NULL;
    Counting counting = {options};
    assert_int_equal(mdist_run(strategy, counting_step, &counting, NULL, &error), MDIST_ERR_MISMATCH);
    WORDS(error, operations);
    mdist_error_free(error);
}

static void a_pack_is_an_operation(void **state) {
    (void)state;
    quiet_log();
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    mdist_call_options_t options = packs_of_bytes(0);
    expect_operations(strategy, NULL, "after 1 operations");
    expect_operations(strategy, &options, "after 1 operations");
    options = packs_of_bytes(1); // one buffer in each
    expect_operations(strategy, &options, "after 5 operations");
    options = packs_of_bytes(4096); // two floats in each; integers separately
    expect_operations(strategy, &options, "after 3 operations");
    options = packs_of_bytes(1 << 20); // one for each dtype
    expect_operations(strategy, &options, "after 2 operations");
    mdist_strategy_destroy(strategy);

    strategy = strategy_with(2, "communication.num_packs", "2", NULL, NULL);
    expect_operations(strategy, NULL, "after 3 operations");     // one integer cannot be cut into two packs
    expect_operations(strategy, &options, "after 2 operations"); // the call's options override the config
    mdist_strategy_destroy(strategy);

    strategy = strategy_with(2, "communication.num_packs", "0", NULL, NULL);
    expect_operations(strategy, NULL, "after 5 operations");
    mdist_strategy_destroy(strategy);

    strategy = strategy_with(2, "communication.bytes_per_pack", "4KiB", NULL, NULL);
    expect_operations(strategy, NULL, "after 3 operations");
    mdist_strategy_destroy(strategy);
    mdist_log_set_sink(NULL, NULL, NULL, NULL);
}

static atomic_uint lines;

/// Replica 1 leaves a buffer out, and reduces it separately afterwards.
static int32_t forgetful_step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    float numbers[2] = {1, 2};
    const mdist_buffer_t both[2] = {buffer_of(&numbers[0], MDIST_FLOAT32, 1), buffer_of(&numbers[1], MDIST_FLOAT32, 1)};
    const size_t count = mdist_replica_id(replica) == 0 ? 2 : 1;
    if (mdist_all_reduce(replica, MDIST_SUM, both, both, count, NULL, NULL) != MDIST_OK) return 1;
    return mdist_all_reduce(replica, MDIST_SUM, &both[1], &both[1], 1, NULL, NULL) != MDIST_OK;
}

static void packs_of_different_calls_do_not_meet(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = strategy_with(2, "communication.num_packs", "0", NULL, NULL);
    assert_int_equal(mdist_run(strategy, forgetful_step, NULL, NULL, &error), MDIST_ERR_MISMATCH);
    assert_non_null(strstr(mdist_error_message(error), "pack 1 of 2 of 2 buffers"));
    assert_non_null(strstr(mdist_error_message(error), "pack 1 of 1 of 1 buffer,"));
    mdist_error_free(error);
    mdist_strategy_destroy(strategy);
}

static void count_packs(mdist_log_level_t level, const char *text, size_t length, void *user_data) {
    (void)level, (void)length, (void)user_data;
    if (strstr(text, "mdist_strategy_reduce_to: pack ") != NULL) atomic_fetch_add(&lines, 1);
}

static void packs_are_in_the_log(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    float numbers[1024] = {0};
    const mdist_tensor_t tensors[2] = {tensor_of(numbers, MDIST_FLOAT32, 1024),
                                       tensor_of(numbers, MDIST_FLOAT32, 1024)};
    mdist_value_t *values[10], *sums[10];
    for (int i = 0; i < 10; ++i) values[i] = per_replica(strategy, tensors);
    const mdist_call_options_t options = packs_of_bytes(2 * sizeof numbers); // three in each: the third makes it larger
    OK(mdist_log_set_sink(count_packs, NULL, NULL, &error));
    OK(mdist_log_set_level(MDIST_LOG_DEBUG, &error));
    OK(mdist_strategy_reduce_to(strategy, MDIST_SUM, values, NULL, 10, sums, &options, &error));
    OK(mdist_log_set_level(MDIST_LOG_WARN, &error));
    OK(mdist_log_set_sink(NULL, NULL, NULL, &error));
    assert_int_equal(atomic_load(&lines), 4);
    for (int i = 0; i < 10; ++i) mdist_value_destroy(values[i]), mdist_value_destroy(sums[i]);
    mdist_strategy_destroy(strategy);
}

// ---- Settings that are refused.

static void bad_options_are_named(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    float number = 1;
    const mdist_buffer_t buffer = buffer_of(&number, MDIST_FLOAT32, 1);
    const struct {
        int64_t bytes_per_pack;
        int32_t implementation;
        uint32_t reserved;
        mdist_status_t status;
        const char *words;
    } cases[] = {
        {-1, 0, 0, MDIST_ERR_INVALID_ARGUMENT, "options.bytes_per_pack is -1"},
        {0, 3, 0, MDIST_ERR_INVALID_ARGUMENT, "options.implementation is 3"},
        {0, MDIST_IMPLEMENTATION_NCCL, 0, MDIST_ERR_UNSUPPORTED, "MDIST_IMPLEMENTATION_NCCL"},
        {0, 0, 9, MDIST_ERR_INVALID_ARGUMENT, "options.reserved is 9"},
        {0, MDIST_IMPLEMENTATION_RING, 0, MDIST_OK, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        mdist_call_options_t options = packs_of_bytes(cases[i].bytes_per_pack);
        options.implementation = cases[i].implementation;
        options.reserved = cases[i].reserved;
        assert_int_equal(mdist_strategy_all_reduce(strategy, MDIST_SUM, &buffer, &buffer, 1, &options, &error),
                         cases[i].status);
        WORDS(error, cases[i].words);
        mdist_error_free(error);
        error = NULL;
    }
    mdist_strategy_destroy(strategy);
}

static void options_of_an_older_header_are_good(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    float number = 1;
    const mdist_buffer_t buffer = buffer_of(&number, MDIST_FLOAT32, 1);
    mdist_call_options_t options = packs_of_bytes(-1); // after the end of the struct by its struct_size
    options.struct_size = offsetof(mdist_call_options_t, bytes_per_pack);
    OK(mdist_strategy_all_reduce(strategy, MDIST_SUM, &buffer, &buffer, 1, &options, &error));
    mdist_strategy_destroy(strategy);
}

typedef struct Refused {
    mdist_status_t status;
    char message[256];
} Refused;

static int32_t starting_step(mdist_replica_t *replica, void *user_data) {
    Refused *const refused = user_data;
    mdist_error_t *error = NULL;
    mdist_work_t *work = NULL;
    float number = 1;
    const mdist_buffer_t buffer = buffer_of(&number, MDIST_FLOAT32, 1);
    const mdist_call_options_t options = packs_of_bytes(64);
    refused->status = start_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, &work, &options, &error);
    snprintf(refused->message, sizeof refused->message, "%s", mdist_error_message(error));
    mdist_error_free(error);
    return 0;
}

static void what_is_started_takes_no_packs(void **state) {
    (void)state;
    quiet_log();
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    Refused refused = {MDIST_OK, ""};
    mdist_run(strategy, starting_step, &refused, NULL, NULL);
    assert_int_equal(refused.status, MDIST_ERR_UNSUPPORTED);
    assert_non_null(strstr(refused.message, "bytes_per_pack is 64"));
    mdist_strategy_destroy(strategy);
    mdist_log_set_sink(NULL, NULL, NULL, NULL);
}

static void bad_keys_are_named(void **state) {
    (void)state;
    const struct {
        const char *key, *value, *key2, *value2;
        mdist_status_t status;
        const char *words, *reason;
    } cases[] = {
        {"communication.num_packs", "-1", NULL, NULL, MDIST_ERR_CONFIG,
         "communication.num_packs: \"-1\" is not a valid count", "bad_value"},
        {"communication.bytes_per_pack", "-1", NULL, NULL, MDIST_ERR_CONFIG,
         "bytes_per_pack: \"-1\" is not a valid size", "bad_value"},
        {"communication.num_packs", "2", "communication.bytes_per_pack", "1MiB", MDIST_ERR_CONFIG,
         "communication.num_packs 2", "contradiction"},
        {"cross_device_ops", "fast", NULL, NULL, MDIST_ERR_CONFIG, "hierarchical_copy", "bad_value"},
        {"cross_device_ops", "nccl", NULL, NULL, MDIST_ERR_UNSUPPORTED, "cross_device_ops = \"nccl\"", "not_built"},
        {"reduce_to_device", "cpu:0", NULL, NULL, MDIST_ERR_CONFIG, "reduce_to_device works only with one_device",
         "contradiction"},
        {"cross_device_ops", "one_device", "reduce_to_device", "cpu:2", MDIST_ERR_CONFIG, "reduce_to_device is cpu:2",
         "bad_value"},
        {"num_gpus", "1", NULL, NULL, MDIST_ERR_CONFIG, "devices (mdist_config_set) and num_gpus (mdist_config_set)",
         "contradiction"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        mdist_error_t *error = NULL;
        mdist_config_t *config = NULL;
        mdist_strategy_t *strategy = NULL;
        OK(mdist_config_create(&config, &error));
        OK(mdist_config_set(config, "devices", "cpu*2", &error));
        mdist_status_t status = mdist_config_set(config, cases[i].key, cases[i].value, &error);
        if (status == MDIST_OK && cases[i].key2 != NULL)
            status = mdist_config_set(config, cases[i].key2, cases[i].value2, &error);
        if (status == MDIST_OK) status = mdist_strategy_create(config, &strategy, &error);
        assert_int_equal(status, cases[i].status);
        WORDS(error, cases[i].words);
        assert_string_equal(mdist_error_reason(error), cases[i].reason);
        mdist_error_free(error);
        mdist_config_destroy(config);
    }
}

static void gpus_are_counted_by_either_name(void **state) {
    (void)state;
    if (on_gpus()) skip(); // tests/gpu_fake/devices_test.c tests hosts with GPUs
    const char *const names[] = {"num_gpus", "num_gpus_per_worker"};
    for (int i = 0; i < 2; ++i) {
        mdist_error_t *error = NULL;
        mdist_config_t *config = NULL;
        mdist_strategy_t *strategy = NULL;
        OK(mdist_config_create(&config, &error));
        OK(mdist_config_set(config, names[i], "0", &error)); // no GPUs: uses the CPU, as TensorFlow does
        OK(mdist_strategy_create(config, &strategy, &error));
        assert_int_equal(mdist_strategy_local_replica_count(strategy), 1);
        mdist_strategy_destroy(strategy);
        OK(mdist_config_set(config, names[i], "2", &error));
        assert_int_equal(mdist_strategy_create(config, &strategy, &error), MDIST_ERR_UNSUPPORTED);
        WORDS(error, "gpu:0");
        mdist_error_free(error);
        OK(mdist_config_set(config, names[1 - i], "0", &error));
        assert_int_equal(mdist_strategy_create(config, &strategy, &error), MDIST_ERR_CONFIG);
        WORDS(error, "num_gpus (mdist_config_set) and num_gpus_per_worker (mdist_config_set) are both set");
        assert_string_equal(mdist_error_reason(error), "contradiction");
        mdist_error_free(error);
        mdist_config_destroy(config);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packs_of_a_call_change_no_bit),
        cmocka_unit_test(packs_of_a_strategy_change_no_bit),
        cmocka_unit_test(one_device_reduces_to_the_same_bits),
        cmocka_unit_test(a_pack_is_an_operation),
        cmocka_unit_test(packs_of_different_calls_do_not_meet),
        cmocka_unit_test(packs_are_in_the_log),
        cmocka_unit_test(bad_options_are_named),
        cmocka_unit_test(options_of_an_older_header_are_good),
        cmocka_unit_test(what_is_started_takes_no_packs),
        cmocka_unit_test(bad_keys_are_named),
        cmocka_unit_test(gpus_are_counted_by_either_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
