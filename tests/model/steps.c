// SPDX-License-Identifier: Apache-2.0
// The rules of steps. All replicas do one operation after another, each with its own tensor.
#include "model.h"

#include <string.h>

/// Sets the same status for every replica.
static int all_get(const Model *model, Operation *operation, int status) {
    for (uint32_t r = 0; r < model->replicas; ++r) operation->statuses[r] = (mdist_status_t)status;
    return status;
}

/// Sets a status for each replica. Returns the cause: a status other than MDIST_OK and ABORTED, if there is one.
static int each_gets(const Model *model, Operation *operation, const int *statuses) {
    int cause = MDIST_OK;
    for (uint32_t r = 0; r < model->replicas; ++r) {
        operation->statuses[r] = (mdist_status_t)statuses[r];
        if (statuses[r] != MDIST_OK && statuses[r] != MDIST_ERR_ABORTED) cause = statuses[r];
    }
    return cause;
}

static int each_or_aborted(const Model *model, Operation *operation, int *statuses) {
    uint32_t wrong = 0;
    for (uint32_t r = 0; r < model->replicas; ++r) wrong += statuses[r] != MDIST_OK;
    for (uint32_t r = 0; r < model->replicas && wrong != 0; ++r)
        if (statuses[r] == MDIST_OK) statuses[r] = MDIST_ERR_ABORTED;
    return each_gets(model, operation, statuses);
}

static Leaf *give(Operation *operation, int i) {
    Value *const value = &operation->results[i];
    memset(value, 0, sizeof *value);
    value->there = value->leaf_count = 1;
    value->leaves[0].kind = MDIST_VALUE_PER_REPLICA;
    return &value->leaves[0];
}

// ---- Collectives, of all replicas or of a group.

Members members_of(const Model *model, const Operation *operation) {
    Members all = {.count = model->replicas};
    if (operation->group >= 0) return model->groups[operation->group];
    for (uint32_t r = 0; r < model->replicas; ++r) all.members[r] = r;
    return all;
}

int is_member(const Members *members, uint32_t replica) {
    for (uint32_t i = 0; i < members->count; ++i)
        if (members->members[i] == replica) return 1;
    return 0;
}

int is_flat(Kind kind) {
    return kind == ALL_GATHER || kind == REDUCE_SCATTER || kind == ALL_TO_ALL;
}

/// Sets the same status for every member.
static int members_get(const Model *model, Operation *operation, const Members *members, int status) {
    all_get(model, operation, MDIST_OK);
    for (uint32_t i = 0; i < members->count; ++i) operation->statuses[members->members[i]] = (mdist_status_t)status;
    return status;
}

/// Collects the members' tensors in one dimension, in the members' order: collectives know lengths, not shapes. Returns
/// whether the lengths are the same.
static int collect(const Operation *operation, int i, const Members *members, Tensor *flat) {
    const Tensor *const inputs = operation->inputs[i].leaves[0].tensors;
    int same = 1;
    for (uint32_t m = 0; m < members->count; ++m) {
        flat[m] = flattened(&inputs[members->members[m]]);
        same = same && flat[m].elements == flat[0].elements;
    }
    return same;
}

/// Makes result `i`, in which each replica has what it had.
static Leaf *give_inputs(const Model *model, Operation *operation, int i) {
    const Tensor *const inputs = operation->inputs[i].leaves[0].tensors;
    Leaf *const out = give(operation, i);
    for (uint32_t r = 0; r < model->replicas; ++r)
        out->tensors[r] = is_flat(operation->kind) ? flattened(&inputs[r]) : inputs[r];
    return out;
}

/// A job with NCCL has one worker here, so its groups use NCCL, too.
static Tensor reduce_members(const Model *model, const Operation *operation, const Members *members,
                             const Tensor *flat) {
    return model->layout.has_nccl ? reduce_tensors_by_nccl(operation->code, flat, members->count)
                                  : reduce_tensors(operation->code, flat, members->count);
}

static int all_reduce(const Model *model, Operation *operation) {
    const Members members = members_of(model, operation);
    for (int i = 0; i < operation->from_count; ++i)
        if (check_reduce_op(operation->code, operation->inputs[i].leaves[0].tensors[0].dtype) != MDIST_OK)
            return members_get(model, operation, &members, MDIST_ERR_INVALID_ARGUMENT);
    for (int i = 0; i < operation->from_count; ++i) {
        Tensor flat[MOST_REPLICAS];
        if (!collect(operation, i, &members, flat)) return members_get(model, operation, &members, MDIST_ERR_MISMATCH);
        const Tensor total = reduce_members(model, operation, &members, flat);
        Leaf *const out = give_inputs(model, operation, i);
        for (uint32_t m = 0; m < members.count; ++m) out->tensors[members.members[m]].numbers = total.numbers;
    }
    return MDIST_OK;
}

static int broadcast(const Model *model, Operation *operation) {
    const Members members = members_of(model, operation);
    Tensor flat[MOST_REPLICAS] = {{0}};
    if (!is_member(&members, (uint32_t)operation->root))
        return members_get(model, operation, &members, MDIST_ERR_INVALID_ARGUMENT);
    if (!collect(operation, 0, &members, flat)) return members_get(model, operation, &members, MDIST_ERR_MISMATCH);
    Leaf *const out = give_inputs(model, operation, 0);
    const Number *const numbers = operation->inputs[0].leaves[0].tensors[operation->root].numbers;
    for (uint32_t m = 0; m < members.count; ++m) out->tensors[members.members[m]].numbers = (Number *)numbers;
    return MDIST_OK;
}

/// Joins everything, flat, in the members' order.
static int all_gather(const Model *model, Operation *operation) {
    const Members members = members_of(model, operation);
    Tensor flat[MOST_REPLICAS] = {{0}};
    collect(operation, 0, &members, flat);
    uint64_t elements = 0;
    for (uint32_t m = 0; m < members.count; ++m) elements += flat[m].elements;
    if (elements > MOST_ELEMENTS) return SKIP;
    const Tensor all = join_tensors(flat, members.count, 0);
    Leaf *const out = give_inputs(model, operation, 0);
    for (uint32_t m = 0; m < members.count; ++m) out->tensors[members.members[m]] = all;
    return MDIST_OK;
}

/// Gives equal parts to all members, and what is left over to the last.
static int reduce_scatter(const Model *model, Operation *operation) {
    const Members members = members_of(model, operation);
    Tensor flat[MOST_REPLICAS] = {{0}};
    const int same = collect(operation, 0, &members, flat);
    const uint64_t elements = flat[0].elements, part = elements / members.count;
    if (check_reduce_op(operation->code, flat[0].dtype) != MDIST_OK)
        return members_get(model, operation, &members, MDIST_ERR_INVALID_ARGUMENT);
    if (!same) return members_get(model, operation, &members, MDIST_ERR_MISMATCH);
    const Tensor total = reduce_members(model, operation, &members, flat);
    Leaf *const out = give_inputs(model, operation, 0);
    for (uint32_t m = 0; m < members.count; ++m)
        out->tensors[members.members[m]] =
            part_of(&total, m * part, m + 1 < members.count ? part : elements - m * part);
    return MDIST_OK;
}

static int all_to_all(const Model *model, Operation *operation) {
    const Members members = members_of(model, operation);
    Tensor flat[MOST_REPLICAS] = {{0}};
    const int same = collect(operation, 0, &members, flat);
    int statuses[MOST_REPLICAS] = {0}, wrong = 0;
    for (uint32_t m = 0; m < members.count; ++m) wrong += flat[m].elements % members.count != 0;
    for (uint32_t m = 0; m < members.count && wrong != 0; ++m)
        statuses[members.members[m]] =
            flat[m].elements % members.count != 0 ? MDIST_ERR_INVALID_ARGUMENT : MDIST_ERR_ABORTED;
    if (wrong != 0) return each_gets(model, operation, statuses);
    if (!same) return members_get(model, operation, &members, MDIST_ERR_MISMATCH);
    const uint64_t part = flat[0].elements / members.count;
    Leaf *const out = give_inputs(model, operation, 0);
    for (uint32_t m = 0; m < members.count; ++m) {
        Tensor parts[MOST_REPLICAS];
        for (uint32_t from = 0; from < members.count; ++from) parts[from] = part_of(&flat[from], m * part, part);
        out->tensors[members.members[m]] = join_tensors(parts, members.count, 0);
    }
    return MDIST_OK;
}

// ---- Messages.

int sends_to_itself(const Operation *operation, uint32_t replica) {
    return operation->sources[replica] == replica && operation->code % 2 != 0;
}

/// Gives each replica what its source has.
static int messages(const Model *model, Operation *operation) {
    const Tensor *const inputs = operation->inputs[0].leaves[0].tensors;
    Leaf *const out = give(operation, 0);
    for (uint32_t r = 0; r < model->replicas; ++r) out->tensors[r] = inputs[operation->sources[r]];
    return MDIST_OK;
}

// ---- The other operations.

/// Gives indices as result 0 and rows as result 1, the same for all replicas.
static int all_reduce_rows(const Model *model, Operation *operation) {
    const Leaf *const indices = &operation->inputs[0].leaves[0], *const rows = &operation->inputs[1].leaves[0];
    const int op = operation->code;
    int statuses[MOST_REPLICAS], wrong = 0;
    for (uint32_t r = 0; r < model->replicas; ++r) {
        statuses[r] = check_rows_alike(&indices->tensors[r], &rows->tensors[r]);
        if (statuses[r] == MDIST_OK) statuses[r] = check_reduce_op(op, rows->tensors[r].dtype);
        if (statuses[r] == MDIST_OK && op != MDIST_SUM && op != MDIST_MEAN) statuses[r] = MDIST_ERR_UNSUPPORTED;
        wrong += statuses[r] != MDIST_OK;
    }
    if (wrong != 0) {
        const int cause = each_or_aborted(model, operation, statuses);
        for (uint32_t r = 0; r < model->replicas; ++r) // with two causes it is open which comes first
            if (statuses[r] != cause && statuses[r] != MDIST_ERR_ABORTED) return SKIP;
        return cause;
    }
    uint64_t elements = 0;
    for (uint32_t r = 0; r < model->replicas; ++r) {
        if (!alike_but(&rows->tensors[0], &rows->tensors[r], 0)) return all_get(model, operation, MDIST_ERR_MISMATCH);
        elements += rows->tensors[r].elements + indices->tensors[r].elements;
    }
    if (elements > MOST_ELEMENTS) return SKIP;
    const Tensor all_indices = join_tensors(indices->tensors, model->replicas, 0);
    Tensor all_rows = join_tensors(rows->tensors, model->replicas, 0);
    if (op == MDIST_MEAN) all_rows = divide_tensor(&all_rows, model->replicas);
    Leaf *const out_indices = give(operation, 0), *const out_rows = give(operation, 1);
    for (uint32_t r = 0; r < model->replicas; ++r) {
        out_indices->tensors[r] = all_indices;
        out_rows->tensors[r] = all_rows;
    }
    return MDIST_OK;
}

static int argument(const Model *model, const Block *block, Operation *operation) {
    int leaf = 0;
    if (operation->index >= block->argument_count) {
        all_get(model, operation, MDIST_ERR_INVALID_ARGUMENT);
        return MDIST_OK; // no replica waits: the step continues
    }
    const Value *const value = &block->arguments[operation->index];
    const int status = operation->paths[0] == NULL ? no_structure(value) : leaf_at(value, operation->paths[0], &leaf);
    if (all_get(model, operation, status) == MDIST_OK)
        memcpy(give(operation, 0)->tensors, value->leaves[leaf].tensors, sizeof value->leaves[leaf].tensors);
    return MDIST_OK;
}

/// Sets a result. The last tensor that is set at a path counts. Replica `root` sets nothing; -1: all replicas set it.
static int result(const Model *model, Block *block, Operation *operation) {
    if (operation->index >= 2) { // no such result; no replica waits
        all_get(model, operation, MDIST_ERR_INVALID_ARGUMENT);
        return operation->root >= 0 ? SKIP : MDIST_OK;
    }
    const char *const path = operation->paths[0] == NULL ? "" : operation->paths[0];
    Value next = block->results[operation->index];
    int at = 0;
    while (at < next.leaf_count && strcmp(next.leaves[at].path, path) != 0) ++at;
    const int partly = operation->root >= 0;
    if (at == MOST_LEAVES || (partly && (model->replicas == 1 || at < next.leaf_count))) return SKIP;
    if (at == next.leaf_count) next.leaf_count = at + 1;
    next.there = 1;
    next.structured |= *path != '\0';
    Leaf *const leaf = &next.leaves[at];
    strcpy(leaf->path, path);
    leaf->kind = MDIST_VALUE_PER_REPLICA;
    memcpy(leaf->tensors, operation->inputs[0].leaves[0].tensors, sizeof leaf->tensors);
    if (partly) leaf->tensors[operation->root] = (Tensor){0};
    sort_leaves(&next);
    if (model->workers > 1 && (partly || !paths_make_a_tree(&next) || (next.structured && !*next.leaves[0].path)))
        return SKIP; // the run would fail
    block->results[operation->index] = next;
    return MDIST_OK;
}

static int create(Model *model, Operation *operation) {
    Variable created;
    const Tensor *const initial = operation->literal.leaves[0].tensors;
    for (uint32_t r = 1; r < model->replicas; ++r)
        if (!same_shape(&initial[0], &initial[r])) return SKIP;
    const int status = all_get(model, operation, create_variable(model, operation, 0, &created));
    if (status == MDIST_OK) model->variables[operation->variable] = created;
    return status;
}

static int assign(Model *model, Operation *operation) {
    Variable *const variable = &model->variables[operation->variable];
    if (!variable->there) return SKIP;
    Variable next;
    int statuses[MOST_REPLICAS];
    const Leaf *const first = &operation->inputs[0].leaves[0];
    if (operation->kind == STEP_ASSIGN)
        assign_in_step(model, variable, operation->code, first, statuses, &next);
    else
        assign_rows_in_step(model, variable, operation->code, first, &operation->inputs[1].leaves[0], statuses, &next);
    const int cause = each_gets(model, operation, statuses);
    const int together = written_together(variable);
    for (uint32_t r = 0; r < model->replicas && together; ++r)
        if (cause != MDIST_OK && statuses[r] != cause && statuses[r] != MDIST_ERR_ABORTED)
            return SKIP; // the first cause is unknown
    if (cause == MDIST_OK || !together) *variable = next;
    return together ? cause : MDIST_OK; // the others do not wait
}

static int open_merge(Operation *operation) {
    Block *const block = operation->block;
    block->failure = MDIST_OK;
    memset(block->registers, 0, sizeof block->registers);
    for (int i = 0; i < operation->from_count; ++i) {
        block->registers[i] = operation->inputs[i];
        block->registers[i].leaves[0].kind = MDIST_VALUE_PER_REPLICA;
    }
    return MDIST_OK;
}

/// Closes a merge. Each replica gets its own tensor of each result, so results have no rows. A structure is not given
/// as a tensor.
void close_merge(Model *model, Block *block, Operation *operation) {
    int failure = operation->block->failure;
    for (int i = 0; i < operation->index && failure == MDIST_OK; ++i) {
        const Value *const value = &operation->block->registers[operation->axes[i]];
        if (value->there && failure == MDIST_OK) failure = whole_tensors(value);
    }
    // Only local replica 0 gets the cause as its status.
    for (uint32_t r = 0; r < model->replicas; ++r)
        operation->statuses[r] = (mdist_status_t)(failure == MDIST_OK || r == 0 ? failure : MDIST_ERR_ABORTED);
    block->failure = (mdist_status_t)failure;
    for (int i = 0; i < operation->index && failure == MDIST_OK; ++i) {
        const Value *const value = &operation->block->registers[operation->axes[i]];
        operation->results[i] = (Value){0};
        if (value->there && !value->structured)
            memcpy(give(operation, i)->tensors, value->leaves[0].tensors, sizeof(Tensor[MOST_REPLICAS]));
        block->registers[operation->to + i] = operation->results[i];
    }
}

int evaluate_in_step(Model *model, Block *block, Operation *operation) {
    all_get(model, operation, MDIST_OK);
    switch (operation->kind) {
        case ARGUMENT:
            return argument(model, block, operation);
        case NUMBERS:
            *give(operation, 0) = operation->literal.leaves[0];
            return MDIST_OK;
        case COPY:
            if (!model->variables[operation->variable].there) return SKIP;
            memcpy(give(operation, 0)->tensors, model->variables[operation->variable].copies,
                   sizeof(Tensor[MOST_REPLICAS]));
            return MDIST_OK;
        case ALL_REDUCE:
            return all_reduce(model, operation);
        case BROADCAST:
            return broadcast(model, operation);
        case ALL_GATHER:
            return all_gather(model, operation);
        case REDUCE_SCATTER:
            return reduce_scatter(model, operation);
        case ALL_TO_ALL:
            return all_to_all(model, operation);
        case MESSAGES:
            return messages(model, operation);
        case ALL_REDUCE_ROWS:
            return all_reduce_rows(model, operation);
        case STEP_ASSIGN:
        case STEP_ASSIGN_ROWS:
            return assign(model, operation);
        case STEP_CREATE:
            return create(model, operation);
        case RESULT:
            return result(model, block, operation);
        case MERGE:
            return open_merge(operation);
        case MISPLACED:
            all_get(model, operation, MDIST_ERR_WRONG_CONTEXT);
            return MDIST_OK;
        default: // RETURN
            return MDIST_ERR_CALLBACK;
    }
}

/// Checks what the step has set: the same paths on all replicas, and they must make a structure.
static int check_result(const Model *model, const Value *value) {
    for (int i = 0; i < value->leaf_count; ++i)
        for (uint32_t r = 0; r < model->replicas; ++r)
            if (value->leaves[i].tensors[r].dtype == 0) return MDIST_ERR_MISMATCH;
    const int beside_the_whole = value->structured && *value->leaves[0].path == '\0';
    return paths_make_a_tree(value) && !beside_the_whole ? MDIST_OK : MDIST_ERR_INVALID_ARGUMENT;
}

void close_run(Model *model, Operation *operation) {
    int status = operation->block->failure;
    for (int i = 0; i < 2 && status == MDIST_OK; ++i) status = check_result(model, &operation->block->results[i]);
    all_get(model, operation, status);
    for (int i = 0; i < 2 && status == MDIST_OK; ++i) operation->results[i] = operation->block->results[i];
}
