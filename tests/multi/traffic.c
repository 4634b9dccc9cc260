// SPDX-License-Identifier: Apache-2.0
#include "traffic.h"
#include "started.h"

#include "moments.h"

#include <signal.h>
#include <unistd.h>

typedef enum Kind { ALL_REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, BARRIER, KINDS } Kind;

enum { MOST_PART = 40000 };

typedef struct Operation {
    Kind kind;
    uint32_t number, root;
    uint64_t part, whole; // elements
} Operation;

/// What one replica works with: its id and its memory.
typedef struct Place {
    mdist_replica_t *replica;
    uint32_t id, count;
    float *in, *out;
} Place;

static Operation operation_of(const Traffic *traffic, uint32_t number, uint32_t replicas) {
    static const uint64_t parts[] = {1, 60, 1500, MOST_PART};
    uint64_t x = (traffic->seed * 1000003u + number + 1) * 6364136223846793005u;
    x ^= x >> 29;
    x *= 0x9e3779b97f4a7c15u;
    Operation operation = {.kind = (Kind)((x >> 20) % KINDS), .number = number, .root = (uint32_t)(x >> 32) % replicas};
    operation.part = parts[(x >> 40) % 4];
    operation.whole = operation.part * replicas;
    return operation;
}

/// Whole numbers, small enough that sums are exact.
static float value(const Operation *operation, uint32_t id, uint64_t i) {
    return (float)((id + 1) * (1 + operation->number % 5) + i % 3);
}

static float sum(const Operation *operation, uint32_t replicas, uint64_t i) {
    return (float)(replicas * (replicas + 1) / 2 * (1 + operation->number % 5) + replicas * (i % 3));
}

static float expected(const Operation *operation, const Place *place, uint64_t i) {
    switch (operation->kind) {
        case ALL_REDUCE:
            return sum(operation, place->count, i);
        case BROADCAST:
            return value(operation, operation->root, i);
        case ALL_GATHER:
            return value(operation, (uint32_t)(i / operation->part), i % operation->part);
        case REDUCE_SCATTER:
            return sum(operation, place->count, place->id * operation->part + i);
        default:
            return value(operation, (uint32_t)(i / operation->part), place->id * operation->part + i % operation->part);
    }
}

static mdist_status_t call(const Operation *operation, mdist_replica_t *replica, const mdist_buffer_t *in,
                           const mdist_buffer_t *out) {
    switch (operation->kind) {
        case ALL_REDUCE:
            return mdist_all_reduce(replica, MDIST_SUM, in, out, 1, NULL, NULL);
        case BROADCAST:
            return mdist_broadcast(replica, operation->root, out, 1, NULL, NULL);
        case ALL_GATHER:
            return mdist_all_gather(replica, in, out, 1, NULL, NULL);
        case REDUCE_SCATTER:
            return mdist_reduce_scatter(replica, MDIST_SUM, in, out, 1, NULL, NULL);
        case ALL_TO_ALL:
            return mdist_all_to_all(replica, in, out, 1, NULL, NULL);
        default:
            return mdist_barrier(replica, NULL, NULL);
    }
}

static mdist_status_t start(const Operation *operation, mdist_replica_t *replica, const mdist_buffer_t *in,
                            const mdist_buffer_t *out, mdist_work_t **work) {
    switch (operation->kind) {
        case ALL_REDUCE:
            return start_all_reduce(replica, MDIST_SUM, in, out, 1, work, NULL, NULL);
        case BROADCAST:
            return start_broadcast(replica, operation->root, out, 1, work, NULL, NULL);
        case ALL_GATHER:
            return start_all_gather(replica, in, out, 1, work, NULL, NULL);
        case REDUCE_SCATTER:
            return start_reduce_scatter(replica, MDIST_SUM, in, out, 1, work, NULL, NULL);
        case ALL_TO_ALL:
            return start_all_to_all(replica, in, out, 1, work, NULL, NULL);
        default:
            return start_barrier(replica, work, NULL, NULL);
    }
}

static mdist_status_t start_and_wait(const Operation *operation, mdist_replica_t *replica, const mdist_buffer_t *in,
                                     const mdist_buffer_t *out) {
    mdist_work_t *work = NULL;
    int32_t done = 0;
    mdist_status_t status = start(operation, replica, in, out, &work);
    if (status == MDIST_OK) status = mdist_work_test(work, &done, NULL);
    if (status == MDIST_OK && !done) status = mdist_work_wait(work, MDIST_FOREVER, &done, NULL);
    mdist_work_destroy(work);
    return status == MDIST_OK && !done ? MDIST_ERR_INTERNAL : status;
}

/// Performs an operation. Returns 1 if it failed, 2 if the result is wrong.
static int32_t perform(const Traffic *traffic, const Operation *operation, const Place *place) {
    const uint64_t ins = operation->kind == ALL_GATHER ? operation->part : operation->whole;
    const uint64_t outs = operation->kind == REDUCE_SCATTER ? operation->part : operation->whole;
    for (uint64_t i = 0; i < ins; ++i) place->in[i] = value(operation, place->id, i);
    for (uint64_t i = 0; i < outs; ++i) place->out[i] = operation->kind == BROADCAST ? place->in[i] : -1;
    const mdist_buffer_t in = buffer_of(place->in, MDIST_FLOAT32, ins),
                         out = buffer_of(place->out, MDIST_FLOAT32, outs);
    const mdist_status_t status = (traffic->started ? start_and_wait : call)(operation, place->replica, &in, &out);
    if (status != MDIST_OK) return 1;
    for (uint64_t i = 0; operation->kind != BARRIER && i < outs; ++i)
        if (place->out[i] != expected(operation, place, i)) return 2;
    return 0;
}

static void strike(void *data) {
    const Traffic *traffic = data;
    kill(getpid(), traffic->signal);
}

int strike_later(Traffic *traffic) {
    return at_moment(traffic->moment, strike, traffic, NULL) >= 0;
}

int32_t traffic_step(mdist_replica_t *replica, void *user_data) {
    Traffic *traffic = user_data;
    Place place = {replica, mdist_replica_id(replica), mdist_replica_count(replica), NULL, NULL};
    place.in = malloc(sizeof(float) * MOST_PART * place.count);
    place.out = malloc(sizeof(float) * MOST_PART * place.count);
    int32_t result = place.in == NULL || place.out == NULL ? 3 : 0;
    for (uint32_t i = 0; result == 0 && (traffic->operations == 0 || i < traffic->operations); ++i) {
        const Operation operation = operation_of(traffic, i, place.count);
        result = perform(traffic, &operation, &place);
        const int struck = traffic->signal != 0 && rank == victim && mdist_replica_local_index(replica) == 0 && i == 1;
        if (struck && !strike_later(traffic)) result = 4;
    }
    if (result == 2) traffic->wrong = 1;
    free(place.in);
    free(place.out);
    return result;
}
