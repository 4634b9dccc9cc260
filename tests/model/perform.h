// SPDX-License-Identifier: Apache-2.0
// Programs performed by the library, through its public API, and compared with the model after every operation: the
// status, what came out, and every variable's copies. The first difference counts. Steps run on several threads, so
// nothing here asserts.
#pragma once

#include "program.h"

#include <pthread.h>
#include <stdatomic.h>

/// Operands of one operation.
enum { SLOTS = 4 };

typedef struct Performance {
    mdist_strategy_t *strategy;
    const Program *program;
    uint32_t first; // replica id of local replica 0
    // By local replica (places.h):
    int32_t gpus[MOST_REPLICAS]; // -1: on the CPU
    void *gpu_memory[MOST_REPLICAS];
    char devices[MOST_REPLICAS][16];
    // By local replica, since each has a handle of its own to what was created in a step.
    mdist_variable_t *variables[MOST_REPLICAS][MOST_VARIABLES];
    atomic_int differs;
    pthread_mutex_t mutex;
    const Operation *where; // the operation that first differed
    char what[1024];
} Performance;

/// Performs a program that the model has gone through. 0 if nothing differs; else `where` and `what` tell.
int perform_program(Performance *self, mdist_strategy_t *strategy, const Program *program);

// ---- Between its parts.

/// Registers of a block in cross-replica context; the handles are the block's.
typedef struct Registers {
    mdist_value_t *values[REGISTERS];
} Registers;

/// A tensor in memory, as the library takes it.
typedef struct Bytes {
    _Alignas(16) char bytes[MOST_ELEMENTS * sizeof(Number)];
} Bytes;

mdist_tensor_t fill(const Tensor *tensor, Bytes *bytes);
mdist_tensor_t describe(const Tensor *tensor, void *data);

/// Notes a difference, unless there is one.
void note_difference(Performance *self, const Operation *operation, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/// Both are as wanted; frees the error.
int expect_status(Performance *self, const Operation *operation, const char *what, mdist_status_t wanted,
                  mdist_status_t given, mdist_error_t *error);
void expect_tensor(Performance *self, const Operation *operation, const char *what, const Tensor *wanted,
                   const mdist_tensor_t *given);
/// The copies of one local replica.
void expect_copies(Performance *self, const Operation *operation, uint32_t local);

/// Performs a block in cross-replica context; the number that a merge function returns.
int32_t perform_block(Performance *self, const Block *block, Registers *registers, mdist_replica_t *replica);
/// Performs a RUN; its results are the caller's.
mdist_status_t perform_run(Performance *self, const Operation *operation, mdist_value_t *const *arguments,
                           mdist_value_t **results, mdist_error_t **error);
