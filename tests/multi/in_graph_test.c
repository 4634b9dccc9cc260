// SPDX-License-Identifier: Apache-2.0
// Workers that one of them leads: what the client does goes for the replicas of all workers, and what it is refused
// costs nothing.
#include "multi.h"

#include <unistd.h>

enum { MOST = 4 /* replicas */ };

// --- steps and updates, on all workers alike

static mdist_tensor_t argument(mdist_replica_t *replica, size_t index, const char *path) {
    mdist_tensor_t tensor = {0};
    GIVES(MDIST_OK, mdist_replica_argument_at(replica, index, path, &tensor, &error));
    return tensor;
}

static void set(mdist_replica_t *replica, size_t index, const char *path, float number) {
    const mdist_tensor_t tensor = tensor_of(&number, MDIST_FLOAT32, 1);
    GIVES(MDIST_OK, mdist_replica_set_result_at(replica, index, path, &tensor, &error));
}

static float number_at(mdist_replica_t *replica, size_t index, const char *path) {
    return *(const float *)argument(replica, index, path).data;
}

/// Arguments per replica, mirrored, plain and of a structure; a result, and one of a structure.
static int32_t combine(mdist_replica_t *replica, void *user_data) {
    REQUIRE(*(const int *)user_data == 7);
    const float own = number_at(replica, 0, ""), same = number_at(replica, 1, ""), plain = number_at(replica, 2, "");
    set(replica, 0, "", own + same + plain);
    set(replica, 1, "own.0", number_at(replica, 3, "a") + own);
    set(replica, 1, "rank", (float)rank);
    return 0;
}

/// The sum of all replicas' ids, by a collective; in a merge; and of a run in the merge.
static int32_t nested(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                      mdist_value_t **results, size_t result_count, void *user_data) {
    (void)argument_count, (void)result_count, (void)user_data;
    const uint32_t locals = mdist_strategy_local_replica_count(strategy);
    REQUIRE(mdist_value_count(arguments[0]) == locals && locals * worker_count <= MOST);
    mdist_value_t *sum = NULL;
    GIVES(MDIST_OK, mdist_reduce(strategy, MDIST_SUM, arguments[0], NULL, 0, &sum, NULL, &error));
    GIVES(MDIST_OK, mdist_run_named(strategy, "double", &sum, 1, results, 1, NULL, &error));
    mdist_value_destroy(sum);
    return 0;
}

static int32_t twice(mdist_replica_t *replica, void *user_data) {
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

/// Adds the argument to "v" in the way of its aggregation, and gives this replica's copy.
static int32_t add(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    mdist_strategy_t *strategy = NULL;
    mdist_variable_t *variable = NULL;
    GIVES(MDIST_OK, mdist_current_strategy(&strategy, &error));
    GIVES(MDIST_OK, mdist_variable_find(strategy, "v", &variable, &error));
    const mdist_tensor_t tensor = argument(replica, 0, "");
    GIVES(MDIST_OK, mdist_replica_assign(replica, variable, MDIST_ASSIGN_ADD, &tensor, NULL, &error));
    mdist_tensor_t copy;
    const uint32_t local = (uint32_t)mdist_replica_local_index(replica);
    GIVES(MDIST_OK, mdist_variable_tensor(variable, local, &copy, &error));
    GIVES(MDIST_OK, mdist_replica_set_result(replica, 0, &copy, &error));
    mdist_variable_destroy(variable);
    return 0;
}

/// Subtracts the argument; gives the copy's index on its worker.
static int32_t subtract(uint32_t local_replica, const mdist_tensor_t *copy, const mdist_tensor_t *arguments,
                        size_t argument_count, mdist_value_t **results, size_t result_count, void *user_data) {
    (void)user_data;
    REQUIRE(argument_count == 1 && result_count == 1);
    if (copy != NULL) *(float *)copy->data -= *(const float *)arguments[0].data;
    float index = (float)local_replica;
    const mdist_tensor_t tensor = tensor_of(&index, MDIST_FLOAT32, 1);
    GIVES(MDIST_OK, mdist_value_create(&tensor, &results[0], &error));
    return 0;
}

// --- the client

typedef struct Client {
    mdist_strategy_t *strategy;
    uint32_t replicas, per_worker;
} Client;

static mdist_value_t *plain(float number) {
    const mdist_tensor_t tensor = tensor_of(&number, MDIST_FLOAT32, 1);
    mdist_value_t *value = NULL;
    GIVES(MDIST_OK, mdist_value_create(&tensor, &value, &error));
    return value;
}

/// replica id * 10
static int32_t ten_times(uint32_t replica_id, uint32_t replica_count, mdist_value_t **out, void *user_data) {
    (void)replica_count, (void)user_data;
    *out = plain(10 * (float)replica_id);
    return 0;
}

static mdist_value_t *per_replica(const Client *self) {
    mdist_value_t *value = NULL;
    GIVES(MDIST_OK, mdist_values_from_function(self->strategy, ten_times, NULL, &value, &error));
    REQUIRE(mdist_value_count(value) == self->replicas);
    return value;
}

static float number_of(const mdist_value_t *value, size_t index) {
    mdist_tensor_t tensor;
    GIVES(MDIST_OK, mdist_value_tensor(value, index, &tensor, &error));
    return *(const float *)tensor.data;
}

/// Its tensor of replica r is base + r * by_replica; frees it.
static void has(const Client *self, mdist_value_t *value, float base, float by_replica) {
    REQUIRE(mdist_value_count(value) == self->replicas);
    for (uint32_t r = 0; r < self->replicas; ++r) {
        if (number_of(value, r) == base + (float)r * by_replica) continue;
        fprintf(stderr, "replica %u has %g\n", r, (double)number_of(value, r));
        GIVE_UP("another number than it should have");
    }
    mdist_value_destroy(value);
}

static mdist_value_t *leaf(const mdist_value_t *value, const char *path) {
    mdist_value_t *out = NULL;
    GIVES(MDIST_OK, mdist_value_at(value, path, &out, &error));
    return out;
}

static void its_local_replicas_are_all(const Client *self) {
    char name[64], wanted[64];
    REQUIRE(mdist_strategy_local_replica_count(self->strategy) == self->replicas);
    for (uint32_t r = 0; r < self->replicas; ++r) {
        const unsigned worker = r / self->per_worker, local = r % self->per_worker;
        GIVES(MDIST_OK, mdist_strategy_device(self->strategy, r, name, sizeof name, NULL, &error));
        if (worker == 0) snprintf(wanted, sizeof wanted, "cpu:%u", local);
        if (worker != 0) snprintf(wanted, sizeof wanted, "worker:%u/cpu:%u", worker, local);
        REQUIRE(strcmp(name, wanted) == 0);
    }
}

static void a_run_is_everybodys(const Client *self) {
    const char *const path = "a";
    float five = 5;
    const mdist_tensor_t tensor = tensor_of(&five, MDIST_FLOAT32, 1);
    mdist_value_t *own = per_replica(self), *arguments[4] = {own, NULL, plain(100), NULL}, *results[2];
    GIVES(MDIST_OK, mdist_broadcast_to(self->strategy, &tensor, &arguments[1], &error));
    GIVES(MDIST_OK, mdist_value_structure(&path, &own, 1, &arguments[3], &error));
    GIVES(MDIST_OK, mdist_run_named(self->strategy, "combine", arguments, 4, results, 2, NULL, &error));
    has(self, results[0], 105, 10);
    has(self, leaf(results[1], "own.0"), 0, 20);
    mdist_value_t *ranks = leaf(results[1], "rank");
    for (uint32_t r = 0; r < self->replicas; ++r) REQUIRE(number_of(ranks, r) == (float)(r / self->per_worker));
    mdist_value_destroy(ranks);
    mdist_value_destroy(results[1]);
    for (int i = 0; i < 4; ++i) mdist_value_destroy(arguments[i]);
}

static void collectives_and_merges_are_among_all(const Client *self) {
    const float sum = (float)(self->replicas * (self->replicas - 1)) / 2;
    mdist_value_t *results[2];
    GIVES(MDIST_OK, mdist_run_named(self->strategy, "together", NULL, 0, results, 2, NULL, &error));
    has(self, results[0], sum, 0);
    has(self, results[1], 2 * sum, 0);
}

static void values_are_reduced_here(const Client *self) {
    const float replicas = (float)self->replicas;
    mdist_value_t *own = per_replica(self), *out = NULL;
    GIVES(MDIST_OK, mdist_reduce(self->strategy, MDIST_SUM, own, NULL, 0, &out, NULL, &error));
    REQUIRE(number_of(out, 0) == 10 * replicas * (replicas - 1) / 2);
    mdist_value_destroy(out);
    GIVES(MDIST_OK, mdist_reduce_to(self->strategy, MDIST_MAX, own, NULL, &out, NULL, &error));
    has(self, out, 10 * (replicas - 1), 0);
    GIVES(MDIST_OK, mdist_reduce_to(self->strategy, MDIST_MEAN, own, "worker:1/cpu:0", &out, NULL, &error));
    REQUIRE(number_of(out, 0) == 10 * (replicas - 1) / 2);
    mdist_value_destroy(out);
    GIVES(MDIST_OK, mdist_gather(self->strategy, own, 0, &out, NULL, &error));
    mdist_tensor_t tensor;
    GIVES(MDIST_OK, mdist_value_tensor(out, 0, &tensor, &error));
    REQUIRE(tensor.shape[0] == self->replicas &&
            ((const float *)tensor.data)[self->replicas - 1] == 10 * replicas - 10);
    GIVES(MDIST_ERR_INVALID_ARGUMENT, mdist_reduce(self->strategy, MDIST_SUM, out, NULL, 0, &out, NULL, &error));
    mdist_value_destroy(out);
    mdist_value_destroy(own);
}

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
    GIVES(MDIST_OK, mdist_run_named(self->strategy, "add", &argument_value, 1, &result, 1, NULL, &error));
    mdist_value_destroy(argument_value);
    return result;
}

static void a_mirrored_variable_is_one(const Client *self) {
    const float mean = 10 * (float)(self->replicas - 1) / 2;
    mdist_variable_t *variable = make(self, MDIST_SYNC_ON_WRITE, MDIST_AGGREGATION_MEAN, 3);
    has(self, run_add(self, per_replica(self)), 3 + mean, 0);
    REQUIRE(read_variable(variable) == 3 + mean);
    mdist_value_t *one = plain(1), *own = per_replica(self), *result = NULL;
    GIVES(MDIST_OK, mdist_variable_assign(variable, MDIST_ASSIGN_SET, one, &error));
    GIVES(MDIST_OK, mdist_update_named(self->strategy, variable, "subtract", &one, 1, &result, 1, &error));
    for (uint32_t r = 0; r < self->replicas; ++r) REQUIRE(number_of(result, r) == (float)(r % self->per_worker));
    mdist_value_destroy(result);
    has(self, run_add(self, plain(4)), 4, 0);
    // Each copy its own tensor: they differ from then on.
    GIVES(MDIST_OK, mdist_variable_assign(variable, MDIST_ASSIGN_SET, own, &error));
    has(self, run_add(self, plain(1)), 1, 10);
    GIVES(MDIST_OK, mdist_update_named(self->strategy, NULL, "subtract", &one, 1, &result, 1, &error));
    mdist_value_destroy(result);
    mdist_value_destroy(own);
    mdist_value_destroy(one);
    mdist_variable_destroy(variable);
}

/// Of the name of one that was destroyed before.
static void one_synchronized_on_read_is_summed_over_all(const Client *self) {
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

/// Rows of tables are values too, and what is long goes in pieces.
static void rows_and_long_tensors_get_there(const Client *self) {
    enum { ROWS = 3, WIDTH = 40000 };
    static float numbers[ROWS][WIDTH];
    mdist_tensor_t table = tensor_of(numbers, MDIST_FLOAT32, ROWS);
    table.rank = 2, table.shape[1] = WIDTH;
    int64_t which = 1;
    const mdist_tensor_t indices = tensor_of(&which, MDIST_INT64, 1);
    mdist_variable_t *variable = NULL;
    mdist_value_t *index = NULL, *row = NULL, *rows = NULL, *read = NULL;
    GIVES(MDIST_OK, mdist_variable_create(self->strategy, "table", &table, &variable, NULL, &error));
    for (int i = 0; i < WIDTH; ++i) numbers[0][i] = (float)i;
    table.shape[0] = 1;
    GIVES(MDIST_OK, mdist_value_create(&indices, &index, &error));
    GIVES(MDIST_OK, mdist_value_create(&table, &row, &error));
    GIVES(MDIST_OK, mdist_value_rows(index, row, &rows, &error));
    GIVES(MDIST_OK, mdist_variable_assign(variable, MDIST_ASSIGN_ADD, rows, &error));
    GIVES(MDIST_OK, mdist_run_named(self->strategy, "look", NULL, 0, &read, 1, NULL, &error));
    has(self, read, WIDTH - 1, 0);
    mdist_value_destroy(rows);
    mdist_value_destroy(row);
    mdist_value_destroy(index);
    mdist_variable_destroy(variable);
}

/// The last number of row 1 of "table" in this replica's copy.
static int32_t look(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    mdist_strategy_t *strategy = NULL;
    mdist_variable_t *variable = NULL;
    mdist_tensor_t copy;
    GIVES(MDIST_OK, mdist_current_strategy(&strategy, &error));
    GIVES(MDIST_OK, mdist_variable_find(strategy, "table", &variable, &error));
    const uint32_t local = (uint32_t)mdist_replica_local_index(replica);
    GIVES(MDIST_OK, mdist_variable_tensor(variable, local, &copy, &error));
    set(replica, 0, "", ((const float *)copy.data)[2 * copy.shape[1] - 1]);
    mdist_variable_destroy(variable);
    return 0;
}

static void input_is_cut_for_all(const Client *self) {
    float rows[2 * MOST] = {0, 1, 2, 3, 4, 5, 6, 7};
    const mdist_tensor_t tensor = tensor_of(rows, MDIST_FLOAT32, self->replicas);
    mdist_dataset_t *source = NULL, *batches = NULL, *cut = NULL;
    mdist_iterator_t *iterator = NULL;
    mdist_value_t *element = NULL, *doubled = NULL;
    GIVES(MDIST_OK, mdist_dataset_from_tensors(&tensor, 1, NULL, NULL, &source, &error));
    GIVES(MDIST_OK, mdist_dataset_batch(source, self->replicas, 0, &batches, &error));
    GIVES(MDIST_OK, mdist_distribute_dataset(self->strategy, batches, &cut, NULL, &error));
    GIVES(MDIST_OK, mdist_iterator_create(cut, &iterator, &error));
    GIVES(MDIST_OK, mdist_iterator_next(iterator, &element, 1, &error));
    GIVES(MDIST_OK, mdist_run_named(self->strategy, "double", &element, 1, &doubled, 1, NULL, &error));
    has(self, doubled, 0, 2);
    mdist_value_destroy(element);
    GIVES(MDIST_END, mdist_iterator_next(iterator, &element, 1, &error));
    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(cut);
    mdist_dataset_destroy(batches);
    mdist_dataset_destroy(source);
}

/// Doubles its element, and puts that out.
static int32_t double_and_put_out(mdist_strategy_t *strategy, mdist_loop_t *loop, mdist_value_t *element,
                                  void *user_data) {
    (void)user_data;
    mdist_value_t *doubled = NULL;
    GIVES(MDIST_OK, mdist_run_named(strategy, "double", &element, 1, &doubled, 1, NULL, &error));
    GIVES(MDIST_OK, mdist_loop_set_output(loop, "mean", doubled, MDIST_AGGREGATION_MEAN, &error));
    GIVES(MDIST_OK, mdist_loop_set_output(loop, "first", doubled, MDIST_AGGREGATION_ONLY_FIRST_REPLICA, &error));
    mdist_value_destroy(doubled);
    return 0;
}

static float output_of(const mdist_value_t *outputs, const char *path) {
    mdist_value_t *leaf = NULL;
    GIVES(MDIST_OK, mdist_value_at(outputs, path, &leaf, &error));
    const float number = number_of(leaf, 0);
    mdist_value_destroy(leaf);
    return number;
}

static void a_loop_goes_over_all_replicas(const Client *self) {
    float rows[MOST] = {0, 1, 2, 3};
    const mdist_tensor_t tensor = tensor_of(rows, MDIST_FLOAT32, self->replicas);
    mdist_dataset_t *source = NULL, *batches = NULL, *cut = NULL;
    mdist_iterator_t *iterator = NULL;
    mdist_loop_t *loop = NULL;
    mdist_value_t *outputs = NULL;
    GIVES(MDIST_OK, mdist_dataset_from_tensors(&tensor, 1, NULL, NULL, &source, &error));
    GIVES(MDIST_OK, mdist_dataset_batch(source, self->replicas, 0, &batches, &error));
    GIVES(MDIST_OK, mdist_distribute_dataset(self->strategy, batches, &cut, NULL, &error));
    GIVES(MDIST_OK, mdist_iterator_create(cut, &iterator, &error));
    GIVES(MDIST_OK, mdist_run_steps(self->strategy, iterator, 1, double_and_put_out, NULL, NULL, &loop, NULL, &error));
    GIVES(MDIST_OK, mdist_loop_outputs(loop, &outputs, &error));
    REQUIRE(output_of(outputs, "mean") == (float)(self->replicas - 1) && output_of(outputs, "first") == 0);
    mdist_value_destroy(outputs);
    mdist_loop_destroy(loop);
    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(cut);
    mdist_dataset_destroy(batches);
    mdist_dataset_destroy(source);
}

/// Reads "v" in a merge, which takes all workers.
static int32_t read_together(mdist_strategy_t *strategy, mdist_value_t *const *arguments, size_t argument_count,
                             mdist_value_t **results, size_t result_count, void *user_data) {
    (void)arguments, (void)argument_count, (void)result_count, (void)user_data;
    mdist_variable_t *variable = NULL;
    GIVES(MDIST_OK, mdist_variable_find(strategy, "v", &variable, &error));
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

/// The client's, which others must not have to wait for.
static void what_the_client_has_cached_is_its_own(const Client *self) {
    const float replicas = (float)self->replicas;
    mdist_variable_t *variable = make(self, MDIST_SYNC_ON_READ, MDIST_AGGREGATION_SUM, 2);
    mdist_value_t *read = NULL;
    GIVES(MDIST_OK, mdist_cached_reads_enter(self->strategy, &error));
    REQUIRE(read_variable(variable) == 2 * replicas);
    has(self, run_add(self, plain(1)), 3, 0);
    REQUIRE(read_variable(variable) == 2 * replicas);
    GIVES(MDIST_OK, mdist_run_named(self->strategy, "read", NULL, 0, &read, 1, NULL, &error));
    has(self, read, 3 * replicas, 0);
    GIVES(MDIST_OK, mdist_cached_reads_exit(self->strategy, &error));
    REQUIRE(read_variable(variable) == 3 * replicas);
    mdist_variable_destroy(variable);
}

/// A fetch function stands where the client stands.
static int32_t fetch_and_run(const mdist_tensor_t *tensor, mdist_value_t **out, void *user_data) {
    const Client *self = user_data;
    REQUIRE(*(const float *)tensor->data == 5);
    REQUIRE(mdist_strategy_local_replica_count(self->strategy) == self->replicas);
    mdist_value_t *doubled = NULL;
    mdist_value_t *five = plain(5);
    GIVES(MDIST_OK, mdist_run_named(self->strategy, "double", &five, 1, &doubled, 1, NULL, &error));
    mdist_value_destroy(five);
    *out = plain(number_of(doubled, self->replicas - 1));
    mdist_value_destroy(doubled);
    return 0;
}

static void a_fetch_function_may_command(Client *self) {
    float five = 5;
    const mdist_tensor_t tensor = tensor_of(&five, MDIST_FLOAT32, 1);
    mdist_value_t *mirrored = NULL, *fetched = NULL;
    GIVES(MDIST_OK, mdist_broadcast_to(self->strategy, &tensor, &mirrored, &error));
    GIVES(MDIST_OK, mdist_fetch(self->strategy, mirrored, "worker:1/cpu:0", fetch_and_run, self, &fetched, &error));
    REQUIRE(number_of(fetched, 0) == 10);
    mdist_value_destroy(fetched);
    mdist_value_destroy(mirrored);
}

static int32_t no_element(mdist_replica_t *replica, uint64_t element, void *user_data) {
    (void)replica, (void)element, (void)user_data;
    return 1;
}

/// What is saved is put back into the copies of all.
static void a_checkpoint_is_everybodys(const Client *self) {
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

/// What the client is refused before anybody else hears of it.
static void what_cannot_be_is_refused(const Client *self) {
    mdist_strategy_t *strategy = self->strategy;
    mdist_variable_t *variable = make(self, MDIST_SYNC_ON_WRITE, MDIST_AGGREGATION_NONE, 0), *another = NULL;
    mdist_value_t *result = NULL, *odd = NULL;
    mdist_tensor_t tensor;
    mdist_buffer_t arena;
    mdist_preemption_t *preemption = NULL;
    int32_t verdict = 0;
    float two[2] = {0};
    const mdist_tensor_t wrong = tensor_of(two, MDIST_FLOAT32, 2);
    GIVES(MDIST_OK, mdist_value_create(&wrong, &odd, &error));
    GIVES(MDIST_ERR_UNSUPPORTED, mdist_run(strategy, twice, NULL, NULL, 0, NULL, 0, NULL, &error));
    REQUIRE(strcmp(reason, "in_graph") == 0 && strstr(message, "mdist_run_named") != NULL);
    GIVES(MDIST_ERR_UNSUPPORTED, mdist_map(strategy, 3, no_element, NULL, NULL, 0, NULL, 0, NULL, &error));
    GIVES(MDIST_ERR_UNSUPPORTED, mdist_run_begin(strategy, NULL, 0, 0, NULL, &error));
    GIVES(MDIST_ERR_UNSUPPORTED, mdist_update(variable, subtract, NULL, &odd, 1, &result, 1, &error));
    REQUIRE(strstr(message, "mdist_update_named") != NULL);
    GIVES(MDIST_ERR_UNSUPPORTED, mdist_update_non_slot(strategy, subtract, NULL, &odd, 1, &result, 1, &error));
    GIVES(MDIST_ERR_UNSUPPORTED, mdist_variable_tensor(variable, self->replicas - 1, &tensor, &error));
    GIVES(MDIST_ERR_UNSUPPORTED, mdist_variable_arena(strategy, MDIST_FLOAT32, self->replicas - 1, &arena, &error));
    GIVES(MDIST_ERR_INVALID_ARGUMENT, mdist_variable_tensor(variable, self->replicas, &tensor, &error));
    GIVES(MDIST_OK, mdist_preemption_create(strategy, &preemption, NULL, &error));
    GIVES(MDIST_ERR_UNSUPPORTED, mdist_preemption_check(preemption, &verdict, NULL, NULL, &error));
    mdist_preemption_destroy(preemption);
    GIVES(MDIST_ERR_WRONG_CONTEXT, mdist_serve(strategy, NULL, &error));
    GIVES(MDIST_ERR_NOT_FOUND, mdist_run_named(strategy, "triple", NULL, 0, NULL, 0, NULL, &error));
    REQUIRE(strstr(message, "\"double\"") != NULL);
    GIVES(MDIST_ERR_NOT_FOUND, mdist_update_named(strategy, variable, "double", NULL, 0, NULL, 0, &error));
    GIVES(MDIST_ERR_NOT_FOUND, mdist_variable_find(strategy, "w", &another, &error));
    GIVES(MDIST_ERR_FAILED_PRECONDITION, mdist_step_register(strategy, "late", twice, NULL, &error));
    GIVES(MDIST_ERR_INVALID_ARGUMENT, mdist_variable_assign(variable, MDIST_ASSIGN_SET, odd, &error));
    GIVES(MDIST_ERR_INVALID_ARGUMENT, mdist_variable_create(strategy, "v", &wrong, &another, NULL, &error));
    mdist_value_destroy(odd);
    mdist_variable_destroy(variable);
}

static void lead(mdist_strategy_t *strategy) {
    const uint32_t replicas = mdist_strategy_replica_count(strategy);
    Client self = {strategy, replicas, replicas / worker_count};
    its_local_replicas_are_all(&self);
    a_run_is_everybodys(&self);
    collectives_and_merges_are_among_all(&self);
    values_are_reduced_here(&self);
    a_mirrored_variable_is_one(&self);
    one_synchronized_on_read_is_summed_over_all(&self);
    rows_and_long_tensors_get_there(&self);
    input_is_cut_for_all(&self);
    a_loop_goes_over_all_replicas(&self);
    what_the_client_has_cached_is_its_own(&self);
    a_fetch_function_may_command(&self);
    a_checkpoint_is_everybodys(&self);
    what_cannot_be_is_refused(&self);
    a_run_is_everybodys(&self);
}

static void serve(mdist_strategy_t *strategy) {
    mdist_value_t *result = NULL;
    REQUIRE(mdist_strategy_local_replica_count(strategy) * worker_count == mdist_strategy_replica_count(strategy));
    GIVES(MDIST_ERR_WRONG_CONTEXT, mdist_run_named(strategy, "double", NULL, 0, &result, 1, NULL, &error));
    REQUIRE(strstr(message, "mdist_serve") != NULL);
    GIVES(MDIST_ERR_WRONG_CONTEXT, mdist_run(strategy, twice, NULL, NULL, 0, NULL, 0, NULL, &error));
    GIVES(MDIST_OK, mdist_serve(strategy, NULL, &error));
}

static void all_that_there_is(void) {
    static int seven = 7;
    mdist_strategy_t *strategy = join();
    GIVES(MDIST_OK, mdist_step_register(strategy, "combine", combine, &seven, &error));
    GIVES(MDIST_OK, mdist_step_register(strategy, "together", together, NULL, &error));
    GIVES(MDIST_OK, mdist_step_register(strategy, "double", twice, NULL, &error));
    GIVES(MDIST_OK, mdist_step_register(strategy, "add", add, NULL, &error));
    GIVES(MDIST_OK, mdist_step_register(strategy, "look", look, NULL, &error));
    GIVES(MDIST_OK, mdist_step_register(strategy, "read", merge_and_read, NULL, &error));
    GIVES(MDIST_OK, mdist_update_register(strategy, "subtract", subtract, NULL, &error));
    rank == 0 ? lead(strategy) : serve(strategy);
    mdist_strategy_destroy(strategy);
}

// --- a client that says nothing

static void nothing_to_do(void) {
    mdist_strategy_t *strategy = join();
    if (rank != 0) GIVES(MDIST_OK, mdist_serve(strategy, NULL, &error));
    mdist_strategy_destroy(strategy);
}

// --- the tests

#define IN_GRAPH "MDIST_STRATEGY=in_graph"

static void check(const char *scenario, uint32_t workers, const char *devices, const char *variable) {
    const char *const environment[] = {IN_GRAPH, variable, NULL};
    const Workers job = {.scenario = scenario, .count = workers, .devices = devices, .environment = environment};
    assert_int_equal(run_workers(&job), 0);
}

static void the_clients_doings_go_for_the_replicas_of_all(void **unused) {
    (void)unused;
    check("all_that_there_is", 2, "cpu*1", NULL);
    check("all_that_there_is", 2, "cpu*2", NULL);
    check("all_that_there_is", 3, "cpu*1", NULL);
    check("all_that_there_is", 2, "cpu*2", "MDIST_COMMUNICATION_IMPLEMENTATION=tcp");
    check("all_that_there_is", 2, "cpu*1", "MDIST_EXECUTOR=caller");
}

static void serving_ends_with_the_client(void **unused) {
    (void)unused;
    check("nothing_to_do", 3, "cpu*1", NULL);
    check("nothing_to_do", 2, "cpu*2", "MDIST_COMMUNICATION_IMPLEMENTATION=tcp");
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clients_doings_go_for_the_replicas_of_all),
        cmocka_unit_test(serving_ends_with_the_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {
        {"all_that_there_is", all_that_there_is},
        {"nothing_to_do", nothing_to_do},
    };
    return multi_main(argument_count, arguments, scenarios, sizeof scenarios / sizeof scenarios[0], test_all);
}
