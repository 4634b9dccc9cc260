// SPDX-License-Identifier: Apache-2.0
// Runs rounds of gradients whose every element can be computed, and compares them with plain loops: sums with the bits
// that <mdist/collective.h> describes, norms and clipped gradients within the roundings that they may have.
#pragma once

#include "mdist_test.h"

#include <math.h>
#include <sched.h>

enum { MOST_GRADIENTS = 12, MOST_REPLICAS = 7, MOST_ELEMENTS = 70000 };

typedef struct Model {
    size_t count;
    mdist_tensor_t like[MOST_GRADIENTS];
} Model;

/// Whose memory the gradients lie in, and how. All but the first are lent.
typedef enum Memory {
    LIBRARY,
    FLAT,      // end to end, in the order of their numbers
    BACKWARDS, // end to end, last first
    APART,     // with gaps
    MOVING,    // apart, and elsewhere in every round
    MEMORIES
} Memory;

/// A trial runs on every replica. `notes` holds what it finds wrong, by local replica.
typedef struct Trial {
    mdist_gradients_t *gradients;
    Model model;
    mdist_reduce_op_t op;
    uint64_t seed;
    int rounds; // only the last round reduces
    double clip_norm;
    Memory memory;
    char *blocks[MOST_REPLICAS]; // lent memory, by local replica
    void *sums[MOST_GRADIENTS];  // what must come, before clipping; see expect()
    double norm;                 // of the sums
    double norms[MOST_REPLICAS];
    int32_t finite[MOST_REPLICAS];
    Note notes[MOST_REPLICAS];
} Trial;

MDIST_TEST_HELPER size_t size_of(int32_t dtype) {
    return mdist_dtype_size((mdist_dtype_t)dtype);
}

/// Writes a number between -1 and 1. It differs for every replica, round, gradient and element.
MDIST_TEST_HELPER void write_element(const Trial *self, void *to, int32_t dtype, uint32_t replica, int round,
                                     size_t index, uint64_t i) {
    const uint64_t bits = mixed_pair(mixed_pair(mixed_pair(self->seed, replica), (uint64_t)round), index << 32 | i);
    const double real = ((double)(bits >> 11) * 0x1p-53 - 0.5) * 2;
    if (dtype == MDIST_FLOAT32) *(float *)to = (float)real;
    if (dtype == MDIST_FLOAT64) *(double *)to = real;
    if (dtype == MDIST_FLOAT16) *(uint16_t *)to = (uint16_t)((0x2800 + bits % 0x1000) | (bits >> 48 & 0x8000));
    if (dtype == MDIST_BFLOAT16) *(uint16_t *)to = (uint16_t)((0x3c00 + bits % 0x300) | (bits >> 48 & 0x8000));
}

MDIST_TEST_HELPER double read_element(const void *data, int32_t dtype, uint64_t i) {
    if (dtype == MDIST_FLOAT32) return (double)((const float *)data)[i];
    if (dtype == MDIST_FLOAT64) return ((const double *)data)[i];
    const uint16_t half = ((const uint16_t *)data)[i];
    if (dtype == MDIST_BFLOAT16) {
        const uint32_t bits = (uint32_t)half << 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        return (double)value;
    }
    const int exponent = half >> 10 & 31;
    const double magnitude = exponent == 0 ? ldexp(half & 1023, -24) : ldexp(1024 + (half & 1023), exponent - 25);
    return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

MDIST_TEST_HELPER mdist_tensor_t like_of(int32_t dtype, uint64_t elements) {
    mdist_tensor_t tensor = tensor_of(NULL, (mdist_dtype_t)dtype, 1);
    tensor.shape[0] = elements;
    return tensor;
}

/// Makes a random number of gradients of random sizes, all of type `dtype`, or of all types if it is 0.
MDIST_TEST_HELPER Model random_model(uint64_t seed, int32_t dtype) {
    static const uint64_t sizes[] = {0, 1, 3, 17, 100, 1000, 5000, MOST_ELEMENTS};
    static const int32_t types[] = {MDIST_FLOAT32, MDIST_FLOAT64, MDIST_FLOAT16, MDIST_BFLOAT16};
    Model model = {.count = 1 + mixed_pair(seed, 1) % MOST_GRADIENTS};
    for (size_t i = 0; i < model.count; ++i) {
        const uint64_t random = mixed_pair(seed, 100 + i);
        model.like[i] = like_of(dtype != 0 ? dtype : types[random % 4], sizes[(random >> 8) % 8]);
    }
    return model;
}

enum { GAP = 40, CANARY = 0xa5 };

/// Where a gradient begins in a lent block; where the block ends for the number of gradients.
MDIST_TEST_HELPER size_t lent_at(const Trial *self, size_t index) {
    const size_t count = self->model.count;
    size_t offset = 0;
    for (size_t i = 0; i < count; ++i) {
        const size_t g = self->memory == BACKWARDS ? count - 1 - i : i;
        const size_t size = size_of(self->model.like[g].dtype);
        offset = (offset + size - 1) / size * size;
        if (g == index) return offset;
        offset += self->model.like[g].shape[0] * size;
        if (self->memory == APART || self->memory == MOVING) offset += GAP;
    }
    return (offset + 63) / 64 * 64;
}

/// The size of a block. There is a second half, for gradients that move.
MDIST_TEST_HELPER size_t block_size(const Trial *self) {
    return 2 * lent_at(self, self->model.count) + 64;
}

MDIST_TEST_HELPER char *lent_place(const Trial *self, uint32_t local, size_t index, int round) {
    const size_t half = self->memory == MOVING && round % 2 == 0 ? lent_at(self, self->model.count) : 0;
    return self->blocks[local] + half + lent_at(self, index);
}

MDIST_TEST_HELPER void lend_blocks(Trial *self, mdist_strategy_t *strategy, const mdist_gradients_options_t *options) {
    mdist_error_t *error = NULL;
    mdist_tensor_t tensors[MOST_REPLICAS * MOST_GRADIENTS];
    const size_t count = self->model.count;
    const uint32_t replicas = mdist_strategy_local_replica_count(strategy);
    for (uint32_t r = 0; r < replicas; ++r) {
        self->blocks[r] = (char *)malloc(block_size(self));
        memset(self->blocks[r], CANARY, block_size(self));
        for (size_t g = 0; g < count; ++g) {
            tensors[r * count + g] = self->model.like[g];
            tensors[r * count + g].data = self->memory == MOVING ? NULL : lent_place(self, r, g, 0);
        }
    }
    OK(mdist_gradients_create_lent(strategy, tensors, count, &self->gradients, options, &error));
}

MDIST_TEST_HELPER void destroy_gradients(Trial *self) {
    mdist_gradients_destroy(self->gradients);
    for (int r = 0; r < MOST_REPLICAS; ++r) free(self->blocks[r]);
    for (int g = 0; g < MOST_GRADIENTS; ++g) free(self->sums[g]);
    memset((void *)self->blocks, 0, sizeof self->blocks);
    memset((void *)self->sums, 0, sizeof self->sums);
}

/// Whether the library has left alone what lies between the gradients of a lent block.
MDIST_TEST_HELPER int gaps_are_intact(const Trial *self, uint32_t local) {
    const size_t size = block_size(self);
    char *const copy = (char *)malloc(size);
    memcpy(copy, self->blocks[local], size);
    for (int round = 0; round < 2; ++round)
        for (size_t g = 0; g < self->model.count; ++g)
            memset(copy + (lent_place(self, local, g, round) - self->blocks[local]), CANARY,
                   self->model.like[g].shape[0] * size_of(self->model.like[g].dtype));
    int intact = 1;
    for (size_t i = 0; i < size; ++i) intact = intact && (unsigned char)copy[i] == CANARY;
    free(copy);
    return intact;
}

MDIST_TEST_HELPER void make_gradients(Trial *self, mdist_strategy_t *strategy, uint64_t bucket_bytes, uint32_t flags) {
    mdist_error_t *error = NULL;
    const mdist_gradients_options_t options = {.struct_size = sizeof options,
                                               .flags = flags,
                                               .op = (int32_t)self->op,
                                               .bucket_bytes = bucket_bytes,
                                               .clip_norm = self->clip_norm};
    if (self->memory != LIBRARY)
        lend_blocks(self, strategy, &options);
    else
        OK(mdist_gradients_create(strategy, self->model.like, self->model.count, &self->gradients, &options, &error));
}

#define DO(call) /* in a step: notes the first call that fails, and ends the step */                            \
    do {                                                                                                        \
        mdist_error_t *do_error = NULL;                                                                         \
        mdist_error_t **const error_out = &do_error;                                                            \
        const mdist_status_t do_status = (call);                                                                \
        if (note(&self->notes[mdist_replica_local_index(replica)], MDIST_OK, do_status, error_out, #call) != 0) \
            return 1;                                                                                           \
    } while (0)

MDIST_TEST_HELPER void fill(const Trial *self, const mdist_tensor_t *tensor, uint32_t replica, int round,
                            size_t index) {
    for (uint64_t i = 0; i < tensor->shape[0]; ++i)
        write_element(self, (char *)tensor->data + i * size_of(tensor->dtype), tensor->dtype, replica, round, index, i);
}

/// Waits for the end of a round, or asks until it has ended.
MDIST_TEST_HELPER mdist_status_t end_round(mdist_replica_t *replica, mdist_gradients_t *gradients, int waits,
                                           double *norm, int32_t *finite, mdist_error_t **error) {
    if (waits) return mdist_gradients_wait(replica, gradients, norm, finite, error);
    for (int32_t done = 0; !done; sched_yield()) {
        const mdist_status_t status = mdist_gradients_test(replica, gradients, &done, norm, finite, error);
        if (status != MDIST_OK) return status;
    }
    return MDIST_OK;
}

/// Does one round: hands in all gradients, each replica in an order of its own.
MDIST_TEST_HELPER int32_t play_round(mdist_replica_t *replica, Trial *self, int round) {
    const uint32_t id = mdist_replica_id(replica), local = mdist_replica_local_index(replica);
    size_t order[MOST_GRADIENTS];
    for (size_t i = 0; i < self->model.count; ++i) {
        const size_t j = mixed_pair(mixed_pair(self->seed, id + 7), (uint64_t)round * 100 + i) % (i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    if (round + 1 < self->rounds) DO(mdist_gradients_accumulate(replica, self->gradients, error_out));
    for (size_t i = 0; i < self->model.count; ++i) {
        mdist_tensor_t tensor;
        DO(mdist_gradients_tensor(self->gradients, local, order[i], &tensor, error_out));
        if (self->memory == MOVING) tensor.data = lent_place(self, local, order[i], round);
        fill(self, &tensor, id, round, order[i]);
        if (self->memory == MOVING)
            DO(mdist_gradients_ready_at(replica, self->gradients, order[i], tensor.data, error_out));
        else
            DO(mdist_gradients_ready(replica, self->gradients, order[i], error_out));
    }
    const int waits = (self->seed >> mdist_replica_id(replica) & 1) != 0;
    DO(end_round(replica, self->gradients, waits, &self->norms[local], &self->finite[local], error_out));
    return 0;
}

// ---- What must come.

/// Rounds a number to the type that sums of `dtype` are kept in: 16-bit types are summed in float32. In double, sums
/// and quotients of float32 numbers are exact enough that rounding them here gives float32's own result.
MDIST_TEST_HELPER double summed(int32_t dtype, double number) {
    return dtype == MDIST_FLOAT64 ? number : (double)(float)number;
}

/// Rounds to the nearest float16, to even in the middle.
MDIST_TEST_HELPER uint16_t half_of(double number) {
    const uint16_t sign = signbit(number) != 0 ? 0x8000 : 0;
    const double magnitude = fabs(number);
    int exponent = magnitude < 0x1p-14 ? -14 : ilogb(magnitude);
    double steps = rint(ldexp(magnitude, 10 - exponent)); // 1024 to 2048, or below 1024 if the number is subnormal
    if (steps == 2048) steps = 1024, ++exponent;
    return (uint16_t)(sign | (steps < 1024 ? (int)steps : ((exponent + 15) << 10) + (int)steps - 1024));
}

MDIST_TEST_HELPER uint16_t bfloat_of(float number) {
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

MDIST_TEST_HELPER void write_rounded(void *data, int32_t dtype, uint64_t i, double number) {
    if (dtype == MDIST_FLOAT32) ((float *)data)[i] = (float)number;
    if (dtype == MDIST_FLOAT64) ((double *)data)[i] = number;
    if (dtype == MDIST_FLOAT16) ((uint16_t *)data)[i] = half_of(number);
    if (dtype == MDIST_BFLOAT16) ((uint16_t *)data)[i] = bfloat_of((float)number);
}

/// Adds up the rounds of one replica, one by one. Several rounds only come with float32 and float64.
MDIST_TEST_HELPER double sum_of_rounds(const Trial *self, uint32_t replica, size_t index, uint64_t i) {
    const int32_t dtype = self->model.like[index].dtype;
    double sum = 0, element;
    for (int round = 0; round < self->rounds; ++round) {
        write_element(self, &element, dtype, replica, round, index, i);
        sum = round == 0 ? read_element(&element, dtype, 0) : summed(dtype, sum + read_element(&element, dtype, 0));
    }
    return self->op == MDIST_MEAN && self->rounds > 1 ? summed(dtype, sum / self->rounds) : sum;
}

/// sum(lo, hi) of <mdist/collective.h>, "Bits of the result".
MDIST_TEST_HELPER double sum_of_replicas(int32_t dtype, const double *replicas, uint32_t lo, uint32_t hi) {
    if (hi - lo == 1) return replicas[lo];
    uint32_t left = 1;
    while (left * 2 < hi - lo) left *= 2;
    return summed(dtype,
                  sum_of_replicas(dtype, replicas, lo, lo + left) + sum_of_replicas(dtype, replicas, lo + left, hi));
}

/// Computes the sums or means over `replicas` replicas, and their norm, without the library.
MDIST_TEST_HELPER void expect(Trial *self, uint32_t replicas) {
    double parts[MOST_REPLICAS], squares = 0;
    for (size_t g = 0; g < self->model.count; ++g) {
        const int32_t dtype = self->model.like[g].dtype;
        if (self->sums[g] == NULL) self->sums[g] = malloc(sizeof(double) * MOST_ELEMENTS);
        for (uint64_t i = 0; i < self->model.like[g].shape[0]; ++i) {
            for (uint32_t r = 0; r < replicas; ++r) parts[r] = sum_of_rounds(self, r, g, i);
            const double sum = sum_of_replicas(dtype, parts, 0, replicas);
            write_rounded(self->sums[g], dtype, i, self->op == MDIST_MEAN ? summed(dtype, sum / replicas) : sum);
            const double element = read_element(self->sums[g], dtype, i);
            squares += element * element;
        }
    }
    self->norm = sqrt(squares);
}

/// How far two norms of the same gradients may be apart, relatively. All terms are positive, so each addition of either
/// sum is off by at most half a unit in the last place, 2^-53, and the root halves the difference of two sums.
MDIST_TEST_HELPER double norm_tolerance(const Trial *self) {
    double elements = 0;
    for (size_t g = 0; g < self->model.count; ++g) elements += (double)self->model.like[g].shape[0];
    return (elements + 4) * 0x1p-53;
}

/// How far an element may be from the exact product with the factor, relatively: the factor and the product are rounded
/// to the element's type, and the quotient in the factor may be off as much as the norm.
MDIST_TEST_HELPER double scale_tolerance(const Trial *self, int32_t dtype) {
    const double half_unit = dtype == MDIST_FLOAT64   ? 0x1p-53
                             : dtype == MDIST_FLOAT32 ? 0x1p-24
                             : dtype == MDIST_FLOAT16 ? 0x1p-11
                                                      : 0x1p-8;
    return 3 * half_unit + norm_tolerance(self);
}

/// Limits, as multiples of the norm: far from it, and near it on both sides.
static const double clip_ratios[] = {0.5, 0.99, 1.01, 1.5, 2};
enum { CLIP_RATIOS = sizeof clip_ratios / sizeof *clip_ratios };

// ---- Compares.

MDIST_TEST_HELPER int is_expected(const Trial *self, const mdist_tensor_t *tensor, size_t g) {
    const int32_t dtype = tensor->dtype;
    if (self->clip_norm == 0 || self->norm <= self->clip_norm)
        return memcmp(tensor->data, self->sums[g], tensor->shape[0] * size_of(dtype)) == 0;
    const double tolerance = scale_tolerance(self, dtype);
    const double least = dtype == MDIST_FLOAT16 ? 0x1p-25 : 0; // half the distance of subnormal numbers
    int fits = 1;
    for (uint64_t i = 0; i < tensor->shape[0]; ++i) {
        const double wanted = read_element(self->sums[g], dtype, i) * (self->clip_norm / self->norm);
        fits = fits && fabs(read_element(tensor->data, dtype, i) - wanted) <= fabs(wanted) * tolerance + least;
    }
    return fits;
}

/// Whether all replicas have the same bits, of the norm and of all gradients: `bits` is a hash of this replica's.
MDIST_TEST_HELPER int32_t compare_with_others(mdist_replica_t *replica, Trial *self, uint64_t bits) {
    const uint32_t local = mdist_replica_local_index(replica), replicas = mdist_replica_count(replica);
    uint64_t all[MOST_REPLICAS];
    const mdist_buffer_t own = buffer_of(&bits, MDIST_UINT64, 1), gathered = buffer_of(all, MDIST_UINT64, replicas);
    DO(mdist_all_gather(replica, &own, &gathered, 1, NULL, error_out));
    for (uint32_t r = 0; r < replicas; ++r)
        if (all[r] != bits)
            snprintf(self->notes[local].text, sizeof self->notes[local].text, "replica %u has other bits", (unsigned)r);
    return self->notes[local].text[0] != '\0';
}

/// Compares what a replica's last round gave with what must come.
MDIST_TEST_HELPER int32_t compare(mdist_replica_t *replica, void *user_data) {
    Trial *const self = (Trial *)user_data;
    const uint32_t local = mdist_replica_local_index(replica);
    Note *const told = &self->notes[local];
    uint64_t bits = 0;
    memcpy(&bits, &self->norms[local], sizeof bits);
    if (!(fabs(self->norms[local] - self->norm) <= norm_tolerance(self) * self->norm) || self->finite[local] != 1)
        snprintf(told->text, sizeof told->text, "norm %.17g, not %.17g; finite %d", self->norms[local], self->norm,
                 self->finite[local]);
    for (size_t g = 0; g < self->model.count; ++g) {
        mdist_tensor_t tensor;
        DO(mdist_gradients_tensor(self->gradients, local, g, &tensor, error_out));
        if (told->text[0] == '\0' && !is_expected(self, &tensor, g))
            snprintf(told->text, sizeof told->text, "gradient %zu of %zu is wrong; norm %g, limit %g", g,
                     self->model.count, self->norm, self->clip_norm);
        const unsigned char *const bytes = (const unsigned char *)tensor.data;
        for (uint64_t i = 0; i < tensor.shape[0] * size_of(tensor.dtype); ++i) bits = bits * 0x100000001b3 ^ bytes[i];
    }
    return compare_with_others(replica, self, bits);
}

/// Does all rounds in one step, and compares.
MDIST_TEST_HELPER int32_t trial_step(mdist_replica_t *replica, void *user_data) {
    Trial *const self = (Trial *)user_data;
    for (int round = 0; round < self->rounds; ++round)
        if (play_round(replica, self, round) != 0) return 1;
    return compare(replica, self);
}
