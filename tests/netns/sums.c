// SPDX-License-Identifier: Apache-2.0
// Prints a line with a digest of the results of many all-reduces. For the same number of replicas, it is the same on
// every worker in every layout. The status is 1, with the reason, if anything failed or local replicas differ.
#include <mdist/mdist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 24, MOST_ELEMENTS = 300000, MOST_REPLICAS = 64 };

static const int32_t kTypes[] = {MDIST_FLOAT32, MDIST_BFLOAT16, MDIST_FLOAT64, MDIST_FLOAT16};
static const size_t kBytes[] = {4, 2, 8, 2};
static const uint64_t kElements[] = {1, 1000, 30001, MOST_ELEMENTS};
static const mdist_reduce_op_t kOps[] = {MDIST_SUM, MDIST_MEAN, MDIST_PROD};

static uint64_t digests[MOST_REPLICAS];

static uint64_t next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 32;
}

// Numbers of ordinary size, so that every order of a sum rounds differently.
static void fill(char *to, size_t type, uint64_t elements, uint64_t *state) {
    for (uint64_t i = 0; i < elements; ++i) {
        const double value = (double)next(state) / 4294967296.0 + 0.5;
        const float narrow = (float)value;
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        const uint16_t half = (uint16_t)(kTypes[type] == MDIST_BFLOAT16 ? bits >> 16 : 0x3800 + next(state) % 1024);
        const void *const from = kBytes[type] == 8   ? (const void *)&value
                                 : kBytes[type] == 4 ? (const void *)&narrow
                                                     : &half;
        memcpy(to + i * kBytes[type], from, kBytes[type]);
    }
}

static int32_t step(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    const uint32_t id = mdist_replica_id(replica);
    uint64_t digest = 1469598103934665603u;
    char *const memory = malloc((size_t)MOST_ELEMENTS * 8);
    if (memory == NULL) return 1;
    int32_t failed = 0;
    for (uint32_t c = 0; c < CASES && !failed; ++c) {
        const size_t type = c % 4;
        const uint64_t elements = kElements[c / 4 % 4];
        uint64_t state = id * 1000 + c;
        fill(memory, type, elements, &state);
        const mdist_buffer_t buffer = {memory, elements, kTypes[type], 0};
        failed = mdist_all_reduce(replica, kOps[c % 3], &buffer, &buffer, 1, NULL, NULL) != MDIST_OK;
        for (size_t i = 0; i < elements * kBytes[type]; ++i)
            digest = (digest ^ (unsigned char)memory[i]) * 1099511628211u;
    }
    free(memory);
    digests[mdist_replica_local_index(replica)] = digest;
    return failed;
}

int main(void) {
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = NULL;
    mdist_status_t status = mdist_strategy_create(NULL, &strategy, &error);
    if (status == MDIST_OK) status = mdist_run(strategy, step, NULL, NULL, &error);
    if (status != MDIST_OK) {
        fprintf(stderr, "%s\n", mdist_error_message(error));
        return 1;
    }
    const uint32_t local = mdist_strategy_local_replica_count(strategy);
    for (uint32_t i = 1; i < local; ++i)
        if (digests[i] != digests[0]) return fprintf(stderr, "local replicas 0 and %u differ\n", i), 1;
    printf("%u replicas: %016llx\n", mdist_strategy_replica_count(strategy), (unsigned long long)digests[0]);
    mdist_strategy_destroy(strategy);
    return 0;
}
