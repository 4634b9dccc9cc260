// SPDX-License-Identifier: Apache-2.0
// The devices that a strategy gets from its keys, with two GPUs.
#include "gpu_support.h"

static void expect_devices(mdist_strategy_t *strategy, const char *const *names, uint32_t count) {
    mdist_error_t *error = NULL;
    assert_int_equal(mdist_strategy_local_replica_count(strategy), count);
    for (uint32_t local = 0; local < count; ++local) {
        char name[32];
        OK(mdist_strategy_device(strategy, local, name, sizeof name, NULL, &error));
        assert_string_equal(name, names[local]);
    }
    mdist_strategy_destroy(strategy);
}

static void gpus_and_logical_devices_are_named(void **state) {
    (void)state;
    expect_devices(gpu_strategy("gpu"), (const char *[]){"gpu:0"}, 1);
    expect_devices(gpu_strategy("gpu:1"), (const char *[]){"gpu:1"}, 1);
    expect_devices(gpu_strategy("gpu:0,gpu:1"), (const char *[]){"gpu:0", "gpu:1"}, 2);
    expect_devices(gpu_strategy("gpu:0*3"), (const char *[]){"gpu:0", "gpu:0/1", "gpu:0/2"}, 3);
    expect_devices(gpu_strategy("gpu:1*2,gpu:0"), (const char *[]){"gpu:1", "gpu:1/1", "gpu:0"}, 3);
}

static void auto_is_all_gpus(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *by_default = NULL;
    OK(mdist_strategy_create(NULL, &by_default, &error));
    expect_devices(by_default, (const char *[]){"gpu:0", "gpu:1"}, 2);
    expect_devices(gpu_strategy("auto"), (const char *[]){"gpu:0", "gpu:1"}, 2);
    expect_devices(gpu_strategy("AUTO"), (const char *[]){"gpu:0", "gpu:1"}, 2);
    expect_devices(gpu_strategy("cpu*2"), (const char *[]){"cpu:0", "cpu:1"}, 2);
}

static void num_gpus_counts_them(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (int count = 0; count <= 2; ++count) {
        mdist_config_t *config = gpu_config(NULL);
        char text[8];
        snprintf(text, sizeof text, "%d", count);
        OK(mdist_config_set(config, "num_gpus", text, &error));
        expect_devices(strategy_by(config), (const char *[]){count == 0 ? "cpu:0" : "gpu:0", "gpu:1"},
                       count == 0 ? 1 : (uint32_t)count);
    }
}

static void refused(const char *key, const char *devices, const char *words) {
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = NULL;
    mdist_config_t *config = gpu_config(NULL);
    OK(mdist_config_set(config, key, devices, &error));
    assert_int_equal(mdist_strategy_create(config, &strategy, &error), MDIST_ERR_CONFIG);
    WORDS(error, words);
    assert_null(strategy);
    mdist_error_free(error);
    mdist_config_destroy(config);
}

static void what_there_is_not_is_refused(void **state) {
    (void)state;
    refused("devices", "gpu:2", "there is no gpu:2; this process has gpu:0 to gpu:1");
    refused("devices", "gpu:0,gpu:7", "there is no gpu:7");
    refused("num_gpus", "3", "num_gpus is 3 (mdist_config_set): there is no gpu:2");
    refused("devices", "cpu:0,gpu:0", "cannot mix CPU and GPU replicas");
    refused("devices", "gpu:1,cpu:0", "cannot mix CPU and GPU replicas");
}

static void gpus_are_counted(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    uint32_t count = 0;
    OK(mdist_gpu_count(&count, NULL, 0, NULL, &error));
    assert_int_equal(count, 2);
}

GPU_TESTS("devices=2,delay_us=50", cmocka_unit_test(gpus_and_logical_devices_are_named),
          cmocka_unit_test(auto_is_all_gpus), cmocka_unit_test(num_gpus_counts_them),
          cmocka_unit_test(what_there_is_not_is_refused), cmocka_unit_test(gpus_are_counted))
