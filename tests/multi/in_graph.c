// SPDX-License-Identifier: Apache-2.0
// The steps and updates that all workers register, and helpers for the client's values.
#include "in_graph.h"

static mdist_tensor_t argument(mdist_replica_t *replica, size_t index, const char *path) {
    mdist_tensor_t tensor = {0};
    GIVES(MDIST_OK, mdist_replica_argument(replica, index, path, &tensor, &error));
    return tensor;
}

static void set(mdist_replica_t *replica, size_t index, const char *path, float number) {
    const mdist_tensor_t tensor = tensor_of(&number, MDIST_FLOAT32, 1);
    GIVES(MDIST_OK, mdist_replica_set_result(replica, index, path, &tensor, &error));
}

static float number_at(mdist_replica_t *replica, size_t index, const char *path) {
    return *(const float *)argument(replica, index, path).data;
}

/// Combines arguments of all kinds: per replica, mirrored, plain and structured. Gives a plain result and a structured
/// one.
static int32_t combine(mdist_replica_t *replica, void *user_data) {
    REQUIRE(*(const int *)user_data == 7);
    const float own = number_at(replica, 0, ""), same = number_at(replica, 1, ""), plain = number_at(replica, 2, "");
    set(replica, 0, "", own + same + plain);
    set(replica, 1, "own.0", number_at(replica, 3, "a") + own);
    set(replica, 1, "rank", (float)rank);
    return 0;
}

/// Sums the ids of all replicas in three ways: by a collective, in a merge, and in a run inside the merge.
static int32_t nested(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                      mdist_value_t **results, size_t result_count, void *user_data) {
    (void)argument_count, (void)result_count, (void)user_data;
    const uint32_t locals = mdist_strategy_local_replica_count(strategy);
    REQUIRE(mdist_value_count(arguments[0]) == locals && first_replica_of[worker_count] <= MOST);
    mdist_value_t *sum = NULL;
    GIVES(MDIST_OK, mdist_strategy_reduce(strategy, MDIST_SUM, arguments[0], &sum, NULL, &error));
    GIVES(MDIST_OK, mdist_run_named(strategy, "double",
                                    &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &sum, .argument_count = 1,
                                                      .results = results, .result_count = 1},
                                    &error));
    mdist_value_destroy(sum);
    return 0;
}

int32_t twice(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    set(replica, 0, "", 2 * number_at(replica, 0, ""));
    return 0;
}

static int32_t together(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    float id = (float)mdist_replica_id(replica);
    const mdist_tensor_t own = tensor_of(&id, MDIST_FLOAT32, 1);
    mdist_tensor_t merged;
    GIVES(MDIST_OK, mdist_merge_call(replica, nested, NULL, &own, 1, &merged, 1, NULL, &error));
    const mdist_buffer_t buffer = buffer_of(&id, MDIST_FLOAT32, 1);
    GIVES(MDIST_OK, mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, &error));
    set(replica, 0, "", id);
    set(replica, 1, "", *(const float *)merged.data);
    return 0;
}

/// Adds the argument to "v", which follows the variable's aggregation. Gives this replica's copy.
static int32_t add(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    mdist_strategy_t *strategy = NULL;
    mdist_variable_t *variable = NULL;
    GIVES(MDIST_OK, mdist_current_strategy(&strategy, &error));
    GIVES(MDIST_OK, mdist_variable_named(strategy, "v", &variable, &error));
    const mdist_tensor_t tensor = argument(replica, 0, "");
    GIVES(MDIST_OK, mdist_replica_assign(replica, variable, MDIST_ASSIGN_ADD, &tensor, NULL, &error));
    mdist_tensor_t copy;
    const uint32_t local = mdist_replica_local_index(replica);
    GIVES(MDIST_OK, mdist_variable_tensor(variable, local, &copy, &error));
    GIVES(MDIST_OK, mdist_replica_set_result(replica, 0, NULL, &copy, &error));
    mdist_variable_destroy(variable);
    return 0;
}

/// Subtracts all tensors of the arguments. Gives the copy's index on its worker.
int32_t subtract(uint32_t local_replica, const mdist_tensor_t *copy, const mdist_tensor_t *arguments,
                 size_t argument_count, mdist_value_t **results, size_t result_count, void *user_data) {
    (void)user_data;
    REQUIRE(argument_count >= 1 && result_count == 1);
    for (size_t i = 0; copy != NULL && i < argument_count; ++i)
        *(float *)copy->data -= *(const float *)arguments[i].data;
    float index = (float)local_replica;
    const mdist_tensor_t tensor = tensor_of(&index, MDIST_FLOAT32, 1);
    GIVES(MDIST_OK, mdist_value_create(&tensor, &results[0], &error));
    return 0;
}

/// Gives the last number of row 1 of "table" in this replica's copy.
static int32_t look(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    mdist_strategy_t *strategy = NULL;
    mdist_variable_t *variable = NULL;
    mdist_tensor_t copy;
    GIVES(MDIST_OK, mdist_current_strategy(&strategy, &error));
    GIVES(MDIST_OK, mdist_variable_named(strategy, "table", &variable, &error));
    const uint32_t local = mdist_replica_local_index(replica);
    GIVES(MDIST_OK, mdist_variable_tensor(variable, local, &copy, &error));
    set(replica, 0, "", ((const float *)copy.data)[2 * copy.shape[1] - 1]);
    mdist_variable_destroy(variable);
    return 0;
}

/// Reads "v" in a merge. All workers take part.
static int32_t read_together(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                             mdist_value_t **results, size_t result_count, void *user_data) {
    (void)arguments, (void)argument_count, (void)result_count, (void)user_data;
    mdist_variable_t *variable = NULL;
    GIVES(MDIST_OK, mdist_variable_named(strategy, "v", &variable, &error));
    GIVES(MDIST_OK, mdist_variable_read(variable, &results[0], NULL, &error));
    mdist_variable_destroy(variable);
    return 0;
}

static int32_t merge_and_read(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    mdist_tensor_t read;
    GIVES(MDIST_OK, mdist_merge_call(replica, read_together, NULL, NULL, 0, &read, 1, NULL, &error));
    set(replica, 0, "", *(const float *)read.data);
    return 0;
}

void register_all(mdist_strategy_t *strategy) {
    static int seven = 7;
    GIVES(MDIST_OK, mdist_step_register(strategy, "combine", combine, &seven, &error));
    GIVES(MDIST_OK, mdist_step_register(strategy, "together", together, NULL, &error));
    GIVES(MDIST_OK, mdist_step_register(strategy, "double", twice, NULL, &error));
    GIVES(MDIST_OK, mdist_step_register(strategy, "add", add, NULL, &error));
    GIVES(MDIST_OK, mdist_step_register(strategy, "look", look, NULL, &error));
    GIVES(MDIST_OK, mdist_step_register(strategy, "read", merge_and_read, NULL, &error));
    GIVES(MDIST_OK, mdist_update_register(strategy, "subtract", subtract, NULL, &error));
}

mdist_value_t *plain(float number) {
    const mdist_tensor_t tensor = tensor_of(&number, MDIST_FLOAT32, 1);
    mdist_value_t *value = NULL;
    GIVES(MDIST_OK, mdist_value_create(&tensor, &value, &error));
    return value;
}

/// Makes the value replica id * 10.
static int32_t ten_times(uint32_t replica_id, uint32_t replica_count, mdist_value_t **out, void *user_data) {
    (void)replica_count, (void)user_data;
    *out = plain(10 * (float)replica_id);
    return 0;
}

mdist_value_t *per_replica(const Client *self) {
    mdist_value_t *value = NULL;
    GIVES(MDIST_OK, mdist_values_from_function(self->strategy, ten_times, NULL, &value, &error));
    REQUIRE(mdist_value_count(value) == self->replicas);
    return value;
}

float number_of(const mdist_value_t *value, size_t index) {
    mdist_tensor_t tensor;
    GIVES(MDIST_OK, mdist_value_tensor(value, index, &tensor, &error));
    return *(const float *)tensor.data;
}

/// Checks that the value's tensor of replica r is base + r * by_replica. Frees the value.
void has(const Client *self, mdist_value_t *value, float base, float by_replica) {
    REQUIRE(mdist_value_count(value) == self->replicas);
    for (uint32_t r = 0; r < self->replicas; ++r) {
        if (number_of(value, r) == base + (float)r * by_replica) continue;
        fprintf(stderr, "replica %u has %g\n", r, (double)number_of(value, r));
        GIVE_UP("another number than it should have");
    }
    mdist_value_destroy(value);
}

mdist_value_t *leaf(const mdist_value_t *value, const char *path) {
    mdist_value_t *out = NULL;
    GIVES(MDIST_OK, mdist_value_at(value, path, &out, &error));
    return out;
}
