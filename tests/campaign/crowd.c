// SPDX-License-Identifier: Apache-2.0
// One worker of a crowd: joins, makes each collective once, checks it, and prints when it had done each, in seconds
// since 1970: join, all-reduce, broadcast, barrier, reduce-scatter, all-gather, all-to-all (if asked for), end.
#include <mdist/mdist.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_TIMES = 8 };

static double times[MOST_TIMES];
static int time_count;
static int all_to_all;

static void note(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    times[time_count++] = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void require(mdist_status_t status, const mdist_error_t *error, const char *what) {
    if (status == MDIST_OK) return;
    fprintf(stderr, "%s: %s\n", what, mdist_error_message(error));
    exit(3);
}

static void check(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "%s: a wrong value\n", what);
    exit(4);
}

#define DO(call)                            \
    do {                                    \
        mdist_error_t *error = NULL;        \
        const mdist_status_t status = call; \
        require(status, error, #call);      \
    } while (0)

static int32_t each_once(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    const uint64_t id = mdist_replica_id(replica), n = mdist_replica_count(replica);
    uint64_t one = id, sum = 0, *const many = calloc(n, sizeof *many), *const others = calloc(n, sizeof *others);
    const mdist_buffer_t single = {&one, 1, MDIST_UINT64, 0}, result = {&sum, 1, MDIST_UINT64, 0};
    const mdist_buffer_t all = {many, n, MDIST_UINT64, 0}, received = {others, n, MDIST_UINT64, 0};
    if (many == NULL || others == NULL) return 1;
    DO(mdist_all_reduce(replica, MDIST_SUM, &single, &result, 1, NULL, &error));
    check(sum == n * (n - 1) / 2, "all-reduce");
    note();
    DO(mdist_broadcast(replica, (uint32_t)(n / 2), &single, 1, NULL, &error));
    check(one == n / 2, "broadcast");
    note();
    DO(mdist_barrier(replica, NULL, &error));
    note();
    for (uint64_t i = 0; i < n; ++i) many[i] = i;
    DO(mdist_reduce_scatter(replica, MDIST_SUM, &all, &result, 1, NULL, &error));
    check(sum == id * n, "reduce-scatter");
    note();
    one = id;
    DO(mdist_all_gather(replica, &single, &all, 1, NULL, &error));
    for (uint64_t i = 0; i < n; ++i) check(many[i] == i, "all-gather");
    note();
    for (uint64_t i = 0; i < n && all_to_all; ++i) many[i] = id * n + i;
    if (all_to_all) DO(mdist_all_to_all(replica, &all, &received, 1, NULL, &error));
    for (uint64_t i = 0; i < n && all_to_all; ++i) check(others[i] == i * n + id, "all-to-all");
    if (all_to_all) note();
    free(many);
    free(others);
    return 0;
}

int main(int argument_count, char **arguments) {
    (void)arguments;
    all_to_all = argument_count > 1;
    mdist_strategy_t *strategy = NULL;
    DO(mdist_strategy_create(NULL, &strategy, &error));
    note();
    DO(mdist_run(strategy, each_once, NULL, NULL, &error));
    mdist_strategy_destroy(strategy);
    note();
    char line[32 * MOST_TIMES];
    int length = 0;
    for (int i = 0; i < time_count; ++i)
        length += snprintf(line + length, sizeof line - (size_t)length, " %.3f", times[i]);
    puts(line);
    return 0;
}
