// SPDX-License-Identifier: Apache-2.0
// Runs rounds of gradients whose every element can be computed, and compares the result with a plain all-reduce.
#pragma once

#include "mdist_test.h"

#include <math.h>

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
    memset((void *)self->blocks, 0, sizeof self->blocks);
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
    DO(mdist_gradients_wait(replica, self->gradients, &self->norms[local], &self->finite[local], error_out));
    return 0;
}

/// Adds up this replica's rounds, one by one. Several rounds only come with float32 and float64.
MDIST_TEST_HELPER void add_up(const Trial *self, void *sum, uint32_t replica, size_t index) {
    const mdist_tensor_t *like = &self->model.like[index];
    for (uint64_t i = 0; i < like->shape[0]; ++i) {
        char *const to = (char *)sum + i * size_of(like->dtype);
        float *const single = (float *)(void *)to, one = 0;
        double *const twice = (double *)(void *)to, other = 0;
        write_element(self, to, like->dtype, replica, 0, index, i);
        for (int round = 1; round < self->rounds; ++round) {
            const int is_single = like->dtype == MDIST_FLOAT32;
            write_element(self, is_single ? (void *)&one : (void *)&other, like->dtype, replica, round, index, i);
            if (is_single)
                *single += one;
            else
                *twice += other;
        }
        if (self->op == MDIST_MEAN && self->rounds > 1 && like->dtype == MDIST_FLOAT32) *single /= (float)self->rounds;
        if (self->op == MDIST_MEAN && self->rounds > 1 && like->dtype == MDIST_FLOAT64) *twice /= self->rounds;
    }
}

/// Reduces the same without buckets: one all-reduce of all gradients.
MDIST_TEST_HELPER int32_t reduce_plainly(mdist_replica_t *replica, Trial *self, void *const *memory) {
    mdist_buffer_t buffers[MOST_GRADIENTS];
    for (size_t i = 0; i < self->model.count; ++i) {
        const mdist_tensor_t *like = &self->model.like[i];
        add_up(self, memory[i], mdist_replica_id(replica), i);
        buffers[i] = buffer_of(memory[i], (mdist_dtype_t)like->dtype, like->shape[0]);
    }
    DO(mdist_all_reduce(replica, self->op, buffers, buffers, self->model.count, NULL, error_out));
    return 0;
}

MDIST_TEST_HELPER double plain_norm(const Trial *self, void *const *memory) {
    double sum = 0;
    for (size_t g = 0; g < self->model.count; ++g)
        for (uint64_t i = 0; i < self->model.like[g].shape[0]; ++i) {
            const double element = read_element(memory[g], self->model.like[g].dtype, i);
            sum += element * element;
        }
    return sqrt(sum);
}

MDIST_TEST_HELPER void clip_plainly(const Trial *self, void *const *memory, double norm) {
    if (self->clip_norm == 0 || norm <= self->clip_norm) return;
    for (size_t g = 0; g < self->model.count; ++g)
        for (uint64_t i = 0; i < self->model.like[g].shape[0]; ++i) {
            if (self->model.like[g].dtype == MDIST_FLOAT32)
                ((float *)memory[g])[i] *= (float)(self->clip_norm / norm);
            else
                ((double *)memory[g])[i] *= self->clip_norm / norm;
        }
}

MDIST_TEST_HELPER int32_t compare(mdist_replica_t *replica, Trial *self, void *const *memory) {
    const uint32_t local = mdist_replica_local_index(replica);
    Note *const told = &self->notes[local];
    for (size_t g = 0; g < self->model.count; ++g) {
        const mdist_tensor_t *like = &self->model.like[g];
        mdist_tensor_t tensor;
        DO(mdist_gradients_tensor(self->gradients, local, g, &tensor, error_out));
        if (memcmp(tensor.data, memory[g], like->shape[0] * size_of(like->dtype)) == 0) continue;
        snprintf(told->text, sizeof told->text, "gradient %zu of %zu has other bits", g, self->model.count);
        return 1;
    }
    return 0;
}

MDIST_TEST_HELPER int32_t compare_with_plain(mdist_replica_t *replica, Trial *self, void *const *memory) {
    const uint32_t local = mdist_replica_local_index(replica);
    if (reduce_plainly(replica, self, memory) != 0) return 1;
    const double norm = plain_norm(self, memory);
    if (!(fabs(self->norms[local] - norm) <= 1e-12 * norm) || self->finite[local] != 1) {
        snprintf(self->notes[local].text, sizeof self->notes[local].text, "norm %.17g, not %.17g; finite %d",
                 self->norms[local], norm, self->finite[local]);
        return 1;
    }
    clip_plainly(self, memory, self->norms[local]);
    return compare(replica, self, memory);
}

/// Does all rounds in one step, then the same by plain means, and compares.
MDIST_TEST_HELPER int32_t trial_step(mdist_replica_t *replica, void *user_data) {
    Trial *const self = (Trial *)user_data;
    for (int round = 0; round < self->rounds; ++round)
        if (play_round(replica, self, round) != 0) return 1;
    void *memory[MOST_GRADIENTS];
    for (size_t g = 0; g < self->model.count; ++g) memory[g] = malloc(sizeof(double) * MOST_ELEMENTS);
    const int32_t code = compare_with_plain(replica, self, memory);
    for (size_t g = 0; g < self->model.count; ++g) free(memory[g]);
    return code;
}
