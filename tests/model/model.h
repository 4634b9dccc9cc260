// SPDX-License-Identifier: Apache-2.0
// The model: computes from the documented semantics what each operation of a program gives. It works on one thread, one
// replica after another. It shares nothing with the library but the numbers of its types.
//
// For each operation it computes:
// - the status, for each replica if the operation is part of a step;
// - the results, if the status is MDIST_OK;
// - all copies of all variables afterwards.
// A failure changes nothing. If replicas had to do the operation together, it ends the step and fails the run. In a job
// of several workers it ends the job. An operation is skipped if it would end the job, if its registers are empty, or
// if its result would be too large for a program.
#pragma once

#include "program.h"

typedef struct Variable {
    int there;
    int synchronization, aggregation;
    Tensor copies[MOST_REPLICAS];
} Variable;

typedef struct Model {
    Layout layout;
    uint32_t workers, replicas;
    const Members *groups; // the program's
    int group_count;
    Variable variables[MOST_VARIABLES];
} Model;

/// Used in place of a status: skip the operation.
enum { SKIP = 1000 };

void begin_model(Model *model, const Program *program);
/// Computes what `operation` gives at this point of `block`, and changes model and block accordingly. Returns 0 if the
/// operation is skipped and nothing has changed. For a RUN or MERGE it opens the operation's block. Evaluate the
/// operations in there, then call close_block().
int evaluate(Model *model, Block *block, Operation *operation);
int opens_block(const Operation *operation);
/// Computes what the whole RUN or MERGE gives, after all operations of its block.
void close_block(Model *model, Block *block, Operation *operation);
/// Evaluates a whole program.
void evaluate_program(Program *program);

// ---- The rules, by subject. Each returns a status or SKIP, and changes nothing unless it returns MDIST_OK.

/// Reduces what all replicas pass to a collective of a step.
Tensor reduce_in_step(const Model *model, int op, const Tensor *tensors);
/// Who takes part in a collective of a step, in the order of the collective. Others keep what they have.
Members members_of(const Model *model, const Operation *operation);
int is_member(const Members *members, uint32_t replica);
/// Whether results of this kind have one dimension, whatever the inputs have.
int is_flat(Kind kind);
/// Whether a message goes from this replica to itself.
int sends_to_itself(const Operation *operation, uint32_t replica);
int reduce_value(const Model *model, int op, const Value *value, const Operation *axes, int everywhere, Value *out);
int gather_value(const Model *model, const Value *value, int32_t axis, Value *out);
int fetch_value(const Model *model, const Operation *operation, const Value *value, Value *out);
int structure_values(const Value *values, const char *const *paths, int count, Value *out);
int value_at(const Value *value, const char *path, Value *out);
int value_rows(const Model *model, const Value *indices, const Value *values, Value *out);
/// whole_tensors(): UNSUPPORTED if the value holds rows. no_structure(): INVALID_ARGUMENT for a structure. Otherwise
/// both return MDIST_OK.
int whole_tensors(const Value *value);
int no_structure(const Value *value);
/// Finds the leaf of `value` at `path`. Returns MDIST_OK if the path leads to one tensor.
int leaf_at(const Value *value, const char *path, int *leaf);
int paths_make_a_tree(const Value *value);
void sort_leaves(Value *value);
int check_destination(const Model *model, const char *destination);
/// INVALID_ARGUMENT for a number that is no operation, and for MEAN of integers.
int check_reduce_op(int op, int32_t dtype);
/// INVALID_ARGUMENT unless the two fit together as indices and rows.
int check_rows_alike(const Tensor *indices, const Tensor *rows);

int create_variable(const Model *model, const Operation *operation, int initial_replica, Variable *out);
int assign_variable(const Model *model, const Variable *variable, int assign, const Value *value, Variable *out);
/// Assigns to one copy in an update function, without regard to the others.
int assign_copy(const Variable *variable, uint32_t replica, int assign, const Value *value, Tensor *out);
int read_variable(const Model *model, const Variable *variable, Value *out);
/// Assigns in a step. Sets a status for each replica.
void assign_in_step(const Model *model, const Variable *variable, int assign, const Leaf *tensors, int *statuses,
                    Variable *out);
void assign_rows_in_step(const Model *model, const Variable *variable, int assign, const Leaf *indices,
                         const Leaf *rows, int *statuses, Variable *out);
/// Tells whether replicas write to it together in a step.
int written_together(const Variable *variable);

/// Evaluates an operation of a step, and sets its status for each replica. Returns SKIP, MDIST_OK if the step goes on,
/// or the status that the run fails with.
int evaluate_in_step(Model *model, Block *block, Operation *operation);
void close_merge(Model *model, Block *block, Operation *operation);
void close_run(Model *model, Operation *operation);
