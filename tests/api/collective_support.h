// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of collectives: buffers between guard bytes at any address, elements with difficult bit patterns,
// and a step in which any replica makes any call.
#pragma once

#include <math.h>
#include <string.h>

#include "canonical_tree.h"
#include "mdist_test.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

enum { MAX_REPLICAS = 9, MAX_BUFFERS = 8, MARGIN = 96, GUARD = 0xa5 };

static uint64_t random_state = 88172645463325252u;

MDIST_TEST_HELPER uint64_t next_random(void) { // xorshift64*
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 0x2545f4914f6cdd1du;
}

MDIST_TEST_HELPER uint64_t below(uint64_t limit) {
    return (next_random() >> 16) % limit;
}

MDIST_TEST_HELPER void seed_random(uint64_t usual) {
    random_state = test_seed(usual) | (uint64_t)(test_seed(usual) == 0); // xorshift has no way out of 0
}

// ---- Buffers between guard bytes.

typedef struct Block {
    unsigned char *base;
    unsigned char *data;
    size_t bytes;
    mdist_buffer_t buffer;
} Block;

MDIST_TEST_HELPER Block make_block(int32_t dtype, uint64_t elements, size_t offset) {
    Block block;
    block.bytes = elements * mdist_dtype_size((mdist_dtype_t)dtype);
    block.base = malloc(block.bytes + 2 * MARGIN);
    assert_non_null(block.base);
    memset(block.base, GUARD, block.bytes + 2 * MARGIN);
    block.data = block.base + offset % 64;
    block.buffer = buffer_of(block.data, (mdist_dtype_t)dtype, elements);
    return block;
}

MDIST_TEST_HELPER int guards_intact(const Block *block) {
    const unsigned char *const end = block->base + block->bytes + 2 * MARGIN;
    for (const unsigned char *at = block->base; at < end; ++at)
        if ((at < block->data || at >= block->data + block->bytes) && *at != GUARD) return 0;
    return 1;
}

MDIST_TEST_HELPER int all_guard(const Block *block) {
    for (size_t i = 0; i < block->bytes; ++i)
        if (block->data[i] != GUARD) return 0;
    return guards_intact(block);
}

// ---- Elements.

MDIST_TEST_HELPER void fill(int32_t dtype, unsigned char *data, uint64_t elements) {
    static const uint16_t halves[] = {0, 0x8000, 1, 0x8001, 0x3ff, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e01, 0xfd01};
    static const uint16_t brains[] = {0, 0x8000, 1, 0x807f, 0x80, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc1, 0xff81};
    static const uint32_t floats[] = {0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x7f7fffff,
                                      0xff7fffff, 0x7f800000, 0xff800000, 0x7fc12345, 0xff800001};
    static const uint64_t doubles[] = {0,
                                       0x8000000000000000,
                                       1,
                                       0x8000000000000001,
                                       0x000fffffffffffff,
                                       0x7fefffffffffffff,
                                       0xffefffffffffffff,
                                       0x7ff0000000000000,
                                       0xfff0000000000000,
                                       0x7ff8000000012345,
                                       0xfff0000000000001};
    const size_t size = mdist_dtype_size((mdist_dtype_t)dtype);
    for (uint64_t i = 0; i < elements; ++i) {
        uint64_t bits = next_random();
        const uint64_t kind = below(40), which = below(11);
        const float ordinary = (float)(int32_t)bits * 0x1p-29f;
        uint32_t word;
        memcpy(&word, &ordinary, sizeof word);
        const double wide = (double)(int64_t)bits * 0x1p-61;
        if (dtype == MDIST_FLOAT16) bits = kind == 0 ? halves[which] : kind < 30 ? (bits & 0x83ff) | 0x3800 : bits;
        if (dtype == MDIST_BFLOAT16) bits = kind == 0 ? brains[which] : kind < 30 ? word >> 16 : bits;
        if (dtype == MDIST_FLOAT32) bits = kind == 0 ? floats[which] : kind < 30 ? word : bits;
        if (dtype == MDIST_BOOL) bits = kind == 0 ? bits : bits & 1;
        if (dtype == MDIST_FLOAT64 && kind == 0) bits = doubles[which];
        if (dtype == MDIST_FLOAT64 && kind > 8) memcpy(&bits, &wide, sizeof bits);
        memcpy(data + i * size, &bits, size);
    }
}

// ---- A step in which replica r makes request r.

typedef enum Kind { ALL_REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, BARRIER } Kind;

typedef struct Request {
    Kind kind;
    int op;
    uint32_t root;
    const mdist_buffer_t *inputs; // for broadcast: its buffers
    const mdist_buffer_t *outputs;
    size_t count;
    const mdist_call_options_t *options;
    int odd_modes; // the caller disables denormals and rounds upward
    mdist_status_t status;
    char message[768];
    int modes_changed;
    int error_missing;
} Request;

MDIST_TEST_HELPER mdist_status_t ask(mdist_replica_t *replica, const Request *r, mdist_error_t **error) {
    const mdist_reduce_op_t op = (mdist_reduce_op_t)r->op;
    switch (r->kind) {
        case ALL_REDUCE:
            return mdist_all_reduce(replica, op, r->inputs, r->outputs, r->count, r->options, error);
        case BROADCAST:
            return mdist_broadcast(replica, r->root, r->inputs, r->count, r->options, error);
        case ALL_GATHER:
            return mdist_all_gather(replica, r->inputs, r->outputs, r->count, r->options, error);
        case REDUCE_SCATTER:
            return mdist_reduce_scatter(replica, op, r->inputs, r->outputs, r->count, r->options, error);
        case ALL_TO_ALL:
            return mdist_all_to_all(replica, r->inputs, r->outputs, r->count, r->options, error);
        default:
            return mdist_barrier(replica, r->options, error);
    }
}

MDIST_TEST_HELPER int32_t request_step(mdist_replica_t *replica, void *user_data) {
    Request *const r = (Request *)user_data + mdist_replica_id(replica);
    mdist_error_t *error = NULL;
#if defined(__SSE2__)
    const unsigned before = _mm_getcsr();
    if (r->odd_modes) _mm_setcsr(0x1f80 | 0x8040 | 0x4000); // flush to zero, denormals are zero, round upward
    const unsigned set = _mm_getcsr();
    r->status = ask(replica, r, &error);
    r->modes_changed = _mm_getcsr() != set;
    _mm_setcsr(before);
#else
    r->status = ask(replica, r, &error);
#endif
    r->error_missing = (r->status < 0) != (error != NULL);
    snprintf(r->message, sizeof r->message, "%s", mdist_error_message(error));
    mdist_error_free(error);
    return 0;
}

/// Runs the requests. Checks the run's status, and with `alike` also that every replica got the same.
MDIST_TEST_HELPER void expect_requests(mdist_strategy_t *strategy, Request *requests, mdist_status_t wanted,
                                       int alike) {
    mdist_error_t *error = NULL;
    CHECK(wanted, mdist_run(strategy, request_step, requests, NULL, &error), error);
    for (uint32_t r = 0; r < mdist_strategy_replica_count(strategy); ++r) {
        assert_false(requests[r].modes_changed);
        assert_false(requests[r].error_missing);
        if (alike && requests[r].status != wanted) print_error("replica %u: %s\n", (unsigned)r, requests[r].message);
        if (alike) assert_int_equal(requests[r].status, wanted);
    }
}

/// Checks that the strategy works: an all-reduce of ones gives the number of replicas.
MDIST_TEST_HELPER void expect_usable(mdist_strategy_t *strategy) {
    const uint32_t n = mdist_strategy_replica_count(strategy);
    float ones[MAX_REPLICAS];
    mdist_buffer_t buffers[MAX_REPLICAS];
    Request requests[MAX_REPLICAS];
    memset(requests, 0, sizeof requests);
    for (uint32_t r = 0; r < n; ++r) {
        ones[r] = 1;
        buffers[r] = buffer_of(&ones[r], MDIST_FLOAT32, 1);
        requests[r] = (Request){.kind = ALL_REDUCE, .op = MDIST_SUM, .inputs = &buffers[r], .outputs = &buffers[r]};
        requests[r].count = 1;
    }
    expect_requests(strategy, requests, MDIST_OK, 1);
    for (uint32_t r = 0; r < n; ++r) assert_true(ones[r] == (float)n);
}
