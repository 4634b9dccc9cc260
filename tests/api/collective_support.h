// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of collectives: buffers between guard bytes at any address, elements with difficult bit patterns, a
// plain version of the canonical tree, and a step in which any replica makes any call.
#pragma once

#include <math.h>
#include <string.h>

#include "mdist_test.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

enum { MAX_REPLICAS = 9, MAX_BUFFERS = 8, MARGIN = 96, GUARD = 0xa5, DTYPES = 13, OPS = 8 };

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

MDIST_TEST_HELPER void seed_random(uint64_t seed) {
    random_state = seed;
    print_message("# seed %llu\n", (unsigned long long)seed);
}

MDIST_TEST_HELPER int long_tier(void) {
    const char *tier = getenv("MDIST_TEST_TIER");
    return tier != NULL && strcmp(tier, "long") == 0;
}

MDIST_TEST_HELPER int is_integer(int32_t dtype) {
    return dtype >= MDIST_INT8;
}

/// Whether a type has an operation.
MDIST_TEST_HELPER int takes(int op, int32_t dtype) {
    if (op >= MDIST_AND) return is_integer(dtype);
    if (dtype == MDIST_BOOL) return op == MDIST_MIN || op == MDIST_MAX;
    return op != MDIST_MEAN || !is_integer(dtype);
}

MDIST_TEST_HELPER int is_signed(int32_t dtype) {
    return dtype == MDIST_INT8 || dtype == MDIST_INT16 || dtype == MDIST_INT32 || dtype == MDIST_INT64;
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

// ---- The canonical tree, one element at a time.

// Converts the bits of a 16-bit binary format to a float, field by field.
MDIST_TEST_HELPER float widen16(uint16_t bits, int fraction_bits) {
    const int fraction = bits & ((1 << fraction_bits) - 1);
    const int exponent = (bits & 0x7fff) >> fraction_bits;
    const int most = (1 << (15 - fraction_bits)) - 1;
    const int bias = most >> 1;
    float value;
    if (exponent == most)
        value = fraction != 0 ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexpf((float)fraction, 1 - bias - fraction_bits);
    else
        value = ldexpf((float)(fraction + (1 << fraction_bits)), exponent - bias - fraction_bits);
    return (bits & 0x8000) != 0 ? -value : value;
}

// Rounds to the nearest number of the 16-bit format, ties to even, by binary search.
MDIST_TEST_HELPER uint16_t narrow16(float value, int fraction_bits) {
    const int most = (1 << (15 - fraction_bits)) - 1;
    const uint16_t infinity = (uint16_t)(most << fraction_bits);
    if (isnan(value)) return (uint16_t)(infinity | 1 << (fraction_bits - 1));
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const double magnitude = fabs((double)value);
    uint16_t low = 0, high = infinity; // low <= magnitude < high; infinity is the number after the last
    const double after_last = ldexp(1, (most >> 1) + 1);
    if (magnitude >= after_last) return sign | infinity;
    while (high - low > 1) {
        const uint16_t middle = (uint16_t)((low + high) / 2);
        if ((double)widen16(middle, fraction_bits) <= magnitude)
            low = middle;
        else
            high = middle;
    }
    const double to_low = magnitude - (double)widen16(low, fraction_bits);
    const double upper = high == infinity ? after_last : (double)widen16(high, fraction_bits);
    const double to_high = upper - magnitude;
    if (to_low < to_high || (to_low == to_high && low % 2 == 0)) return sign | low;
    return sign | high;
}

MDIST_TEST_HELPER double real_combined(int op, double a, double b) {
    switch (op) {
        case MDIST_MIN:
            if (isnan(a) || isnan(b)) return NAN;
            return a < b || (a == b && signbit(a)) ? a : b;
        case MDIST_MAX:
            if (isnan(a) || isnan(b)) return NAN;
            return a > b || (a == b && !signbit(a)) ? a : b;
        case MDIST_PROD:
            return a * b;
        default:
            return a + b;
    }
}

// Sums and products of two floats are computed in double and rounded to float. That gives the bits of float arithmetic,
// because a double has more than twice as many digits.
MDIST_TEST_HELPER double real_tree(int op, int single, const double *values, size_t lo, size_t hi) {
    if (hi - lo == 1) return values[lo];
    size_t half = 1;
    while (2 * half < hi - lo) half *= 2;
    const double result =
        real_combined(op, real_tree(op, single, values, lo, lo + half), real_tree(op, single, values, lo + half, hi));
    return single ? (double)(float)result : result;
}

MDIST_TEST_HELPER uint64_t whole_reduced(int op, int with_sign, const uint64_t *values, size_t n) {
    uint64_t result = values[0];
    for (size_t i = 1; i < n; ++i) {
        const int less = with_sign ? (int64_t)values[i] < (int64_t)result : values[i] < result;
        if (op == MDIST_SUM) result += values[i];
        if (op == MDIST_PROD) result *= values[i];
        if (op == MDIST_AND) result &= values[i];
        if (op == MDIST_OR) result |= values[i];
        if (op == MDIST_XOR) result ^= values[i];
        if ((op == MDIST_MIN && less) || (op == MDIST_MAX && !less)) result = values[i];
    }
    return result;
}

MDIST_TEST_HELPER double load_real(int32_t dtype, const unsigned char *at) {
    unsigned char bytes[8] = {0};
    uint16_t half;
    float single;
    double wide;
    memcpy(bytes, at, mdist_dtype_size((mdist_dtype_t)dtype));
    memcpy(&half, bytes, sizeof half);
    if (dtype == MDIST_FLOAT16) return (double)widen16(half, 10);
    if (dtype == MDIST_BFLOAT16) return (double)widen16(half, 7);
    if (dtype == MDIST_FLOAT32) return memcpy(&single, bytes, sizeof single), (double)single;
    return memcpy(&wide, bytes, sizeof wide), wide;
}

MDIST_TEST_HELPER void store_real(int32_t dtype, double value, unsigned char *at) {
    if (dtype == MDIST_FLOAT16 || dtype == MDIST_BFLOAT16) {
        const uint16_t bits = narrow16((float)value, dtype == MDIST_FLOAT16 ? 10 : 7);
        memcpy(at, &bits, sizeof bits);
    } else if (dtype == MDIST_FLOAT32) {
        const float single = (float)value;
        uint32_t bits;
        memcpy(&bits, &single, sizeof bits);
        if (isnan(value)) bits = 0x7fc00000;
        memcpy(at, &bits, sizeof bits);
    } else {
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        if (isnan(value)) bits = 0x7ff8000000000000;
        memcpy(at, &bits, sizeof bits);
    }
}

MDIST_TEST_HELPER uint64_t load_whole(int32_t dtype, const unsigned char *at) {
    const size_t size = mdist_dtype_size((mdist_dtype_t)dtype);
    uint64_t bits = 0;
    memcpy(&bits, at, size);
    if (is_signed(dtype) && size < 8 && (bits >> (8 * size - 1)) != 0) bits |= ~(uint64_t)0 << (8 * size);
    return bits;
}

/// Reduces `n` arrays as the header describes it.
MDIST_TEST_HELPER void reduce_plainly(int op, int32_t dtype, const unsigned char *const *sources, size_t n,
                                      unsigned char *out, uint64_t elements) {
    const size_t size = mdist_dtype_size((mdist_dtype_t)dtype);
    const int single = dtype != MDIST_FLOAT64;
    for (uint64_t i = 0; i < elements; ++i) {
        double reals[MAX_REPLICAS];
        uint64_t wholes[MAX_REPLICAS] = {0};
        for (size_t s = 0; s < n; ++s) {
            if (is_integer(dtype))
                wholes[s] = load_whole(dtype, sources[s] + i * size);
            else
                reals[s] = load_real(dtype, sources[s] + i * size);
        }
        if (is_integer(dtype)) {
            for (size_t s = 0; s < n && dtype == MDIST_BOOL; ++s) wholes[s] = wholes[s] != 0;
            const uint64_t result = whole_reduced(op, is_signed(dtype), wholes, n);
            memcpy(out + i * size, &result, size);
            continue;
        }
        double result = real_tree(op, single, reals, 0, n);
        if (op == MDIST_MEAN) result = single ? (double)((float)result / (float)n) : result / (double)n;
        store_real(dtype, result, out + i * size);
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
    CHECK(wanted, mdist_run(strategy, request_step, requests, NULL, 0, NULL, 0, NULL, &error), error);
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
