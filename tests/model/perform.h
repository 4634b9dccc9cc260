// SPDX-License-Identifier: Apache-2.0
// Performs programs with the library, through its public API. After every operation it compares the status, the results
// and every variable's copies with the model. It reports the first difference. Steps run on several threads, so nothing
// here asserts.
#pragma once

#include "program.h"

#include <pthread.h>
#include <stdatomic.h>

/// The number of operands of one operation.
enum { SLOTS = 4 };

typedef struct Performance {
    mdist_strategy_t *strategy;
    const Program *program;
    uint32_t first, locals; // replica id of local replica 0, and the number of local replicas
    // By local replica (places.h):
    int32_t gpus[MOST_REPLICAS]; // -1: on the CPU
    void *gpu_memory[MOST_REPLICAS];
    char devices[MOST_REPLICAS][16];
    // By local replica, since each has its own handle to a variable that was created in a step.
    mdist_variable_t *variables[MOST_REPLICAS][MOST_VARIABLES];
    mdist_group_t *groups[MOST_GROUPS];
    atomic_int differs;
    pthread_mutex_t mutex;
    const Operation *where; // the first operation that differed
    char what[1024];
} Performance;

/// Performs a program that the model has evaluated. Returns 0 if nothing differs; otherwise sets `where` and `what`.
int perform_program(Performance *self, mdist_strategy_t *strategy, const Program *program);

// ---- Shared by the parts of the performance.

/// The registers of a block in cross-replica context. The block owns the handles.
typedef struct Registers {
    mdist_value_t *values[REGISTERS];
} Registers;

/// The bytes of a tensor, as the library takes them.
typedef struct Bytes {
    _Alignas(16) char bytes[MOST_ELEMENTS * sizeof(Number)];
} Bytes;

mdist_tensor_t fill(const Tensor *tensor, Bytes *bytes);
mdist_tensor_t describe(const Tensor *tensor, void *data);

/// Notes a difference, unless one is noted already.
void note_difference(Performance *self, const Operation *operation, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/// Checks that status and error are as wanted. Frees the error.
int expect_status(Performance *self, const Operation *operation, const char *what, mdist_status_t wanted,
                  mdist_status_t given, mdist_error_t *error);
void expect_tensor(Performance *self, const Operation *operation, const char *what, const Tensor *wanted,
                   const mdist_tensor_t *given);
/// Checks all variables' copies of one local replica.
void expect_copies(Performance *self, const Operation *operation, uint32_t local);

/// Performs a block in cross-replica context. Returns the number that a merge function is to return.
int32_t perform_block(Performance *self, const Block *block, Registers *registers, mdist_replica_t *replica);
/// Performs a RUN. The caller owns its results.
mdist_status_t perform_run(Performance *self, const Operation *operation, mdist_value_t *const *arguments,
                           mdist_value_t **results, mdist_error_t **error);
