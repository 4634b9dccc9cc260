// SPDX-License-Identifier: Apache-2.0
// The rules of variables, by synchronization x aggregation.
//
//                           a write in a step goes to                         a write outside of steps
//   ON_WRITE, NONE          the replica's own copy                            each copy gets its own tensor
//   ON_WRITE, SUM or MEAN   every copy: the tensors of all replicas reduced   each copy gets its own tensor
//   ON_WRITE, ONLY_FIRST    every copy: the tensor of replica 0               each copy gets its own tensor
//   ON_READ                 the replica's own copy                            the same; with SUM, its N-th part
//
// Reading outside of steps gives the worker's first copy of ON_WRITE variables. An ON_READ variable with SUM or MEAN
// gives the aggregate of all copies, with ONLY_FIRST that of replica 0; with NONE it cannot be read.
#include "model.h"

static int invalid_unless(int condition) {
    return condition ? MDIST_OK : MDIST_ERR_INVALID_ARGUMENT;
}

int written_together(const Variable *variable) {
    return variable->synchronization != MDIST_SYNC_ON_READ && variable->aggregation != MDIST_AGGREGATION_NONE;
}

/// Creates a variable. Every copy begins with the initial value of one replica: the chief's first or, in a step,
/// replica 0.
int create_variable(const Model *model, const Operation *operation, int initial_replica, Variable *out) {
    const Tensor *const initial = &operation->literal.leaves[0].tensors[initial_replica];
    if (operation->synchronization < MDIST_SYNC_AUTO || operation->synchronization > MDIST_SYNC_ON_READ)
        return MDIST_ERR_INVALID_ARGUMENT;
    if (operation->aggregation < MDIST_AGGREGATION_NONE ||
        operation->aggregation > MDIST_AGGREGATION_ONLY_FIRST_REPLICA)
        return MDIST_ERR_INVALID_ARGUMENT;
    if (operation->aggregation == MDIST_AGGREGATION_MEAN && is_integer(initial->dtype))
        return MDIST_ERR_INVALID_ARGUMENT;
    if (initial->dtype == MDIST_BOOL &&
        (operation->aggregation == MDIST_AGGREGATION_MEAN || operation->aggregation == MDIST_AGGREGATION_SUM))
        return MDIST_ERR_INVALID_ARGUMENT;                                              // it has no sum
    if (model->variables[operation->variable].there) return MDIST_ERR_INVALID_ARGUMENT; // the name is taken
    out->there = 1;
    out->synchronization = operation->synchronization;
    out->aggregation = operation->aggregation;
    for (uint32_t r = 0; r < model->replicas; ++r) out->copies[r] = *initial;
    return MDIST_OK;
}

/// Tells whether a type has an operation: a bool has no arithmetic.
static int has_assign(int32_t dtype, int assign) {
    return dtype != MDIST_BOOL || assign < MDIST_ASSIGN_ADD || assign > MDIST_ASSIGN_DIV;
}

/// Checks a write of a whole tensor. It must look like the variable, and may be set, added or subtracted.
static int check_whole(const Variable *variable, int assign, const Tensor *tensor) {
    const Tensor *const copy = &variable->copies[0];
    if (!has_assign(copy->dtype, assign)) return MDIST_ERR_INVALID_ARGUMENT;
    return invalid_unless(assign >= MDIST_ASSIGN_SET && assign <= MDIST_ASSIGN_SUB && tensor->dtype == copy->dtype &&
                          same_shape(copy, tensor));
}

/// Checks how rows are written. Only mirrored variables take rows. If rows of several replicas are joined, an operation
/// that lets one of them win is refused.
static int check_rows_assign(const Variable *variable, int assign) {
    if (assign < MDIST_ASSIGN_SET || assign > MDIST_ASSIGN_MAX) return MDIST_ERR_INVALID_ARGUMENT;
    if (!has_assign(variable->copies[0].dtype, assign)) return MDIST_ERR_INVALID_ARGUMENT;
    if (variable->synchronization == MDIST_SYNC_ON_READ) return MDIST_ERR_UNSUPPORTED;
    const int joined =
        variable->aggregation == MDIST_AGGREGATION_SUM || variable->aggregation == MDIST_AGGREGATION_MEAN;
    const int one_wins = assign == MDIST_ASSIGN_SET || assign == MDIST_ASSIGN_MIN || assign == MDIST_ASSIGN_MAX;
    return joined && one_wins ? MDIST_ERR_UNSUPPORTED : MDIST_OK;
}

static int check_rows(const Variable *variable, int assign, const Tensor *indices, const Tensor *rows) {
    const Tensor *const copy = &variable->copies[0];
    if (rows->dtype != copy->dtype || copy->rank == 0 || !alike_but(copy, rows, 0)) return MDIST_ERR_INVALID_ARGUMENT;
    for (uint64_t i = 0; i < indices->elements; ++i)
        if (index_at(indices, i) < 0 || (uint64_t)index_at(indices, i) >= copy->shape[0])
            return MDIST_ERR_INVALID_ARGUMENT;
    return invalid_unless(assign != MDIST_ASSIGN_DIV || !is_integer(copy->dtype) || !any_zero(rows));
}

int assign_copy(const Variable *variable, uint32_t replica, int assign, const Value *value, Tensor *out) {
    const Leaf *const leaf = &value->leaves[0];
    const Tensor *const tensor = &leaf->tensors[replica], *const indices = &leaf->indices[replica];
    if (value->structured) return MDIST_ERR_INVALID_ARGUMENT;
    int status = leaf->has_rows ? check_rows_assign(variable, assign) : check_whole(variable, assign, tensor);
    if (status == MDIST_OK && leaf->has_rows) status = check_rows(variable, assign, indices, tensor);
    if (status != MDIST_OK) return status;
    *out = leaf->has_rows ? write_rows(assign, &variable->copies[replica], indices, tensor)
                          : write_tensor(assign, &variable->copies[replica], tensor);
    return MDIST_OK;
}

int assign_variable(const Model *model, const Variable *variable, int assign, const Value *value, Variable *out) {
    *out = *variable;
    uint32_t wrong = 0;
    int status = MDIST_OK;
    for (uint32_t r = 0; r < model->replicas; ++r) {
        const int own = assign_copy(variable, r, assign, value, &out->copies[r]);
        if (own != MDIST_OK) status = own;
        wrong += own != MDIST_OK;
    }
    if (wrong != 0) return wrong == model->replicas || model->workers == 1 ? status : SKIP;
    const int divided =
        variable->synchronization == MDIST_SYNC_ON_READ && variable->aggregation == MDIST_AGGREGATION_SUM;
    if (divided && assign != MDIST_ASSIGN_SET) return MDIST_ERR_FAILED_PRECONDITION; // each copy would add it
    for (uint32_t r = 0; r < model->replicas && divided; ++r)
        out->copies[r] = divide_tensor(&out->copies[r], model->replicas);
    return MDIST_OK;
}

int read_variable(const Model *model, const Variable *variable, Value *out) {
    const int on_read = variable->synchronization == MDIST_SYNC_ON_READ;
    if (on_read && variable->aggregation == MDIST_AGGREGATION_NONE) return MDIST_ERR_FAILED_PRECONDITION;
    const int mean = variable->aggregation == MDIST_AGGREGATION_MEAN;
    *out = (Value){.there = 1, .leaf_count = 1};
    Leaf *const leaf = &out->leaves[0];
    leaf->kind = MDIST_VALUE_PLAIN;
    for (uint32_t r = 0; r < model->replicas; ++r)
        leaf->tensors[r] = on_read && (mean || variable->aggregation == MDIST_AGGREGATION_SUM)
                               ? reduce_tensors(mean ? MDIST_MEAN : MDIST_SUM, variable->copies, model->replicas)
                               : variable->copies[on_read ? 0 : first_beside(&model->layout, r)];
    return MDIST_OK;
}

/// If replicas write together and one is refused, sets the others' status to ABORTED. Returns whether the write goes
/// ahead.
static int settle(const Model *model, const Variable *variable, int *statuses) {
    uint32_t wrong = 0;
    for (uint32_t r = 0; r < model->replicas; ++r) wrong += statuses[r] != MDIST_OK;
    for (uint32_t r = 0; r < model->replicas && wrong != 0 && written_together(variable); ++r)
        if (statuses[r] == MDIST_OK) statuses[r] = MDIST_ERR_ABORTED;
    return wrong == 0 || !written_together(variable);
}

void assign_in_step(const Model *model, const Variable *variable, int assign, const Leaf *tensors, int *statuses,
                    Variable *out) {
    *out = *variable;
    for (uint32_t r = 0; r < model->replicas; ++r) statuses[r] = check_whole(variable, assign, &tensors->tensors[r]);
    if (!settle(model, variable, statuses)) return;
    const int first = variable->aggregation == MDIST_AGGREGATION_ONLY_FIRST_REPLICA;
    const int op = variable->aggregation == MDIST_AGGREGATION_MEAN ? MDIST_MEAN : MDIST_SUM;
    Tensor total = tensors->tensors[0];
    if (written_together(variable) && !first) total = reduce_in_step(model, op, tensors->tensors);
    for (uint32_t r = 0; r < model->replicas; ++r)
        if (statuses[r] == MDIST_OK)
            out->copies[r] =
                write_tensor(assign, &variable->copies[r], written_together(variable) ? &total : &tensors->tensors[r]);
}

/// Writes the rows of all replicas one after another, in replica order. MEAN divides each by the number of replicas.
void assign_rows_in_step(const Model *model, const Variable *variable, int assign, const Leaf *indices,
                         const Leaf *rows, int *statuses, Variable *out) {
    *out = *variable;
    for (uint32_t r = 0; r < model->replicas; ++r) {
        statuses[r] = check_rows_alike(&indices->tensors[r], &rows->tensors[r]);
        if (statuses[r] == MDIST_OK) statuses[r] = check_rows_assign(variable, assign);
        if (statuses[r] == MDIST_OK)
            statuses[r] = check_rows(variable, assign, &indices->tensors[r], &rows->tensors[r]);
    }
    if (!settle(model, variable, statuses)) return;
    const int together = written_together(variable);
    const uint32_t writers = variable->aggregation == MDIST_AGGREGATION_ONLY_FIRST_REPLICA ? 1 : model->replicas;
    for (uint32_t r = 0; r < model->replicas; ++r) {
        if (statuses[r] != MDIST_OK) continue;
        for (uint32_t from = together ? 0 : r; from < (together ? writers : r + 1); ++from) {
            Tensor own = rows->tensors[from];
            if (variable->aggregation == MDIST_AGGREGATION_MEAN && together) own = divide_tensor(&own, model->replicas);
            out->copies[r] = write_rows(assign, &out->copies[r], &indices->tensors[from], &own);
        }
    }
}
