// SPDX-License-Identifier: Apache-2.0
// LightGBM's external network functions over libmdist: what LGBM_NetworkInitWithFunctions takes.
//
// The functions run in one step, on the thread that trains: network_begin() enters it, network_end() leaves it.
// LightGBM offers them no way to fail, so a failure ends the process.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mdist/mdist.h>

/// LightGBM's: output[i] = output[i] op input[i], for `bytes` bytes of elements.
typedef void (*reducer_t)(const char *input, char *output, int element_bytes, int32_t bytes);

static mdist_strategy_t *strategy;
static mdist_replica_t *replica;
static char *scratch;
static size_t scratch_bytes;

static void check(mdist_status_t status, mdist_error_t *error) {
    if (status == MDIST_OK) return;
    fprintf(stderr, "libmdist: %s\n", mdist_error_message(error));
    exit(1);
}

static char *room_for(size_t bytes) {
    if (bytes > scratch_bytes) {
        free(scratch);
        scratch = malloc(scratch_bytes = bytes);
        if (scratch == NULL) abort();
    }
    return scratch;
}

static mdist_buffer_t bytes_at(const char *data, int32_t bytes) {
    return (mdist_buffer_t){(void *)data, (uint64_t)bytes, MDIST_UINT8, 0};
}

// ---- Reductions: one operator for each of LightGBM's reducers and element sizes, in the order of their first use.

typedef struct operator_of {
    reducer_t reducer;
    int element_bytes;
    mdist_reduce_op_t op;
} operator_t;

enum { MOST_OPERATORS = 16 };
static operator_t operators[MOST_OPERATORS];
static int operator_count;

static int32_t combine(const void *left, const void *right, void *out, uint64_t count, void *user_data) {
    const operator_t *const self = user_data;
    const uint64_t bytes = count * (uint64_t)self->element_bytes;
    memcpy(out, left, bytes);
    self->reducer(right, out, self->element_bytes, (int32_t)bytes);
    return 0;
}

static mdist_reduce_op_t operator_for(reducer_t reducer, int element_bytes) {
    for (int i = 0; i < operator_count; ++i)
        if (operators[i].reducer == reducer && operators[i].element_bytes == element_bytes) return operators[i].op;
    if (operator_count == MOST_OPERATORS) abort();
    operator_t *const self = &operators[operator_count];
    char name[32];
    mdist_error_t *error = NULL;
    *self = (operator_t){reducer, element_bytes, 0};
    snprintf(name, sizeof name, "lightgbm.%d", operator_count++);
    check(mdist_operator_register(name, (size_t)element_bytes, combine, self, &self->op, &error), error);
    return self->op;
}

/// Block i of everybody's input is reduced to worker i. Blocks lie one after another, and have different lengths.
void network_reduce_scatter(char *input, int32_t input_bytes, int element_bytes, const int32_t *block_start,
                            const int32_t *block_bytes, int block_count, char *output, int32_t output_bytes,
                            const reducer_t *reducer) {
    (void)block_start, (void)block_count, (void)output_bytes;
    const int32_t own = block_bytes[mdist_replica_id(replica)];
    const mdist_buffer_t in = bytes_at(input, input_bytes);
    const mdist_buffer_t out = bytes_at(room_for((size_t)own), own); // output may be input
    mdist_error_t *error = NULL;
    check(mdist_reduce_scatter(replica, operator_for(*reducer, element_bytes), &in, &out, 1, NULL, &error), error);
    memcpy(output, out.data, (size_t)own);
}

/// Everybody's block, one after another. Blocks have different lengths.
void network_all_gather(char *input, int32_t input_bytes, const int32_t *block_start, const int32_t *block_bytes,
                        int block_count, char *output, int32_t output_bytes) {
    (void)block_start, (void)block_bytes, (void)block_count;
    char *const copy = room_for((size_t)input_bytes); // the input may lie at the start of the output
    memcpy(copy, input, (size_t)input_bytes);
    const mdist_buffer_t in = bytes_at(copy, input_bytes), out = bytes_at(output, output_bytes);
    mdist_error_t *error = NULL;
    check(mdist_all_gather(replica, &in, &out, 1, NULL, &error), error);
}

void network_begin(int32_t *rank, int32_t *size) {
    mdist_error_t *error = NULL;
    check(mdist_strategy_create(NULL, &strategy, &error), error);
    check(mdist_run_begin(strategy, NULL, &error), error);
    check(mdist_replica_enter(strategy, 0, &replica, &error), error);
    *rank = (int32_t)mdist_replica_id(replica);
    *size = (int32_t)mdist_replica_count(replica);
}

void network_end(void) {
    mdist_error_t *error = NULL;
    check(mdist_replica_exit(replica, 0, &error), error);
    check(mdist_run_end(strategy, NULL, 0, &error), error);
    for (int i = 0; i < operator_count; ++i) mdist_operator_unregister(operators[i].op);
    mdist_strategy_destroy(strategy);
    free(scratch);
}
