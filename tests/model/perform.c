// SPDX-License-Identifier: Apache-2.0
#include "places.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

mdist_tensor_t describe(const Tensor *tensor, void *data) {
    mdist_tensor_t out = {.data = data, .dtype = tensor->dtype, .rank = tensor->rank};
    for (int32_t d = 0; d < tensor->rank; ++d) out.shape[d] = tensor->shape[d];
    return out;
}

mdist_tensor_t fill(const Tensor *tensor, Bytes *bytes) {
    encode_tensor(tensor, bytes->bytes);
    return describe(tensor, bytes->bytes);
}

void note_difference(Performance *self, const Operation *operation, const char *format, ...) {
    pthread_mutex_lock(&self->mutex);
    if (!atomic_exchange(&self->differs, 1)) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(self->what, sizeof self->what, format, arguments);
        va_end(arguments);
        self->where = operation;
    }
    pthread_mutex_unlock(&self->mutex);
}

int expect_status(Performance *self, const Operation *operation, const char *what, mdist_status_t wanted,
                  mdist_status_t given, mdist_error_t *error) {
    const int well = given == wanted && (given != MDIST_OK) == (error != NULL) && mdist_error_status(error) == given;
    if (!well)
        note_difference(self, operation, "%s gave %s, not %s: %s", what, mdist_status_name(given),
                        mdist_status_name(wanted), mdist_error_message(error));
    mdist_error_free(error);
    return well && given == MDIST_OK;
}

void expect_tensor(Performance *self, const Operation *operation, const char *what, const Tensor *wanted,
                   const mdist_tensor_t *given) {
    Bytes bytes;
    mdist_tensor_t here = *given;
    here.data = bytes.bytes;
    const int is_read = read_tensor_bytes(given, &bytes);
    if (is_read && tensor_is(wanted, &here)) return;
    const double first = wanted->elements == 0       ? 0
                         : is_integer(wanted->dtype) ? (double)(int64_t)wanted->numbers[0].whole
                                                     : wanted->numbers[0].real;
    note_difference(self, operation,
                    "%s is %s: %s, rank %d, [%llu, %llu, ...]; it should be %s, rank %d, [%llu, %llu, ...] that "
                    "begins with %.17g",
                    what, is_read ? "another" : "not to be read", mdist_dtype_name((mdist_dtype_t)given->dtype),
                    given->rank, (unsigned long long)given->shape[0], (unsigned long long)given->shape[1],
                    mdist_dtype_name((mdist_dtype_t)wanted->dtype), wanted->rank, (unsigned long long)wanted->shape[0],
                    (unsigned long long)wanted->shape[1], first);
}

void expect_copies(Performance *self, const Operation *operation, uint32_t local) {
    for (int v = 0; v < MOST_VARIABLES; ++v) {
        const Tensor *const wanted = &operation->copies[v][self->first + local];
        if (wanted->dtype == 0) continue;
        char what[64];
        mdist_tensor_t copy;
        mdist_error_t *error = NULL;
        const mdist_status_t status = mdist_variable_tensor(self->variables[local][v], local, &copy, &error);
        snprintf(what, sizeof what, "copy %u of v%d", local, v);
        if (expect_status(self, operation, what, MDIST_OK, status, error))
            expect_tensor(self, operation, what, wanted, &copy);
    }
}

// ---- Values.

static void expect_leaf(Performance *self, const Operation *operation, const Leaf *wanted, const mdist_value_t *value) {
    const uint32_t locals = self->locals;
    const uint32_t count = wanted->kind == MDIST_VALUE_PLAIN ? 1 : locals;
    if (mdist_value_kind(value) != wanted->kind || mdist_value_count(value) != count)
        note_difference(self, operation, "\"%s\" is of kind %d with %zu tensors, not of kind %d with %u", wanted->path,
                        (int)mdist_value_kind(value), mdist_value_count(value), (int)wanted->kind, count);
    for (uint32_t i = 0; i < count && !atomic_load(&self->differs); ++i) {
        static const Tensor none;
        mdist_tensor_t tensor, indices;
        mdist_error_t *error = NULL;
        mdist_status_t status = mdist_value_tensor(value, i, &tensor, &error);
        if (!expect_status(self, operation, "mdist_value_tensor", MDIST_OK, status, error)) return;
        error = NULL;
        status = mdist_value_indices(value, i, &indices, &error);
        if (!expect_status(self, operation, "mdist_value_indices", MDIST_OK, status, error)) return;
        expect_tensor(self, operation, "the tensor", &wanted->tensors[self->first + i], &tensor);
        const Tensor *const which = wanted->has_rows ? &wanted->indices[self->first + i] : &none;
        expect_tensor(self, operation, "which rows", which, &indices);
    }
}

static void expect_value(Performance *self, const Operation *operation, const Value *wanted,
                         const mdist_value_t *value) {
    if (!wanted->there || value == NULL) {
        if (wanted->there || value != NULL) note_difference(self, operation, "a value is missing, or is one too many");
        return;
    }
    if (!wanted->structured) {
        expect_leaf(self, operation, &wanted->leaves[0], value);
        return;
    }
    if (mdist_value_kind(value) != MDIST_VALUE_STRUCTURE ||
        mdist_value_leaf_count(value) != (size_t)wanted->leaf_count) {
        note_difference(self, operation, "it is of kind %d with %zu leaves, and should be a structure of %d",
                        (int)mdist_value_kind(value), mdist_value_leaf_count(value), wanted->leaf_count);
        return;
    }
    for (int i = 0; i < wanted->leaf_count; ++i) {
        const char *const path = wanted->leaves[i].path, *const given = mdist_value_leaf_path(value, (size_t)i);
        mdist_value_t *leaf = NULL;
        mdist_error_t *error = NULL;
        if (strcmp(given, path) != 0)
            note_difference(self, operation, "leaf %d is at \"%s\", not \"%s\"", i, given, path);
        const mdist_status_t status = mdist_value_at(value, path, &leaf, &error);
        if (expect_status(self, operation, "mdist_value_at", MDIST_OK, status, error))
            expect_leaf(self, operation, &wanted->leaves[i], leaf);
        mdist_value_destroy(leaf);
    }
}

// ---- Operations.

typedef struct LiteralCall {
    Performance *self;
    const Leaf *leaf;
} LiteralCall;

static int32_t literal_of(uint32_t replica_id, uint32_t replica_count, mdist_value_t **out, void *user_data) {
    (void)replica_count;
    const LiteralCall *const call = user_data;
    Bytes bytes;
    const mdist_tensor_t tensor = fill(&call->leaf->tensors[replica_id], &bytes);
    return mdist_value_create(&tensor, out, NULL) == MDIST_OK ? 0 : 1;
}

static mdist_status_t perform_literal(Performance *self, const Operation *operation, mdist_value_t **out,
                                      mdist_error_t **error) {
    const Leaf *const leaf = &operation->literal.leaves[0];
    const uint32_t locals = self->locals;
    Bytes bytes[MOST_REPLICAS];
    mdist_tensor_t tensors[MOST_REPLICAS];
    const int on_gpus = self->gpus[0] >= 0 && operation->code == 0 && leaf->tensors[self->first].elements % 2 == 0;
    for (uint32_t i = 0; i < locals; ++i) {
        tensors[i] = fill(&leaf->tensors[self->first + i], &bytes[i]);
        tensors[i].data = operand_memory(self, i, DEEPEST + 1, 0, on_gpus, bytes[i].bytes);
        if (on_gpus && !write_tensor_bytes(&tensors[i], bytes[i].bytes)) abort();
    }
    if (leaf->kind == MDIST_VALUE_MIRRORED) return mdist_strategy_broadcast(self->strategy, &tensors[0], out, error);
    if (leaf->kind == MDIST_VALUE_PER_REPLICA && operation->code == 0)
        return mdist_value_per_replica(self->strategy, tensors, locals, out, error);
    if (leaf->kind == MDIST_VALUE_PER_REPLICA) {
        LiteralCall call = {self, leaf};
        return mdist_values_from_function(self->strategy, literal_of, &call, out, error);
    }
    if (operation->code == 0) return mdist_value_create(&tensors[0], out, error);
    void *const memory = malloc(sizeof bytes[0]);
    if (memory == NULL) abort();
    memcpy(memory, &bytes[0], sizeof bytes[0]);
    tensors[0].data = memory;
    return mdist_value_wrap(&tensors[0], memory, free, out, error);
}

typedef struct UpdateCall {
    Performance *self;
    const Operation *operation;
    mdist_value_t *value;
} UpdateCall;

/// Assigns to the copy, and returns the copy afterwards as a result.
static int32_t update_copy(uint32_t local, const mdist_tensor_t *copy, const mdist_tensor_t *arguments,
                           size_t argument_count, mdist_value_t **results, size_t result_count, void *user_data) {
    (void)result_count;
    const UpdateCall *const call = user_data;
    Performance *const self = call->self;
    const Operation *const operation = call->operation;
    const uint32_t id = self->first + local;
    mdist_error_t *error = NULL;
    const Value *const argument = &operation->inputs[0];
    if (argument_count != (size_t)argument->leaf_count)
        note_difference(self, operation, "the update has %zu arguments", argument_count);
    for (size_t i = 0; i < argument_count && i < (size_t)argument->leaf_count; ++i)
        expect_tensor(self, operation, "the argument", &argument->leaves[i].tensors[id], &arguments[i]);
    const mdist_status_t status = mdist_variable_assign(self->variables[local][operation->variable],
                                                        (mdist_assign_t)operation->code, call->value, &error);
    expect_status(self, operation, "mdist_variable_assign in the update", operation->inner[id], status, error);
    return mdist_value_create(copy, &results[0], NULL) == MDIST_OK ? 0 : 1;
}

static int32_t fetch_nothing(const mdist_tensor_t *source, mdist_value_t **result, void *user_data) {
    (void)source, (void)result;
    return ((const Operation *)user_data)->code;
}

static mdist_status_t perform_create(Performance *self, const Operation *operation, mdist_error_t **error) {
    const mdist_variable_options_t options = {.struct_size = sizeof options,
                                              .synchronization = operation->synchronization,
                                              .aggregation = operation->aggregation};
    const char name[] = {'v', (char)('0' + operation->variable), '\0'};
    Bytes bytes;
    const mdist_tensor_t initial = fill(&operation->literal.leaves[0].tensors[self->first], &bytes);
    mdist_variable_t *variable = NULL;
    const mdist_status_t status = mdist_variable_create(self->strategy, name, &initial, &variable, &options, error);
    for (uint32_t i = 0; i < self->locals && status == MDIST_OK; ++i)
        self->variables[i][operation->variable] = variable;
    return status;
}

/// Makes a call in a merge that belongs in a step.
static mdist_status_t perform_misplaced(mdist_replica_t *replica, int code, mdist_error_t **error) {
    mdist_tensor_t tensor;
    switch (code) {
        case 0:
            return mdist_barrier(replica, NULL, error);
        case 1:
            return mdist_replica_argument(replica, 0, NULL, &tensor, error);
        case 2:
            return mdist_merge_call(replica, NULL, NULL, NULL, 0, NULL, 0, NULL, error);
        default:
            return mdist_all_reduce(replica, MDIST_SUM, NULL, NULL, 0, NULL, error);
    }
}

static mdist_status_t call(Performance *self, const Operation *operation, mdist_value_t *const *inputs,
                           mdist_value_t **out, mdist_replica_t *replica, mdist_error_t **error) {
    mdist_strategy_t *const strategy = self->strategy;
    mdist_variable_t *const variable = self->variables[0][operation->variable];
    const mdist_reduce_op_t op = (mdist_reduce_op_t)operation->code;
    const char *const destination = destination_here(self, operation->destinations[0]);
    const char *const destinations[2] = {destination, destination_here(self, operation->destinations[1])};
    UpdateCall update = {self, operation, inputs[1]};
    switch (operation->kind) {
        case LITERAL:
            return perform_literal(self, operation, out, error);
        case STRUCTURE:
            return mdist_value_structure(operation->paths, inputs, (size_t)operation->from_count, out, error);
        case AT:
            return mdist_value_at(inputs[0], operation->paths[0], out, error);
        case ROWS:
            return mdist_value_sparse(inputs[0], inputs[1], out, error);
        case REDUCE:
            return mdist_strategy_reduce_axes(strategy, op, inputs[0], operation->axes, (size_t)operation->axis_count,
                                              out, NULL, error);
        case REDUCE_TO:
            return mdist_strategy_reduce_to(strategy, op, &inputs[0], (const char *const[]){destination}, 1, out, NULL,
                                            error);
        case BATCH_REDUCE_TO:
            return mdist_strategy_reduce_to(strategy, op, inputs, destinations, 2, out, NULL, error);
        case GATHER:
            return mdist_strategy_gather(strategy, inputs[0], operation->axes[0], out, NULL, error);
        case FETCH:
            return mdist_strategy_fetch(strategy, inputs[0], destination, operation->code == 0 ? NULL : fetch_nothing,
                                        (void *)operation, out, error);
        case CREATE:
            return perform_create(self, operation, error);
        case ASSIGN:
            return mdist_variable_assign(variable, (mdist_assign_t)operation->code, inputs[0], error);
        case READ:
            return mdist_variable_read(variable, out, NULL, error);
        case UPDATE:
            return mdist_update(variable, update_copy, &update,
                                &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = inputs, .argument_count = 1,
                                                  .results = out, .result_count = 1},
                                error);
        case RUN:
            return perform_run(self, operation, inputs, out, error);
        default: // MISPLACED
            return perform_misplaced(replica, operation->code, error);
    }
}

static void perform(Performance *self, const Operation *operation, Registers *registers, mdist_replica_t *replica) {
    static char untouched;
    mdist_value_t *const before = (mdist_value_t *)&untouched;
    mdist_value_t *inputs[2] = {NULL, NULL}, *out[2] = {before, before};
    mdist_error_t *error = NULL;
    for (int i = 0; i < operation->from_count; ++i) inputs[i] = registers->values[operation->from[i]];
    const mdist_status_t status = call(self, operation, inputs, out, replica, &error);
    const mdist_status_t wanted = operation->statuses[self->first];
    if (!expect_status(self, operation, kind_name(operation->kind), wanted, status, error)) {
        if (status != MDIST_OK && (out[0] != before || out[1] != before))
            note_difference(self, operation, "it failed, and has written an output");
    } else {
        for (int i = 0; i < 2; ++i) {
            if (out[i] == before) {
                if (operation->results[i].there) note_difference(self, operation, "result %d is not written", i);
                continue;
            }
            expect_value(self, operation, &operation->results[i], out[i]);
            mdist_value_destroy(registers->values[operation->to + i]);
            registers->values[operation->to + i] = out[i];
        }
    }
    for (uint32_t i = 0; i < self->locals; ++i) expect_copies(self, operation, i);
}

int32_t perform_block(Performance *self, const Block *block, Registers *registers, mdist_replica_t *replica) {
    for (int i = 0; i < block->count; ++i) {
        const Operation *const operation = block->operations[i];
        if (operation->dropped || operation->skipped) continue;
        if (atomic_load(&self->differs)) return 98;
        if (operation->kind == RETURN) return operation->code;
        perform(self, operation, registers, replica);
    }
    return 0;
}

static void create_groups(Performance *self) {
    const Program *const program = self->program;
    for (int i = 0; i < program->group_count; ++i) {
        const Members *const members = &program->groups[i];
        mdist_error_t *error = NULL;
        const mdist_status_t status =
            mdist_group_create(self->strategy, members->members, members->count, &self->groups[i], &error);
        expect_status(self, NULL, "mdist_group_create", MDIST_OK, status, error);
    }
}

int perform_program(Performance *self, mdist_strategy_t *strategy, const Program *program) {
    Registers registers = {{NULL}};
    memset(self, 0, sizeof *self);
    pthread_mutex_init(&self->mutex, NULL);
    self->strategy = strategy;
    self->program = program;
    const uint32_t worker = mdist_strategy_rank(strategy);
    self->first = program->layout.first[worker];
    self->locals = local_count(&program->layout, worker);
    find_places(self);
    create_groups(self);
    perform_block(self, &program->block, &registers, NULL);
    for (int i = 0; i < REGISTERS; ++i) mdist_value_destroy(registers.values[i]);
    for (uint32_t i = self->locals; i-- > 0;)
        for (int v = 0; v < MOST_VARIABLES; ++v)
            if (i == 0 || self->variables[i][v] != self->variables[0][v]) mdist_variable_destroy(self->variables[i][v]);
    for (int i = 0; i < MOST_GROUPS; ++i) mdist_group_destroy(self->groups[i]);
    pthread_mutex_destroy(&self->mutex);
    leave_places(self);
    return atomic_load(&self->differs);
}
