// SPDX-License-Identifier: Apache-2.0
// Performs steps and merges, with mdist_run. Every other run of the program itself uses the test's own threads instead.
#include "messages.h"
#include "model.h"

#include <stdlib.h>
#include <string.h>

typedef struct Step {
    Performance *self;
    Posts *posts;               // the replica's
    const Operation *operation; // the RUN or MERGE
    int entered;                // on a thread of the test's own, which the library does not know to be in a step
    mdist_replica_t *replica;
} Step;

/// The operands of one replica's operation, with its tensors in memory.
typedef struct Operands {
    uint32_t id, local;
    const Operation *operation;
    int on_gpu, depth;
    Bytes inputs[2], outputs[2]; // on the host; for operands on a GPU, copies of what lies there
    mdist_tensor_t tensors[2];
    mdist_buffer_t from[2], to[2];
} Operands;

static void collect(const Performance *performance, Operands *self) {
    for (int i = 0; i < self->operation->from_count; ++i) {
        const Tensor *const input = &self->operation->inputs[i].leaves[0].tensors[self->id];
        const Tensor *const output = &self->operation->results[i].leaves[0].tensors[self->id];
        void *const from =
            operand_memory(performance, self->local, self->depth, i, self->on_gpu, self->inputs[i].bytes);
        void *const to =
            operand_memory(performance, self->local, self->depth, 2 + i, self->on_gpu, self->outputs[i].bytes);
        self->tensors[i] = fill(input, &self->inputs[i]);
        self->tensors[i].data = from;
        if (self->on_gpu && !write_tensor_bytes(&self->tensors[i], self->inputs[i].bytes)) abort();
        self->from[i] = (mdist_buffer_t){from, input->elements, input->dtype, 0};
        const int known = self->operation->results[i].there;
        self->to[i] = (mdist_buffer_t){to, known ? output->elements : input->elements, input->dtype, 0};
    }
}

static mdist_tensor_t output(const Operands *self, int i) {
    return describe(&self->operation->results[i].leaves[0].tensors[self->id], self->to[i].data);
}

// ---- Merges.

static mdist_value_t *another_handle(const mdist_value_t *value) {
    mdist_value_t *out = NULL;
    return mdist_value_at(value, "", &out, NULL) == MDIST_OK ? out : NULL;
}

static int32_t merge(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                     mdist_value_t **results, size_t result_count, void *user_data) {
    (void)strategy;
    const Step *const step = user_data;
    const Operation *const operation = step->operation;
    Registers registers = {{NULL}};
    mdist_replica_t *const outside = enter_step(NULL);
    for (size_t i = 0; i < argument_count; ++i) registers.values[i] = another_handle(arguments[i]);
    const int32_t code = perform_block(step->self, operation->block, &registers, step->replica);
    for (size_t i = 0; i < result_count; ++i) {
        mdist_value_t *const value = registers.values[operation->axes[i]];
        if (value != NULL) results[i] = another_handle(value);
    }
    for (int i = 0; i < REGISTERS; ++i) mdist_value_destroy(registers.values[i]);
    enter_step(outside);
    return code;
}

static mdist_status_t call_merge(const Step *step, const Operands *operands, mdist_tensor_t *results,
                                 mdist_error_t **error) {
    const Operation *const operation = operands->operation;
    Step inner = {step->self, step->posts, operation, step->entered, step->replica};
    return mdist_merge_call(step->replica, merge, &inner, operands->tensors, (size_t)operation->from_count, results,
                            (size_t)operation->index, NULL, error);
}

// ---- Operations of a step.

static int32_t nothing(mdist_replica_t *replica, void *user_data) {
    (void)replica, (void)user_data;
    return 0;
}

/// Makes a call in a step that belongs outside of steps.
static mdist_status_t misplaced(Performance *self, int code, mdist_error_t **error) {
    int64_t number = 0;
    const mdist_tensor_t tensor = {.data = &number, .dtype = MDIST_INT64};
    mdist_value_t *out = NULL;
    mdist_variable_t *variable = NULL;
    switch (code) {
        case 0:
            return mdist_strategy_reduce(self->strategy, MDIST_SUM, NULL, &out, NULL, error);
        case 1:
            return mdist_strategy_gather(self->strategy, NULL, 0, &out, NULL, error);
        case 2:
            return mdist_strategy_broadcast(self->strategy, &tensor, &out, error);
        case 3:
            return mdist_variable_create(self->strategy, "misplaced", &tensor, &variable, NULL, error);
        case 4:
            return mdist_update_devices(self->strategy, (mdist_update_fn)abort, NULL, NULL, error);
        default:
            return mdist_run(self->strategy, nothing, NULL, NULL, error);
    }
}

static mdist_status_t reduce_rows(mdist_replica_t *replica, Operands *operands, mdist_tensor_t *seen,
                                  mdist_error_t **error) {
    mdist_value_t *all = NULL;
    const mdist_status_t status =
        mdist_all_reduce_sparse(replica, (mdist_reduce_op_t)operands->operation->code, &operands->tensors[0],
                                &operands->tensors[1], &all, NULL, error);
    if (status == MDIST_OK && mdist_value_indices(all, 0, &seen[0], NULL) == MDIST_OK &&
        mdist_value_tensor(all, 0, &seen[1], NULL) == MDIST_OK) {
        for (int i = 0; i < 2; ++i) { // read them now: the value owns their memory
            if (!read_tensor_bytes(&seen[i], &operands->outputs[i])) abort();
            seen[i].data = operands->outputs[i].bytes;
            seen[i].device_kind = seen[i].device_index = 0;
        }
    }
    mdist_value_destroy(all);
    return status;
}

static mdist_status_t create(Performance *self, mdist_replica_t *replica, Operands *operands, mdist_error_t **error) {
    const Operation *const operation = operands->operation;
    const mdist_variable_options_t options = {.struct_size = sizeof options,
                                              .synchronization = operation->synchronization,
                                              .aggregation = operation->aggregation};
    const char name[] = {'v', (char)('0' + operation->variable), '\0'};
    const mdist_tensor_t initial = fill(&operation->literal.leaves[0].tensors[operands->id], &operands->inputs[0]);
    mdist_variable_t *variable = NULL;
    const mdist_status_t status = mdist_replica_variable_create(replica, name, &initial, &variable, &options, error);
    if (status == MDIST_OK) self->variables[operands->local][operation->variable] = variable;
    return status;
}

static mdist_status_t set_result(mdist_replica_t *replica, const Operands *operands, mdist_error_t **error) {
    const Operation *const operation = operands->operation;
    if (operation->root == (int)operands->id) return MDIST_OK; // this one sets none
    if (operation->paths[0] == NULL)
        return mdist_replica_set_result(replica, (size_t)operation->index, NULL, &operands->tensors[0], error);
    return mdist_replica_set_result(replica, (size_t)operation->index, operation->paths[0], &operands->tensors[0],
                                    error);
}

static mdist_status_t collective(const Performance *self, mdist_replica_t *replica, Operands *operands,
                                 mdist_tensor_t *seen, mdist_error_t **error) {
    const Operation *const operation = operands->operation;
    const mdist_reduce_op_t op = (mdist_reduce_op_t)operation->code;
    const int in_group = operation->group >= 0;
    const mdist_call_options_t with_group = {.struct_size = sizeof with_group,
                                             .group = in_group ? self->groups[operation->group] : NULL};
    const mdist_call_options_t *const options = in_group ? &with_group : NULL;
    mdist_status_t status = MDIST_OK;
    if (in_group && !is_member(&self->program->groups[operation->group], operands->id)) {
        for (int i = 0; i < operation->from_count; ++i) { // it keeps what it has
            operands->to[i] = operands->from[i];
            if (operation->results[i].there) seen[i] = output(operands, i);
        }
        return MDIST_OK;
    }
    switch (operation->kind) {
        case ALL_REDUCE:
            status = mdist_all_reduce(replica, op, operands->from, operands->to, (size_t)operation->from_count, options,
                                      error);
            break;
        case BROADCAST:
            operands->to[0] = operands->from[0];
            status = mdist_broadcast(replica, (uint32_t)operation->root, operands->from, 1, options, error);
            break;
        case ALL_GATHER:
            status = mdist_all_gather(replica, operands->from, operands->to, 1, options, error);
            break;
        case REDUCE_SCATTER:
            status = mdist_reduce_scatter(replica, op, operands->from, operands->to, 1, options, error);
            break;
        default: // ALL_TO_ALL
            status = mdist_all_to_all(replica, operands->from, operands->to, 1, options, error);
    }
    for (int i = 0; i < operation->from_count && status == MDIST_OK; ++i) seen[i] = output(operands, i);
    return status;
}

static mdist_status_t call(const Step *step, Operands *operands, mdist_tensor_t *seen, mdist_error_t **error) {
    const Operation *const operation = operands->operation;
    mdist_replica_t *const replica = step->replica;
    mdist_variable_t *const variable = step->self->variables[operands->local][operation->variable];
    const mdist_assign_t assign = (mdist_assign_t)operation->code;
    const mdist_tensor_t *const tensors = operands->tensors;
    switch (operation->kind) {
        case ARGUMENT:
            return operation->paths[0] == NULL
                       ? mdist_replica_argument(replica, (size_t)operation->index, NULL, seen, error)
                       : mdist_replica_argument(replica, (size_t)operation->index, operation->paths[0], seen, error);
        case NUMBERS:
            *seen = fill(&operation->literal.leaves[0].tensors[operands->id], &operands->inputs[0]);
            return MDIST_OK;
        case COPY:
            return mdist_variable_tensor(variable, operands->local, seen, error);
        case MESSAGES: {
            const mdist_status_t status = exchange_messages(step->self, replica, operation, operands->on_gpu,
                                                            &operands->from[0], &operands->to[0], step->posts, error);
            if (status == MDIST_OK) *seen = output(operands, 0);
            return status;
        }
        case ALL_REDUCE_ROWS:
            return reduce_rows(replica, operands, seen, error);
        case STEP_ASSIGN:
            return mdist_replica_assign(replica, variable, assign, &tensors[0], NULL, error);
        case STEP_ASSIGN_ROWS:
            return mdist_replica_assign_sparse(replica, variable, assign, &tensors[0], &tensors[1], NULL, error);
        case STEP_CREATE:
            return create(step->self, replica, operands, error);
        case RESULT:
            return set_result(replica, operands, error);
        case MERGE:
            return call_merge(step, operands, seen, error);
        case MISPLACED:
            return misplaced(step->self, operation->code, error);
        default:
            return collective(step->self, replica, operands, seen, error);
    }
}

static void perform(const Step *step, Operands *operands) {
    Performance *const self = step->self;
    const Operation *const operation = operands->operation;
    mdist_tensor_t seen[2];
    memset(seen, 0, sizeof seen);
    mdist_error_t *error = NULL;
    collect(self, operands);
    const mdist_status_t status = call(step, operands, seen, &error);
    mdist_status_t wanted = operation->statuses[operands->id];
    if (operation->kind == MISPLACED && step->entered) wanted = MDIST_ERR_FAILED_PRECONDITION; // it is busy
    if (expect_status(self, operation, kind_name(operation->kind), wanted, status, error))
        for (int i = 0; i < 2; ++i) {
            const Tensor *const result = &operation->results[i].leaves[0].tensors[operands->id];
            if (operation->results[i].there) expect_tensor(self, operation, "the tensor", result, &seen[i]);
        }
    expect_copies(self, operation, operands->local);
}

/// Whether the step ends in operation `i`. Replicas may be operations apart after groups and messages. So they meet
/// before that: else a replica that is behind would get the failure in an earlier operation.
static int ends_there(const Block *block, int i) {
    int apart = 0;
    if (block->failure == MDIST_OK) return 0;
    for (int at = 0; at < block->count; ++at) {
        const Operation *const operation = block->operations[at];
        if (operation->dropped || operation->skipped) continue;
        if (at > i) return 0;
        apart = apart || operation->kind == MESSAGES || operation->group >= 0;
    }
    return apart;
}

static void meet_before_the_end(const Step *step, Posts *posts) {
    mdist_error_t *error = NULL;
    finish_posts(step->self, posts);
    const mdist_status_t status = mdist_barrier(step->replica, NULL, &error);
    expect_status(step->self, step->operation, "the barrier", MDIST_OK, status, error);
}

static int32_t perform_steps(mdist_replica_t *replica, const Step *step) {
    Performance *const self = step->self;
    const Block *const block = step->operation->block;
    Posts posts = {.count = 0};
    const Step own = {self, &posts, step->operation, step->entered, replica};
    Operands operands;
    operands.depth = block->depth;
    operands.local = mdist_replica_local_index(replica);
    operands.id = mdist_replica_id(replica);
    if (operands.id != self->first + operands.local) note_difference(self, step->operation, "another replica's id");
    for (int i = 0; i < block->count; ++i) {
        operands.operation = block->operations[i];
        if (operands.operation->dropped || operands.operation->skipped) continue;
        if (atomic_load(&self->differs)) return 98;
        operands.on_gpu = lies_on_gpus(self, block, i);
        if (ends_there(block, i)) meet_before_the_end(&own, &posts);
        if (operands.operation->kind == RETURN) {
            const int root = operands.operation->root;
            return root == -1 || root == (int)operands.id ? operands.operation->code : 0;
        }
        perform(&own, &operands);
    }
    finish_posts(self, &posts);
    return 0;
}

static int32_t run_step(mdist_replica_t *replica, const Step *step) {
    mdist_replica_t *const outside = enter_step(replica);
    const int32_t code = perform_steps(replica, step);
    enter_step(outside);
    return code;
}

static int32_t step_of_run(mdist_replica_t *replica, void *user_data) {
    return run_step(replica, user_data);
}

// ---- The same on the test's own threads.

typedef struct OwnThread {
    const Step *step;
    uint32_t local;
    pthread_t thread;
} OwnThread;

static void *enter_and_exit(void *argument) {
    const OwnThread *const own = argument;
    Performance *const self = own->step->self;
    mdist_replica_t *replica = NULL;
    mdist_error_t *error = NULL;
    const mdist_status_t entered = mdist_replica_enter(self->strategy, own->local, &replica, &error);
    if (!expect_status(self, own->step->operation, "mdist_replica_enter", MDIST_OK, entered, error)) return NULL;
    error = NULL;
    const mdist_status_t left = mdist_replica_exit(replica, run_step(replica, own->step), &error);
    expect_status(self, own->step->operation, "mdist_replica_exit", MDIST_OK, left, error);
    return NULL;
}

static mdist_status_t run_on_own_threads(const Step *step, mdist_value_t *const *arguments, mdist_value_t **results,
                                         mdist_error_t **error) {
    Performance *const self = step->self;
    const mdist_status_t begun =
        mdist_run_begin(self->strategy,
                        &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = arguments,
                                          .argument_count = (size_t)step->operation->from_count, .result_count = 2},
                        error);
    if (begun != MDIST_OK) return begun;
    OwnThread threads[MOST_REPLICAS];
    for (uint32_t i = 0; i < self->locals; ++i) {
        threads[i] = (OwnThread){.step = step, .local = i};
        if (pthread_create(&threads[i].thread, NULL, enter_and_exit, &threads[i]) != 0) abort();
    }
    for (uint32_t i = 0; i < self->locals; ++i) pthread_join(threads[i].thread, NULL);
    return mdist_run_end(self->strategy, results, 2, error);
}

mdist_status_t perform_run(Performance *self, const Operation *operation, mdist_value_t *const *arguments,
                           mdist_value_t **results, mdist_error_t **error) {
    Step step = {self, NULL, operation, operation->block->depth == 1 && operation->code % 2 == 0, NULL};
    if (step.entered) return run_on_own_threads(&step, arguments, results, error);
    return mdist_run(
        self->strategy, step_of_run, &step,
        &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = arguments,
                          .argument_count = (size_t)operation->from_count, .results = results, .result_count = 2},
        error);
}
