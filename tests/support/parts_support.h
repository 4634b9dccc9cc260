// SPDX-License-Identifier: Apache-2.0
// Random all-to-alls of parts. Every length and every byte follows from the seed and from who gives what to whom, so
// each replica knows what must come, and the test needs no other collective.
#pragma once

#include "mdist_test.h"
#include "started.h"

enum { PART_CALLS = 12, PART_BUFFERS = 3, PART_REPLICAS = 9 };

typedef struct Parts {
    uint64_t seed;
    uint64_t longest;
    mdist_group_t *group;      // NULL: all replicas. Else all of them, last first
    Note notes[PART_REPLICAS]; // by local replica
} Parts;

/// What one replica passes to one call.
typedef struct PartsCall {
    size_t buffers;
    uint64_t given[PART_BUFFERS * PART_REPLICAS], taken[PART_BUFFERS * PART_REPLICAS];
    mdist_buffer_t inputs[PART_BUFFERS], outputs[PART_BUFFERS];
} PartsCall;

MDIST_TEST_HELPER mdist_group_t *last_first(mdist_strategy_t *strategy) {
    uint32_t list[PART_REPLICAS];
    const uint32_t n = mdist_strategy_replica_count(strategy);
    mdist_group_t *group = NULL;
    for (uint32_t i = 0; i < n; ++i) list[i] = n - 1 - i;
    return mdist_group_create(strategy, list, n, &group, NULL) == MDIST_OK ? group : NULL;
}

MDIST_TEST_HELPER uint64_t parts_key(const Parts *self, int call, size_t b, uint32_t from, uint32_t to) {
    return mixed_pair(mixed_pair(self->seed, (uint64_t)call * 8 + b), from * 1000u + to);
}

MDIST_TEST_HELPER uint64_t part_length(const Parts *self, int call, size_t b, uint32_t from, uint32_t to) {
    const uint64_t key = parts_key(self, call, b, from, to);
    return key % 3 == 0 ? 0 : (key >> 8) % (key % 3 == 1 ? 10 : self->longest);
}

MDIST_TEST_HELPER void part_bytes(const Parts *self, int call, size_t b, uint32_t from, uint32_t to, size_t bytes,
                                  char *out) {
    uint64_t x = parts_key(self, call, b, from, to);
    for (size_t i = 0; i < bytes; ++i) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        out[i] = (char)(x >> 33);
    }
}

MDIST_TEST_HELPER void make_parts_call(const Parts *self, int call, uint32_t id, uint32_t n, PartsCall *out) {
    const uint64_t random = mixed_pair(self->seed, 77u + (uint64_t)call);
    out->buffers = random % (PART_BUFFERS + 1);
    for (size_t b = 0; b < out->buffers; ++b) {
        const mdist_dtype_t dtype = (mdist_dtype_t)(1 + (random >> (8 * b + 8)) % MDIST_BOOL); // the last
        const size_t size = mdist_dtype_size(dtype);
        uint64_t in = 0, taken = 0;
        for (uint32_t other = 0; other < n; ++other) {
            in += out->given[b * n + other] = part_length(self, call, b, id, other);
            taken += out->taken[b * n + other] = part_length(self, call, b, other, id);
        }
        out->inputs[b] = buffer_of(malloc(in * size + 1), dtype, in);
        out->outputs[b] = buffer_of(malloc(taken * size + 1), dtype, taken);
        memset(out->outputs[b].data, 0xa5, taken * size + 1);
        char *at = (char *)out->inputs[b].data;
        for (uint32_t to = 0; to < n; ++to) {
            part_bytes(self, call, b, id, to, out->given[b * n + to] * size, at);
            at += out->given[b * n + to] * size;
        }
    }
}

/// Whether the outputs are right, and the byte behind each is as it was. Frees all.
MDIST_TEST_HELPER int check_parts_call(const Parts *self, int call, uint32_t id, uint32_t n, PartsCall *done) {
    int right = 1;
    for (size_t b = 0; b < done->buffers; ++b) {
        const size_t size = mdist_dtype_size((mdist_dtype_t)done->outputs[b].dtype);
        const size_t bytes = done->outputs[b].elements * size;
        char *const expected = (char *)malloc(bytes + 1), *at = expected;
        for (uint32_t from = 0; from < n; ++from) {
            part_bytes(self, call, b, from, id, part_length(self, call, b, from, id) * size, at);
            at += part_length(self, call, b, from, id) * size;
        }
        *at = (char)0xa5;
        right = right && memcmp(expected, done->outputs[b].data, bytes + 1) == 0;
        free(expected);
        free(done->inputs[b].data);
        free(done->outputs[b].data);
    }
    return right;
}

/// Makes PART_CALLS calls. Some replicas start what others call in the blocking form.
MDIST_TEST_HELPER int32_t parts_step(mdist_replica_t *replica, void *user_data) {
    Parts *const self = (Parts *)user_data;
    const uint32_t n = mdist_replica_count(replica);
    const uint32_t id = self->group != NULL ? n - 1 - mdist_replica_id(replica) : mdist_replica_id(replica);
    const mdist_call_options_t options = {.struct_size = sizeof options, .group = self->group};
    Note *const told = &self->notes[mdist_replica_local_index(replica)];
    for (int call = 0; call < PART_CALLS; ++call) {
        PartsCall own;
        mdist_error_t *error = NULL;
        mdist_work_t *work = NULL;
        int32_t done = 0;
        make_parts_call(self, call, id, n, &own);
        const int starts = mixed_pair(self->seed, (uint64_t)call * 100 + id) % 2 == 0;
        mdist_status_t status = starts ? start_all_to_all_parts(replica, own.inputs, own.given, own.outputs, own.taken,
                                                                own.buffers, &work, &options, &error)
                                       : mdist_all_to_all_parts(replica, own.inputs, own.given, own.outputs, own.taken,
                                                                own.buffers, &options, &error);
        memset(own.given, 0xff, sizeof own.given); // the library has copied them, or needs them no more
        memset(own.taken, 0xff, sizeof own.taken);
        if (starts && status == MDIST_OK) status = mdist_work_wait(work, MDIST_FOREVER, &done, &error);
        mdist_work_destroy(work);
        const int right = check_parts_call(self, call, id, n, &own);
        if (note(told, MDIST_OK, status, &error, "all_to_all_parts") != 0) return 1;
        if (right) continue;
        snprintf(told->text, sizeof told->text, "call %d has wrong bytes", call);
        return 1;
    }
    return 0;
}

/// Replica 1 gives replica 0 one element more than that one takes. All must hear of it before any byte moves.
MDIST_TEST_HELPER int32_t parts_mismatch_step(mdist_replica_t *replica, void *user_data) {
    Parts *const self = (Parts *)user_data;
    const uint32_t id = mdist_replica_id(replica), n = mdist_replica_count(replica);
    Note *const told = &self->notes[mdist_replica_local_index(replica)];
    uint64_t given[PART_REPLICAS], taken[PART_REPLICAS];
    int32_t in[3 * PART_REPLICAS + 1] = {0}, out[3 * PART_REPLICAS];
    memset(out, 0x55, sizeof out);
    for (uint32_t other = 0; other < n; ++other) {
        given[other] = id == 1 && other == 0 ? 4 : 3;
        taken[other] = 3;
    }
    const mdist_buffer_t input = buffer_of(in, MDIST_INT32, 3 * n + (id == 1)),
                         output = buffer_of(out, MDIST_INT32, 3 * n);
    mdist_error_t *error = NULL;
    const mdist_status_t status = mdist_all_to_all_parts(replica, &input, given, &output, taken, 1, NULL, &error);
    const char *const words = "replica 1 gives 4 elements of input 0 to replica 0, which takes 3 from it";
    if (status != MDIST_ERR_MISMATCH || strstr(mdist_error_message(error), words) == NULL)
        snprintf(told->text, sizeof told->text, "%s: %s", mdist_status_name(status), mdist_error_message(error));
    for (uint32_t i = 0; i < 3 * n; ++i)
        if (out[i] != 0x55555555) snprintf(told->text, sizeof told->text, "a byte has moved");
    mdist_error_free(error);
    return status != MDIST_OK;
}
