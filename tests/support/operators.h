// SPDX-License-Identifier: Apache-2.0
// Operators that are neither associative nor commutative, and a step of random reductions with them. Every replica
// knows the inputs of all, evaluates the tree of collective.h itself, and compares bytes.
#pragma once

#include "mdist_test.h"
#include "started.h"

#include <mdist/operator.h>

enum { OPERATORS = 5, MOST_REDUCED = 16, MOST_BUFFERS = 3, LARGEST_ELEMENT = 300000 };

MDIST_TEST_HELPER uint32_t drawn(uint64_t *state, uint32_t limit) {
    return (uint32_t)(mixed_bits(++*state) >> 32) % limit;
}

// ---- The operators. Each says by user_data how many bytes an element has.

/// 2x2 matrices modulo a prime: left * right + 3 * left.
MDIST_TEST_HELPER int32_t combine_matrices(const void *left, const void *right, void *out, uint64_t count,
                                           void *user_data) {
    (void)user_data;
    const uint32_t *a = left, *b = right;
    uint32_t *c = out;
    if ((uintptr_t)a % 16 != 0 || (uintptr_t)b % 16 != 0 || (uintptr_t)c % 16 != 0) return 77;
    for (uint64_t i = 0; i < count; ++i, a += 4, b += 4, c += 4)
        for (int row = 0; row < 2; ++row)
            for (int column = 0; column < 2; ++column) {
                const uint64_t sum = (uint64_t)(a[2 * row] % 65521) * (b[column] % 65521) +
                                     (uint64_t)(a[2 * row + 1] % 65521) * (b[2 + column] % 65521);
                c[2 * row + column] = (uint32_t)((sum + 3 * (uint64_t)a[2 * row + column]) % 65521);
            }
    return 0;
}

/// Hashes, as of concatenated texts: each byte of the result depends on all bytes of both sides before it.
MDIST_TEST_HELPER int32_t combine_hashes(const void *left, const void *right, void *out, uint64_t count,
                                         void *user_data) {
    const size_t bytes = *(const size_t *)user_data;
    const unsigned char *a = left, *b = right;
    unsigned char *c = out;
    for (uint64_t i = 0; i < count; ++i, a += bytes, b += bytes, c += bytes) {
        uint32_t hash = 2166136261u;
        for (size_t at = 0; at < bytes; ++at) {
            hash = (hash ^ a[at]) * 16777619u;
            hash = (hash + b[at]) * 2654435761u;
            c[at] = (unsigned char)(hash >> 24);
        }
    }
    return 0;
}

typedef struct KnownOperator {
    const char *name;
    size_t bytes;
    mdist_combine_fn combine;
} KnownOperator;

static const KnownOperator known_operators[OPERATORS] = {
    {"matrix", 16, combine_matrices},
    {"hash of 8", 8, combine_hashes},
    {"hash of 7", 7, combine_hashes},
    {"hash of many", 5000, combine_hashes},
    {"huge hash", LARGEST_ELEMENT, combine_hashes},
};

/// Creates them all. Returns 0, or 1 if that failed.
MDIST_TEST_HELPER int create_operators(mdist_reduce_op_t *ops) {
    for (int i = 0; i < OPERATORS; ++i)
        if (mdist_operator_register(known_operators[i].name, known_operators[i].bytes, known_operators[i].combine,
                                    (void *)&known_operators[i].bytes, &ops[i], NULL) != MDIST_OK)
            return 1;
    return 0;
}

MDIST_TEST_HELPER void destroy_operators(const mdist_reduce_op_t *ops) {
    for (int i = 0; i < OPERATORS; ++i) mdist_operator_unregister(ops[i]);
}

// ---- The expectation.

/// Element `index` of buffer `buffer` of a replica's input.
MDIST_TEST_HELPER void fill_element(uint64_t seed, size_t bytes, uint32_t replica, int buffer, uint64_t index,
                                    unsigned char *out) {
    uint64_t state = mixed_bits(seed ^ mixed_bits(replica * 1000003u + (uint32_t)buffer) ^ index * 0x9e3779b97f4a7c15u);
    for (size_t at = 0; at < bytes; at += 8) {
        const uint64_t word = mixed_bits(state++);
        memcpy(out + at, &word, bytes - at < 8 ? bytes - at : 8);
    }
}

/// The value of replicas lo to hi - 1, in memory that the caller frees.
MDIST_TEST_HELPER unsigned char *tree_value(const KnownOperator *op, uint64_t seed, int buffer, uint64_t index,
                                            uint32_t lo, uint32_t hi) {
    unsigned char *const out = aligned_alloc(64, (op->bytes + 63) / 64 * 64);
    if (out == NULL) abort();
    if (hi - lo == 1) {
        fill_element(seed, op->bytes, lo, buffer, index, out);
        return out;
    }
    uint32_t half = 1;
    while (2 * half < hi - lo) half *= 2;
    unsigned char *const left = tree_value(op, seed, buffer, index, lo, lo + half);
    unsigned char *const right = tree_value(op, seed, buffer, index, lo + half, hi);
    op->combine(left, right, out, 1, (void *)&op->bytes);
    free(left);
    free(right);
    return out;
}

// ---- A random reduction, the same on all replicas.

typedef struct Reduction {
    enum { TO_ALL, TO_PARTS, TO_ROOT } kind;
    int op;
    int started, in_place;
    uint32_t root, count;
    uint64_t seed;
    uint64_t elements[MOST_BUFFERS];
    size_t offsets[MOST_BUFFERS]; // from an aligned address
} Reduction;

/// The first element of a replica's part, of which the parts of higher ids are longer.
MDIST_TEST_HELPER uint64_t part_begin(uint64_t elements, uint32_t replica, uint32_t n) {
    return elements * replica * replica / ((uint64_t)n * n);
}

MDIST_TEST_HELPER Reduction draw_reduction(uint64_t *state, uint32_t n) {
    Reduction self = {.op = (int)drawn(state, OPERATORS)};
    const size_t bytes = known_operators[self.op].bytes;
    const uint32_t sizes[] = {1, 40, 2000, 60000};
    self.kind = drawn(state, 3) == 0 ? TO_PARTS : drawn(state, 3) == 0 ? TO_ROOT : TO_ALL;
    self.started = drawn(state, 2) == 0;
    self.in_place = drawn(state, 2) == 0;
    self.root = drawn(state, n);
    self.count = 1 + drawn(state, MOST_BUFFERS);
    self.seed = mixed_bits(*state);
    for (uint32_t b = 0; b < self.count; ++b) {
        uint32_t most = sizes[drawn(state, 4)];
        while (most > 3 && most * bytes > 900000) most /= 2;
        self.elements[b] = drawn(state, most + 1);
        self.offsets[b] = drawn(state, 3) == 0 ? drawn(state, 64) : 0;
    }
    return self;
}

typedef struct Arrays {
    unsigned char *memory[2 * MOST_BUFFERS];
    unsigned char *guards[MOST_BUFFERS]; // behind the outputs
    mdist_buffer_t inputs[MOST_BUFFERS], outputs[MOST_BUFFERS];
} Arrays;

MDIST_TEST_HELPER mdist_buffer_t as_buffer(unsigned char *data, size_t bytes, int as_words) {
    const mdist_buffer_t words = {data, bytes / 4, MDIST_FLOAT32, 0}, plain = {data, bytes, MDIST_UINT8, 0};
    return as_words ? words : plain;
}

MDIST_TEST_HELPER void make_arrays(const Reduction *self, uint32_t id, uint32_t n, Arrays *out) {
    const size_t bytes = known_operators[self->op].bytes;
    memset(out, 0, sizeof *out);
    for (uint32_t b = 0; b < self->count; ++b) {
        const uint64_t elements = self->elements[b];
        const uint64_t begin = self->kind == TO_PARTS ? part_begin(elements, id, n) : 0;
        const uint64_t end = self->kind == TO_PARTS ? part_begin(elements, id + 1, n) : elements;
        const int words = bytes % 4 == 0 && b % 2 == 0;
        for (int i = 0; i < 2; ++i)
            if ((out->memory[2 * b + (uint32_t)i] = calloc(1, elements * bytes + 192)) == NULL) abort();
        unsigned char *input = out->memory[2 * b] + 64, *output = out->memory[2 * b + 1] + 64;
        input += (64 - (uintptr_t)input % 64) % 64 + self->offsets[b];
        output += self->offsets[b] / 2;
        for (uint64_t i = 0; i < elements; ++i) fill_element(self->seed, bytes, id, (int)b, i, input + i * bytes);
        if (self->in_place) output = input + begin * bytes;
        out->inputs[b] = as_buffer(input, elements * bytes, words);
        out->outputs[b] = as_buffer(output, (end - begin) * bytes, words);
    }
}

MDIST_TEST_HELPER void free_arrays(Arrays *self) {
    for (int i = 0; i < 2 * MOST_BUFFERS; ++i) free(self->memory[i]);
}

MDIST_TEST_HELPER mdist_status_t reduce_once(mdist_replica_t *replica, const Reduction *self, mdist_reduce_op_t op,
                                             const Arrays *arrays, mdist_error_t **error) {
    mdist_work_t *work = NULL;
    const mdist_buffer_t *in = arrays->inputs, *out = arrays->outputs;
    mdist_status_t status;
    if (!self->started) {
        if (self->kind == TO_ALL) return mdist_all_reduce(replica, op, in, out, self->count, NULL, error);
        if (self->kind == TO_PARTS) return mdist_reduce_scatter(replica, op, in, out, self->count, NULL, error);
        return mdist_reduce_to_root(replica, op, self->root, in, out, self->count, NULL, error);
    }
    if (self->kind == TO_ALL)
        status = start_all_reduce(replica, op, in, out, self->count, &work, NULL, error);
    else if (self->kind == TO_PARTS)
        status = start_reduce_scatter(replica, op, in, out, self->count, &work, NULL, error);
    else
        status = start_reduce_to_root(replica, op, self->root, in, out, self->count, &work, NULL, error);
    int32_t done = 0;
    if (status == MDIST_OK) status = mdist_work_wait(work, MDIST_FOREVER, &done, error);
    mdist_work_destroy(work);
    return status;
}

/// Compares some elements of every output with the tree: all of short ones, else the ends and some between.
MDIST_TEST_HELPER int outputs_right(const Reduction *self, uint32_t id, uint32_t n, const Arrays *arrays) {
    const KnownOperator *const op = &known_operators[self->op];
    if (self->kind == TO_ROOT && id != self->root) return 1;
    for (uint32_t b = 0; b < self->count; ++b) {
        const uint64_t begin = self->kind == TO_PARTS ? part_begin(self->elements[b], id, n) : 0;
        const uint64_t end = self->kind == TO_PARTS ? part_begin(self->elements[b], id + 1, n) : self->elements[b];
        const uint64_t few = op->bytes > 1000 ? 2 : 64, step = end - begin > few ? (end - begin) / few : 1;
        for (uint64_t i = begin; i < end; i += i + 1 == end || i + step < end ? step : end - 1 - i) {
            unsigned char *const wanted = tree_value(op, self->seed, (int)b, i, 0, n);
            const unsigned char *const got = (const unsigned char *)arrays->outputs[b].data + (i - begin) * op->bytes;
            const int same = memcmp(wanted, got, op->bytes) == 0;
            free(wanted);
            if (!same) {
                fprintf(stderr,
                        "replica %u of %u: kind %d, operator %s, started %d, in place %d, buffer %u of %u: "
                        "element %llu of %llu is wrong\n",
                        (unsigned)id, (unsigned)n, (int)self->kind, op->name, self->started, self->in_place,
                        (unsigned)b, (unsigned)self->count, (unsigned long long)i,
                        (unsigned long long)self->elements[b]);
                return 0;
            }
        }
    }
    return 1;
}

/// What operators_step does: `rounds` reductions drawn from the seed.
typedef struct OperatorRun {
    mdist_reduce_op_t ops[OPERATORS];
    uint64_t seed;
    int rounds;
} OperatorRun;

/// Returns 1 if a call failed, 2 if a result is wrong.
MDIST_TEST_HELPER int32_t operators_step(mdist_replica_t *replica, void *user_data) {
    const OperatorRun *const run = user_data;
    const uint32_t id = mdist_replica_id(replica), n = mdist_replica_count(replica);
    uint64_t state = mixed_bits(run->seed);
    for (int round = 0; round < run->rounds; ++round) {
        const Reduction reduction = draw_reduction(&state, n);
        Arrays arrays;
        mdist_error_t *error = NULL;
        make_arrays(&reduction, id, n, &arrays);
        const mdist_status_t status = reduce_once(replica, &reduction, run->ops[reduction.op], &arrays, &error);
        if (status != MDIST_OK)
            fprintf(stderr, "replica %u, round %d: %s\n", (unsigned)id, round, mdist_error_message(error));
        mdist_error_free(error);
        const int right = status == MDIST_OK && outputs_right(&reduction, id, n, &arrays);
        free_arrays(&arrays);
        if (!right) return status != MDIST_OK ? 1 : 2;
    }
    return 0;
}
