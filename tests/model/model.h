// SPDX-License-Identifier: Apache-2.0
// The model: what the documented semantics say that each operation of a program gives, one replica after another on
// one thread. It shares nothing with the library but the numbers of its types.
//
// What it says of an operation: the status, for each replica where it is one of a step; what comes out if that is
// MDIST_OK; and all copies of all variables afterwards. A failure changes nothing, but ends the step and fails the run
// where replicas had to do it together. In a job of several workers it ends the job, so that such an operation is
// skipped there. So is one whose registers are empty, or whose result would be larger than programs are to have.
#pragma once

#include "program.h"

typedef struct Variable {
    int there;
    int synchronization, aggregation;
    Tensor copies[MOST_REPLICAS];
} Variable;

typedef struct Model {
    uint32_t workers, locals, replicas;
    Variable variables[MOST_VARIABLES];
} Model;

/// Instead of a status: the operation is to be skipped.
enum { SKIP = 1000 };

void begin_model(Model *model, uint32_t workers, uint32_t locals);
/// Says what `operation` gives where `block` stands, and changes model and block accordingly; 0 if it is skipped, and
/// nothing has changed. Of a RUN or MERGE it opens the block, which is to be gone through, and then closed.
int evaluate(Model *model, Block *block, Operation *operation);
int opens_block(const Operation *operation);
/// Says what the whole RUN or MERGE gives, when its block has been gone through.
void close_block(Model *model, Block *block, Operation *operation);
/// Goes through a whole program.
void evaluate_program(Program *program);

// ---- The rules, by what they are about. Each gives a status, or SKIP, and changes nothing unless that is MDIST_OK.

int reduce_value(const Model *model, int op, const Value *value, const Operation *axes, int everywhere, Value *out);
int gather_value(const Model *model, const Value *value, int32_t axis, Value *out);
int fetch_value(const Model *model, const Operation *operation, const Value *value, Value *out);
int structure_values(const Value *values, const char *const *paths, int count, Value *out);
int value_at(const Value *value, const char *path, Value *out);
int value_rows(const Model *model, const Value *indices, const Value *values, Value *out);
/// MDIST_OK, or what a call that takes whole tensors says of rows, and one that takes no structure of structures.
int whole_tensors(const Value *value);
int no_structure(const Value *value);
/// Whether `path` leads to one tensor of `value`: MDIST_OK and which leaf.
int leaf_at(const Value *value, const char *path, int *leaf);
int paths_make_a_tree(const Value *value);
void sort_leaves(Value *value);
/// What replicas of one worker have, as the library gives it out: plain if it is one.
mdist_value_kind_t own_kind(const Model *model);
int check_destination(const Model *model, const char *destination);
/// INVALID_ARGUMENT for what is no operation, and for MEAN of integers.
int check_reduce_op(int op, int32_t dtype);
/// INVALID_ARGUMENT unless the two go together as rows.
int check_rows_alike(const Tensor *indices, const Tensor *rows);

int create_variable(const Model *model, const Operation *operation, int initial_replica, Variable *out);
int assign_variable(const Model *model, const Variable *variable, int assign, const Value *value, Variable *out);
/// In an update function: one copy, without regard to the others.
int assign_copy(const Variable *variable, uint32_t replica, int assign, const Value *value, Tensor *out);
int read_variable(const Model *model, const Variable *variable, Value *out);
/// In a step: a status for each replica.
void assign_in_step(const Model *model, const Variable *variable, int assign, const Leaf *tensors, int *statuses,
                    Variable *out);
void assign_rows_in_step(const Model *model, const Variable *variable, int assign, const Leaf *indices,
                         const Leaf *rows, int *statuses, Variable *out);
/// Whether replicas write to it together in a step.
int written_together(const Variable *variable);

/// An operation of a step: statuses by replica into the operation. SKIP, or MDIST_OK if all goes on, or the status that
/// the run fails with.
int evaluate_in_step(Model *model, Block *block, Operation *operation);
void close_merge(Model *model, Block *block, Operation *operation);
void close_run(Model *model, Operation *operation);
