// SPDX-License-Identifier: Apache-2.0
// Cases of a client's variables, their checkpoints, and calls that a client may not make.
#include "in_graph.h"

#include <unistd.h>

static float read_variable(mdist_variable_t *variable) {
    mdist_value_t *value = NULL;
    GIVES(MDIST_OK, mdist_variable_read(variable, &value, NULL, &error));
    const float number = number_of(value, 0);
    mdist_value_destroy(value);
    return number;
}

static mdist_variable_t *make(const Client *self, int32_t synchronization, int32_t aggregation, float initial) {
    const mdist_variable_options_t options = {
        .struct_size = sizeof options, .synchronization = synchronization, .aggregation = aggregation};
    const mdist_tensor_t tensor = tensor_of(&initial, MDIST_FLOAT32, 1);
    mdist_variable_t *variable = NULL;
    GIVES(MDIST_OK, mdist_variable_create(self->strategy, "v", &tensor, &variable, &options, &error));
    return variable;
}

static mdist_value_t *run_add(const Client *self, mdist_value_t *argument_value) {
    mdist_value_t *result = NULL;
    GIVES(MDIST_OK, mdist_run_named(self->strategy, "add",
                                    &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &argument_value,
                                                      .argument_count = 1, .results = &result, .result_count = 1},
                                    &error));
    mdist_value_destroy(argument_value);
    return result;
}

void a_mirrored_variable_is_one(const Client *self) {
    const float mean = 10 * (float)(self->replicas - 1) / 2;
    mdist_variable_t *variable = make(self, MDIST_SYNC_ON_WRITE, MDIST_AGGREGATION_MEAN, 3);
    has(self, run_add(self, per_replica(self)), 3 + mean, 0);
    REQUIRE(read_variable(variable) == 3 + mean);
    mdist_value_t *one = plain(1), *own = per_replica(self), *result = NULL;
    GIVES(MDIST_OK, mdist_variable_assign(variable, MDIST_ASSIGN_SET, one, &error));
    GIVES(MDIST_OK, mdist_update_named(self->strategy, variable, "subtract",
                                       &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &one, .argument_count = 1,
                                                         .results = &result, .result_count = 1},
                                       &error));
    for (uint32_t r = 0; r < self->replicas; ++r) REQUIRE(number_of(result, r) == (float)local_of(r));
    mdist_value_destroy(result);
    has(self, run_add(self, plain(4)), 4, 0);
    // Each copy gets its own tensor: the copies differ from here on.
    GIVES(MDIST_OK, mdist_variable_assign(variable, MDIST_ASSIGN_SET, own, &error));
    has(self, run_add(self, plain(1)), 1, 10);
    GIVES(MDIST_OK, mdist_update_named(self->strategy, NULL, "subtract",
                                       &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &one, .argument_count = 1,
                                                         .results = &result, .result_count = 1},
                                       &error));
    mdist_value_destroy(result);
    mdist_value_destroy(own);
    mdist_value_destroy(one);
    mdist_variable_destroy(variable);
}

/// Updates see the tensors of a structure one after another. Each copy gets its own.
void an_update_takes_structures(const Client *self) {
    static const char *const paths[] = {"lr", "own"};
    mdist_value_t *parts[] = {plain(1), per_replica(self)}, *structure = NULL, *result = NULL;
    mdist_variable_t *variable = make(self, MDIST_SYNC_ON_WRITE, MDIST_AGGREGATION_MEAN, 3);
    GIVES(MDIST_OK, mdist_value_structure(paths, parts, 2, &structure, &error));
    GIVES(MDIST_OK, mdist_update_named(self->strategy, variable, "subtract",
                                       &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &structure,
                                                         .argument_count = 1, .results = &result, .result_count = 1},
                                       &error));
    mdist_value_destroy(result);
    has(self, run_add(self, plain(0)), 3 - 1, -10);
    mdist_value_destroy(structure);
    for (int i = 0; i < 2; ++i) mdist_value_destroy(parts[i]);
    mdist_variable_destroy(variable);
}

/// The variable has the name of one that was destroyed before.
void one_synchronized_on_read_is_summed_over_all(const Client *self) {
    const float replicas = (float)self->replicas;
    mdist_variable_t *variable = make(self, MDIST_SYNC_ON_READ, MDIST_AGGREGATION_SUM, 2);
    REQUIRE(read_variable(variable) == 2 * replicas);
    has(self, run_add(self, per_replica(self)), 2, 10);
    REQUIRE(read_variable(variable) == 2 * replicas + 10 * replicas * (replicas - 1) / 2);
    mdist_value_t *total = plain(6 * replicas);
    GIVES(MDIST_OK, mdist_variable_assign(variable, MDIST_ASSIGN_SET, total, &error));
    GIVES(MDIST_ERR_FAILED_PRECONDITION, mdist_variable_assign(variable, MDIST_ASSIGN_ADD, total, &error));
    mdist_value_destroy(total);
    has(self, run_add(self, plain(0)), 6, 0);
    mdist_variable_destroy(variable);
}

/// The client's cached read must not need the other workers.
void what_the_client_has_cached_is_its_own(const Client *self) {
    const float replicas = (float)self->replicas;
    mdist_variable_t *variable = make(self, MDIST_SYNC_ON_READ, MDIST_AGGREGATION_SUM, 2);
    mdist_value_t *read = NULL;
    GIVES(MDIST_OK, mdist_cached_reads_enter(self->strategy, &error));
    REQUIRE(read_variable(variable) == 2 * replicas);
    has(self, run_add(self, plain(1)), 3, 0);
    REQUIRE(read_variable(variable) == 2 * replicas);
    GIVES(MDIST_OK,
          mdist_run_named(self->strategy, "read",
                          &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &read, .result_count = 1}, &error));
    has(self, read, 3 * replicas, 0);
    GIVES(MDIST_OK, mdist_cached_reads_exit(self->strategy, &error));
    REQUIRE(read_variable(variable) == 3 * replicas);
    mdist_variable_destroy(variable);
}

static int32_t no_element(mdist_replica_t *replica, uint64_t element, void *user_data) {
    (void)replica, (void)element, (void)user_data;
    return 1;
}

/// Saved values are restored into the copies of all workers.
void a_checkpoint_is_everybodys(const Client *self) {
    char folder[] = "/tmp/mdist-in-graph-XXXXXX", file[128];
    REQUIRE(mkdtemp(folder) != NULL);
    mdist_variable_t *variable = make(self, MDIST_SYNC_ON_READ, MDIST_AGGREGATION_SUM, 0);
    mdist_checkpoint_t *checkpoint = NULL;
    GIVES(MDIST_OK, mdist_checkpoint_create(self->strategy, folder, 0, &checkpoint, &error));
    GIVES(MDIST_OK, mdist_checkpoint_add(checkpoint, NULL, variable, &error));
    has(self, run_add(self, per_replica(self)), 0, 10);
    const float total = read_variable(variable);
    GIVES(MDIST_OK, mdist_checkpoint_save(checkpoint, 1, NULL, &error));
    has(self, run_add(self, plain(1)), 1, 10);
    GIVES(MDIST_OK, mdist_checkpoint_restore(checkpoint, MDIST_LATEST, NULL, NULL, &error));
    REQUIRE(read_variable(variable) == total);
    has(self, run_add(self, plain(0)), total / (float)self->replicas, 0);
    mdist_checkpoint_destroy(checkpoint);
    mdist_variable_destroy(variable);
    static const char *const names[] = {"checkpoint-1.safetensors", "checkpoints.json"};
    for (size_t i = 0; i < 2; ++i) {
        snprintf(file, sizeof file, "%s/%s", folder, names[i]);
        unlink(file);
    }
    rmdir(folder);
}

/// Wrong calls fail on the client before any other worker hears of them.
void what_cannot_be_is_refused(const Client *self) {
    mdist_strategy_t *strategy = self->strategy;
    mdist_variable_t *variable = make(self, MDIST_SYNC_ON_WRITE, MDIST_AGGREGATION_NONE, 0), *another = NULL;
    mdist_value_t *result = NULL, *odd = NULL;
    mdist_tensor_t tensor;
    mdist_buffer_t arena;
    int32_t verdict = 0;
    float two[2] = {0};
    const mdist_tensor_t wrong = tensor_of(two, MDIST_FLOAT32, 2);
    GIVES(MDIST_OK, mdist_value_create(&wrong, &odd, &error));
    GIVES(MDIST_ERR_UNSUPPORTED, mdist_run(strategy, twice, NULL, NULL, &error));
    REQUIRE(strcmp(reason, "in_graph") == 0 && strstr(message, "mdist_run_named") != NULL);
    GIVES(MDIST_ERR_UNSUPPORTED, mdist_map(strategy, 3, no_element, NULL, NULL, &error));
    GIVES(MDIST_ERR_UNSUPPORTED, mdist_run_begin(strategy, NULL, &error));
    const uint32_t zero = 0;
    mdist_group_t *group = NULL;
    GIVES(MDIST_ERR_UNSUPPORTED, mdist_group_create(strategy, &zero, 1, &group, &error));
    GIVES(MDIST_ERR_UNSUPPORTED,
          mdist_update(variable, subtract, NULL,
                       &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &odd, .argument_count = 1,
                                         .results = &result, .result_count = 1},
                       &error));
    REQUIRE(strstr(message, "mdist_update_named") != NULL);
    GIVES(MDIST_ERR_UNSUPPORTED,
          mdist_update_devices(strategy, subtract, NULL,
                               &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &odd, .argument_count = 1,
                                                 .results = &result, .result_count = 1},
                               &error));
    GIVES(MDIST_ERR_UNSUPPORTED, mdist_variable_tensor(variable, self->replicas - 1, &tensor, &error));
    GIVES(MDIST_ERR_UNSUPPORTED, mdist_variable_arena(strategy, MDIST_FLOAT32, self->replicas - 1, &arena, &error));
    GIVES(MDIST_ERR_INVALID_ARGUMENT, mdist_variable_tensor(variable, self->replicas, &tensor, &error));
    GIVES(MDIST_ERR_UNSUPPORTED, mdist_membership_check(strategy, &verdict, NULL, NULL, &error));
    GIVES(MDIST_ERR_WRONG_CONTEXT, mdist_serve(strategy, NULL, &error));
    GIVES(MDIST_ERR_NOT_FOUND, mdist_run_named(strategy, "triple", NULL, &error));
    REQUIRE(strstr(message, "\"double\"") != NULL);
    GIVES(MDIST_ERR_NOT_FOUND, mdist_update_named(strategy, variable, "double", NULL, &error));
    GIVES(MDIST_ERR_NOT_FOUND, mdist_variable_named(strategy, "w", &another, &error));
    GIVES(MDIST_ERR_FAILED_PRECONDITION, mdist_step_register(strategy, "late", twice, NULL, &error));
    GIVES(MDIST_ERR_INVALID_ARGUMENT, mdist_variable_assign(variable, MDIST_ASSIGN_SET, odd, &error));
    GIVES(MDIST_ERR_INVALID_ARGUMENT, mdist_variable_create(strategy, "v", &wrong, &another, NULL, &error));
    mdist_value_destroy(odd);
    mdist_variable_destroy(variable);
}
