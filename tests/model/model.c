// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <string.h>

Layout layout_of(uint32_t workers, const uint32_t *counts) {
    Layout layout = {.workers = workers};
    for (uint32_t worker = 0; worker < workers; ++worker) {
        layout.first[worker] = layout.replicas;
        layout.replicas += counts[worker];
    }
    layout.first[workers] = layout.replicas;
    return layout;
}

uint32_t local_count(const Layout *layout, uint32_t worker) {
    return layout->first[worker + 1] - layout->first[worker];
}

uint32_t first_beside(const Layout *layout, uint32_t replica) {
    uint32_t worker = 0;
    while (layout->first[worker + 1] <= replica) ++worker;
    return layout->first[worker];
}

void begin_model(Model *model, const Program *program) {
    const Layout *const layout = &program->layout;
    *model = (Model){.layout = *layout,
                     .workers = layout->workers,
                     .replicas = layout->replicas,
                     .groups = program->groups,
                     .group_count = program->group_count};
}

Tensor reduce_in_step(const Model *model, int op, const Tensor *tensors) {
    return model->layout.has_nccl ? reduce_tensors_by_nccl(op, tensors, model->replicas)
                                  : reduce_tensors(op, tensors, model->replicas);
}

int opens_block(const Operation *operation) {
    return operation->kind == RUN || operation->kind == MERGE;
}

/// Computes the result of an update: each copy after the assignment, or unchanged if that was refused. (Update
/// functions see their arguments leaf by leaf.)
static int update(Model *model, Operation *operation, const Value *inputs) {
    Variable *const variable = &model->variables[operation->variable];
    const int status = whole_tensors(&inputs[0]);
    if (status != MDIST_OK) return status;
    Variable next = *variable;
    for (uint32_t r = 0; r < model->replicas; ++r)
        operation->inner[r] = (mdist_status_t)assign_copy(variable, r, operation->code, &inputs[1], &next.copies[r]);
    *variable = next;
    operation->results[0] = (Value){.there = 1, .leaf_count = 1};
    operation->results[0].leaves[0].kind = MDIST_VALUE_PER_REPLICA;
    memcpy(operation->results[0].leaves[0].tensors, next.copies, sizeof next.copies);
    return MDIST_OK;
}

static int batch_reduce_to(const Model *model, Operation *operation, const Value *inputs) {
    for (int i = 0; i < operation->from_count; ++i) {
        const int status = check_destination(model, operation->destinations[i]);
        if (status != MDIST_OK) return status;
    }
    for (int i = 0; i < operation->from_count; ++i) {
        const char *const destination = operation->destinations[i];
        const int everywhere = destination == NULL || *destination == '\0';
        const int status = reduce_value(model, operation->code, &inputs[i], NULL, everywhere, &operation->results[i]);
        if (status != MDIST_OK) return status;
    }
    return MDIST_OK;
}

static int assign(Model *model, const Operation *operation, const Value *input) {
    Variable next;
    const int status = assign_variable(model, &model->variables[operation->variable], operation->code, input, &next);
    if (status == MDIST_OK) model->variables[operation->variable] = next;
    return status;
}

static int create(Model *model, const Operation *operation) {
    Variable created;
    for (uint32_t r = 1; r < model->replicas && model->workers > 1; ++r) // all workers create the same
        if (!same_shape(&operation->literal.leaves[0].tensors[0], &operation->literal.leaves[0].tensors[r]))
            return SKIP;
    const int status = create_variable(model, operation, 0, &created);
    if (status == MDIST_OK) model->variables[operation->variable] = created;
    return status;
}

static int open_run(Operation *operation, const Value *inputs) {
    for (int i = 0; i < operation->from_count; ++i)
        if (whole_tensors(&inputs[i]) != MDIST_OK) return MDIST_ERR_UNSUPPORTED;
    Block *const block = operation->block;
    block->failure = MDIST_OK;
    memset(block->registers, 0, sizeof block->registers);
    memset(block->results, 0, sizeof block->results);
    memcpy(block->arguments, inputs, sizeof block->arguments);
    block->argument_count = operation->from_count;
    return MDIST_OK;
}

static int evaluate_outside(Model *model, Operation *operation, const Value *inputs) {
    Value *const results = operation->results;
    const int over_axes = operation->axis_count != 0;
    switch (operation->kind) {
        case LITERAL:
            results[0] = operation->literal;
            return MDIST_OK;
        case STRUCTURE:
            return structure_values(inputs, operation->paths, operation->from_count, &results[0]);
        case AT:
            return value_at(&inputs[0], operation->paths[0], &results[0]);
        case ROWS:
            return value_rows(model, &inputs[0], &inputs[1], &results[0]);
        case REDUCE:
            return reduce_value(model, operation->code, &inputs[0], over_axes ? operation : NULL, 0, &results[0]);
        case REDUCE_TO:
        case BATCH_REDUCE_TO:
            return batch_reduce_to(model, operation, inputs);
        case GATHER:
            return gather_value(model, &inputs[0], operation->axes[0], &results[0]);
        case FETCH:
            return fetch_value(model, operation, &inputs[0], &results[0]);
        case CREATE:
            return create(model, operation);
        case ASSIGN:
            return assign(model, operation, &inputs[0]);
        case READ:
            return read_variable(model, &model->variables[operation->variable], &results[0]);
        case UPDATE:
            return update(model, operation, inputs);
        case RUN:
            return open_run(operation, inputs);
        case MISPLACED:
            return MDIST_ERR_WRONG_CONTEXT;
        default: // RETURN
            return MDIST_OK;
    }
}

/// In a job of several workers, a failure of one ends the job for all, so nothing could be tried after it.
static int ends_job(const Model *model, const Operation *operation, int status) {
    const int joint = (operation->kind >= REDUCE && operation->kind <= GATHER) || operation->kind == CREATE;
    return model->workers > 1 && status != MDIST_OK && joint;
}

static int can_be_done(const Model *model, const Block *block, const Operation *operation) {
    const int outside = operation->kind < ARGUMENT, step = block->place == IN_STEP;
    for (int i = 0; i < operation->from_count; ++i)
        if (!block->registers[operation->from[i]].there) return 0;
    const int needs_variable = operation->kind == ASSIGN || operation->kind == READ || operation->kind == UPDATE;
    if (needs_variable && !model->variables[operation->variable].there) return 0;
    if (operation->kind == MISPLACED) return block->place != IN_PROGRAM;
    if (operation->kind == RETURN) return block->place != IN_PROGRAM && model->workers == 1;
    return outside != step;
}

static void snapshot(const Model *model, Operation *operation) {
    for (int v = 0; v < MOST_VARIABLES; ++v)
        for (uint32_t r = 0; r < model->replicas; ++r)
            operation->copies[v][r] = model->variables[v].there ? model->variables[v].copies[r] : (Tensor){0};
}

static void take_results(Block *block, const Operation *operation) {
    for (int i = 0; i < 2; ++i)
        if (operation->results[i].there) block->registers[operation->to + i] = operation->results[i];
}

int evaluate(Model *model, Block *block, Operation *operation) {
    const int step = block->place == IN_STEP;
    memset(operation->results, 0, sizeof operation->results);
    operation->skipped = 1;
    if (block->failure != MDIST_OK || !can_be_done(model, block, operation)) return 0;
    Value inputs[2];
    memset(inputs, 0, sizeof inputs);
    for (int i = 0; i < operation->from_count; ++i) inputs[i] = block->registers[operation->from[i]];
    memcpy(operation->inputs, inputs, sizeof inputs);
    const Model before = *model;
    const int status = step ? evaluate_in_step(model, block, operation) : evaluate_outside(model, operation, inputs);
    if (status == SKIP || ends_job(model, operation, status) || (step && status != MDIST_OK && model->workers > 1)) {
        *model = before;
        return 0;
    }
    operation->skipped = 0;
    if (step || (block->place == IN_MERGE && operation->kind == RETURN))
        block->failure = (mdist_status_t)(operation->kind == RETURN ? MDIST_ERR_CALLBACK : status);
    for (uint32_t r = 0; r < model->replicas && !step; ++r) operation->statuses[r] = (mdist_status_t)status;
    if (status == MDIST_OK) take_results(block, operation);
    snapshot(model, operation);
    return 1;
}

void close_block(Model *model, Block *block, Operation *operation) {
    if (operation->kind == MERGE)
        close_merge(model, block, operation);
    else
        close_run(model, operation);
    // A result that no replica set empties its register.
    for (int i = 0; i < 2 && operation->kind == RUN && operation->statuses[0] == MDIST_OK; ++i)
        block->registers[operation->to + i] = operation->results[i];
    snapshot(model, operation);
}

static void evaluate_block(Model *model, Block *block) {
    for (int i = 0; i < block->count; ++i) {
        Operation *const operation = block->operations[i];
        operation->skipped = 1;
        if (operation->dropped || !evaluate(model, block, operation)) continue;
        if (!opens_block(operation) || operation->statuses[0] != MDIST_OK) continue;
        evaluate_block(model, operation->block);
        close_block(model, block, operation);
    }
}

void evaluate_program(Program *program) {
    Model model;
    begin_model(&model, program);
    memset(program->block.registers, 0, sizeof program->block.registers);
    program->block.failure = MDIST_OK;
    evaluate_block(&model, &program->block);
}
