// SPDX-License-Identifier: Apache-2.0
// The time of an all-reduce by an operator that adds floats, beside MDIST_SUM of as many bytes: in turns, in one run.
// Prints medians of replica 0 and their ratio. Several workers: mdist launch -n 2 -- operator_bench
// [replicas of each worker].
#include <mdist/mdist.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 31, MOST = 1 << 24 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

// As wide as the library's own kernels, or the two would not be comparable.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
static int32_t
add(const void *left, const void *right, void *out, uint64_t count, void *user_data) {
    const float *restrict a = left, *restrict b = right;
    float *restrict c = out;
    (void)user_data;
    for (uint64_t i = 0; i < count; ++i) c[i] = a[i] + b[i];
    return 0;
}

static int by_number(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static mdist_status_t measure(mdist_replica_t *replica, mdist_reduce_op_t op, const mdist_buffer_t *buffer, int times,
                              double *out) {
    mdist_status_t status = mdist_barrier(replica, NULL, NULL);
    const double begin = now();
    for (int i = 0; i < times && status == MDIST_OK; ++i) {
        status = mdist_all_reduce(replica, op, buffer, buffer, 1, NULL, NULL);
    }
    *out = (now() - begin) / times;
    return status;
}

static int32_t step(mdist_replica_t *replica, void *user_data) {
    const mdist_reduce_op_t ops[2] = {MDIST_SUM, *(const mdist_reduce_op_t *)user_data};
    float *const data = calloc(1, MOST);
    if (data == NULL) return 1;
    mdist_status_t status = MDIST_OK;
    for (size_t bytes = 64; bytes <= MOST && status == MDIST_OK; bytes *= 4) {
        const mdist_buffer_t buffer = {data, bytes / sizeof *data, MDIST_FLOAT32, 0};
        const int times = bytes < 65536 ? 200 : bytes < 1048576 ? 20 : 2;
        double seconds[2][ROUNDS];
        for (int round = 0; round < ROUNDS && status == MDIST_OK; ++round)
            for (int i = 0; i < 2 && status == MDIST_OK; ++i)
                status = measure(replica, ops[i], &buffer, times, &seconds[i][round]);
        for (int i = 0; i < 2; ++i) qsort(seconds[i], ROUNDS, sizeof **seconds, by_number);
        if (mdist_replica_id(replica) == 0)
            printf("%9zu bytes  SUM %10.2f us  operator %10.2f us  ratio %.2f\n", bytes, 1e6 * seconds[0][ROUNDS / 2],
                   1e6 * seconds[1][ROUNDS / 2], seconds[1][ROUNDS / 2] / seconds[0][ROUNDS / 2]);
    }
    free(data);
    return status != MDIST_OK;
}

int main(int count, char **arguments) {
    mdist_error_t *error = NULL;
    mdist_config_t *config = NULL;
    mdist_strategy_t *strategy = NULL;
    mdist_reduce_op_t op = 0;
    char devices[32];
    snprintf(devices, sizeof devices, "cpu*%s", count > 1 ? arguments[1] : "1");
    const int failed = mdist_config_create(&config, &error) != MDIST_OK ||
                       mdist_config_load_environment(config, &error) != MDIST_OK ||
                       mdist_config_set(config, "devices", devices, &error) != MDIST_OK ||
                       mdist_strategy_create(config, &strategy, &error) != MDIST_OK ||
                       mdist_operator_register("add", sizeof(float), add, NULL, &op, &error) != MDIST_OK ||
                       mdist_run(strategy, step, &op, NULL, &error) != MDIST_OK;
    if (failed) fprintf(stderr, "%s\n", mdist_error_message(error));
    mdist_error_free(error);
    mdist_operator_unregister(op);
    mdist_strategy_destroy(strategy);
    mdist_config_destroy(config);
    return failed;
}
