// SPDX-License-Identifier: Apache-2.0
// Worker processes with one GPU each, through the public API: sums of GPU memory, by NCCL and through the host, and the
// error that the others get when a worker is killed.
#include "multi.h"

#include <dlfcn.h>
#include <signal.h>
#include <time.h>

enum { ELEMENTS = 1 << 18, ROUNDS = 20, NO_GPU = 77, TOO_FEW_GPUS = 78, MOST_SECONDS = 30, MOST_WORKERS_USED = 8 };

static uint32_t gpu_count;

typedef struct Self {
    void *memory; // on the replica's GPU
    int dies;
    double seconds; // time until the failure
} Self;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static mdist_tensor_t floats_at(void *data) {
    const uint64_t shape[] = {ELEMENTS};
    mdist_tensor_t tensor;
    REQUIRE(mdist_tensor_describe(data, MDIST_FLOAT32, shape, 1, &tensor, NULL) == MDIST_OK);
    return tensor;
}

/// Fills the memory with this worker's number, and has all workers add it up.
static mdist_status_t add_up(mdist_replica_t *replica, const Self *self) {
    static float numbers[ELEMENTS];
    const mdist_tensor_t here = floats_at(numbers), there = floats_at(self->memory);
    const mdist_buffer_t buffer = {self->memory, ELEMENTS, MDIST_FLOAT32, 0};
    for (size_t i = 0; i < ELEMENTS; ++i) numbers[i] = (float)(rank + 1);
    mdist_status_t status = mdist_replica_copy(replica, &there, &here, NULL);
    if (status == MDIST_OK) status = mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL);
    if (status == MDIST_OK) status = mdist_replica_copy(replica, &here, &there, NULL);
    for (size_t i = 0; i < ELEMENTS && status == MDIST_OK && !self->dies; ++i)
        if (numbers[i] != (float)(worker_count * (worker_count + 1) / 2)) return MDIST_ERR_INTERNAL;
    return status;
}

static int32_t rounds(mdist_replica_t *replica, void *user_data) {
    for (int i = 0; i < ROUNDS; ++i)
        if (add_up(replica, user_data) != MDIST_OK) return 1;
    return 0;
}

/// Checks that a worker uses no memory on other workers' GPUs, where a context would take hundreds of MiB. (Contexts
/// that NCCL makes do not count.)
static void require_no_other_context(void) {
    void *const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    int (*state_of)(int device, unsigned *flags, int *active) = NULL;
    if (driver != NULL) *(void **)&state_of = dlsym(driver, "cuDevicePrimaryCtxGetState");
    for (uint32_t gpu = 0; gpu < worker_count && state_of != NULL; ++gpu) {
        unsigned flags = 0;
        int active = 0;
        REQUIRE(state_of((int)gpu, &flags, &active) == 0 && active == (gpu == rank));
    }
}

static void sums(void) {
    const char *const implementation = getenv("MDIST_COMMUNICATION_IMPLEMENTATION");
    const float zeros[8] = {0};
    const uint64_t shape[] = {8};
    mdist_strategy_t *const strategy = join();
    mdist_variable_t *variable = NULL;
    mdist_tensor_t initial;
    Self self = {.memory = NULL};
    GIVES(MDIST_OK, mdist_alloc(strategy, 0, ELEMENTS * sizeof(float), &self.memory, &error));
    GIVES(MDIST_OK, mdist_tensor_describe((void *)zeros, MDIST_FLOAT32, shape, 1, &initial, &error));
    GIVES(MDIST_OK, mdist_variable_create(strategy, "w", &initial, &variable, NULL, &error));
    if (strcmp(implementation, "ring") == 0) require_no_other_context();
    GIVES(MDIST_OK, mdist_run(strategy, rounds, &self, NULL, &error));
    if (strcmp(implementation, "ring") == 0) require_no_other_context();
    mdist_variable_destroy(variable);
    mdist_free(self.memory);
    mdist_strategy_destroy(strategy);
}

// Do not check data that is copied back after an aborted sum: NCCL's kernels may have written anything.
static int32_t until_lost(mdist_replica_t *replica, void *user_data) {
    Self *const self = user_data;
    const double begin = now();
    for (int i = 0;; ++i) {
        if (rank == victim && i == 3) raise(SIGKILL);
        if (add_up(replica, self) == MDIST_OK) continue;
        self->seconds = now() - begin;
        return 1;
    }
}

static void one_dies(void) {
    mdist_strategy_t *const strategy = join();
    Self self = {.dies = 1};
    GIVES(MDIST_OK, mdist_alloc(strategy, 0, ELEMENTS * sizeof(float), &self.memory, &error));
    GIVES(MDIST_ERR_PEER_LOST, mdist_run(strategy, until_lost, &self, NULL, &error));
    REQUIRE(self.seconds < MOST_SECONDS);
    mdist_free(self.memory);
    mdist_strategy_destroy(strategy);
}

static const NamedScenario scenarios[] = {{"sums", sums}, {"one_dies", one_dies}};

static void run(const char *scenario, const char *implementation, int killed) {
    char line[64];
    snprintf(line, sizeof line, "MDIST_COMMUNICATION_IMPLEMENTATION=%s", implementation);
    const char *const environment[] = {line, NULL};
    const Workers workers = {.scenario = scenario,
                             .count = gpu_count < MOST_WORKERS_USED ? gpu_count : MOST_WORKERS_USED,
                             .devices = "cpu*1", // which MDIST_TEST_DEVICE makes a GPU of its own
                             .environment = environment,
                             .victim = killed ? 1 : 0,
                             .killed = killed};
    assert_int_equal(run_workers(&workers), 0);
}

static void sums_by_nccl_are_right(void **state) {
    (void)state;
    run("sums", "nccl", 0);
}

static void sums_by_way_of_the_host_are_right(void **state) {
    (void)state;
    run("sums", "ring", 0);
}

static void the_loss_of_a_worker_is_told_with_nccl(void **state) {
    (void)state;
    run("one_dies", "nccl", 1);
}

static void the_loss_of_a_worker_is_told_without_nccl(void **state) {
    (void)state;
    run("one_dies", "ring", 1);
}

static int test_all(void) {
    char why_none[512];
    mdist_gpu_count(&gpu_count, why_none, sizeof why_none, NULL, NULL);
    if (gpu_count < 2) {
        printf("skip workers with a GPU each: %s\n", gpu_count == 0 ? why_none : "this machine has one");
        return gpu_count == 0 ? NO_GPU : TOO_FEW_GPUS;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_by_nccl_are_right),
        cmocka_unit_test(sums_by_way_of_the_host_are_right),
        cmocka_unit_test(the_loss_of_a_worker_is_told_with_nccl),
        cmocka_unit_test(the_loss_of_a_worker_is_told_without_nccl),
    };
    return cmocka_run_group_tests_name("gpu/several_workers", tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    setenv("MDIST_TEST_DEVICE", "gpus", 1);
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
