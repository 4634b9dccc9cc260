// SPDX-License-Identifier: Apache-2.0
// Cases of a client's runs, collectives and values.
#include "in_graph.h"

uint32_t worker_of(uint32_t replica) {
    uint32_t worker = 0;
    while (first_replica_of[worker + 1] <= replica) ++worker;
    return worker;
}

uint32_t local_of(uint32_t replica) {
    return replica - first_replica_of[worker_of(replica)];
}

void its_local_replicas_are_all(const Client *self) {
    char name[64], wanted[64];
    REQUIRE(mdist_strategy_local_replica_count(self->strategy) == self->replicas);
    for (uint32_t r = 0; r < self->replicas; ++r) {
        const unsigned worker = worker_of(r), local = local_of(r);
        GIVES(MDIST_OK, mdist_strategy_device(self->strategy, r, name, sizeof name, NULL, &error));
        if (worker == 0) snprintf(wanted, sizeof wanted, "%s", device_name(local));
        if (worker != 0) snprintf(wanted, sizeof wanted, "worker:%u/%s", worker, device_name(local));
        REQUIRE(strcmp(name, wanted) == 0);
    }
}

void a_run_is_everybodys(const Client *self) {
    const char *const path = "a";
    float five = 5;
    const mdist_tensor_t tensor = tensor_of(&five, MDIST_FLOAT32, 1);
    mdist_value_t *own = per_replica(self), *arguments[4] = {own, NULL, plain(100), NULL}, *results[2];
    GIVES(MDIST_OK, mdist_strategy_broadcast(self->strategy, &tensor, &arguments[1], &error));
    GIVES(MDIST_OK, mdist_value_structure(&path, &own, 1, &arguments[3], &error));
    GIVES(MDIST_OK, mdist_run_named(self->strategy, "combine",
                                    &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = arguments,
                                                      .argument_count = 4, .results = results, .result_count = 2},
                                    &error));
    has(self, results[0], 105, 10);
    has(self, leaf(results[1], "own.0"), 0, 20);
    mdist_value_t *ranks = leaf(results[1], "rank");
    for (uint32_t r = 0; r < self->replicas; ++r) REQUIRE(number_of(ranks, r) == (float)worker_of(r));
    mdist_value_destroy(ranks);
    mdist_value_destroy(results[1]);
    for (int i = 0; i < 4; ++i) mdist_value_destroy(arguments[i]);
}

void collectives_and_merges_are_among_all(const Client *self) {
    const float sum = (float)(self->replicas * (self->replicas - 1)) / 2;
    mdist_value_t *results[2];
    GIVES(MDIST_OK,
          mdist_run_named(self->strategy, "together",
                          &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = results, .result_count = 2}, &error));
    has(self, results[0], sum, 0);
    has(self, results[1], 2 * sum, 0);
}

void values_are_reduced_here(const Client *self) {
    const float replicas = (float)self->replicas;
    mdist_value_t *own = per_replica(self), *out = NULL;
    GIVES(MDIST_OK, mdist_strategy_reduce(self->strategy, MDIST_SUM, own, &out, NULL, &error));
    REQUIRE(number_of(out, 0) == 10 * replicas * (replicas - 1) / 2);
    mdist_value_destroy(out);
    GIVES(MDIST_OK, mdist_strategy_reduce_to(self->strategy, MDIST_MAX, &own, NULL, 1, &out, NULL, &error));
    has(self, out, 10 * (replicas - 1), 0);
    GIVES(MDIST_OK, mdist_strategy_reduce_to(self->strategy, MDIST_MEAN, &own,
                                             (const char *const[]){on_gpus() ? "worker:1/gpu:0" : "worker:1/cpu:0"}, 1,
                                             &out, NULL, &error));
    REQUIRE(number_of(out, 0) == 10 * (replicas - 1) / 2);
    mdist_value_destroy(out);
    GIVES(MDIST_OK, mdist_strategy_gather(self->strategy, own, 0, &out, NULL, &error));
    mdist_tensor_t tensor;
    GIVES(MDIST_OK, mdist_value_tensor(out, 0, &tensor, &error));
    REQUIRE(tensor.shape[0] == self->replicas &&
            ((const float *)tensor.data)[self->replicas - 1] == 10 * replicas - 10);
    GIVES(MDIST_ERR_INVALID_ARGUMENT, mdist_strategy_reduce(self->strategy, MDIST_SUM, out, &out, NULL, &error));
    mdist_value_destroy(out);
    mdist_value_destroy(own);
}

/// Rows of tables are values, too. Long tensors are sent in pieces.
void rows_and_long_tensors_get_there(const Client *self) {
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
    GIVES(MDIST_OK, mdist_value_sparse(index, row, &rows, &error));
    GIVES(MDIST_OK, mdist_variable_assign(variable, MDIST_ASSIGN_ADD, rows, &error));
    GIVES(MDIST_OK,
          mdist_run_named(self->strategy, "look",
                          &(mdist_run_io_t){sizeof(mdist_run_io_t), .results = &read, .result_count = 1}, &error));
    has(self, read, WIDTH - 1, 0);
    mdist_value_destroy(rows);
    mdist_value_destroy(row);
    mdist_value_destroy(index);
    mdist_variable_destroy(variable);
}

/// A fetch function runs in the client's context, so it may run steps.
static int32_t fetch_and_run(const mdist_tensor_t *tensor, mdist_value_t **out, void *user_data) {
    const Client *self = user_data;
    REQUIRE(*(const float *)tensor->data == 5);
    REQUIRE(mdist_strategy_local_replica_count(self->strategy) == self->replicas);
    mdist_value_t *doubled = NULL;
    mdist_value_t *five = plain(5);
    GIVES(MDIST_OK, mdist_run_named(self->strategy, "double",
                                    &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &five, .argument_count = 1,
                                                      .results = &doubled, .result_count = 1},
                                    &error));
    mdist_value_destroy(five);
    *out = plain(number_of(doubled, self->replicas - 1));
    mdist_value_destroy(doubled);
    return 0;
}

void a_fetch_function_may_command(Client *self) {
    float five = 5;
    const mdist_tensor_t tensor = tensor_of(&five, MDIST_FLOAT32, 1);
    mdist_value_t *mirrored = NULL, *fetched = NULL;
    GIVES(MDIST_OK, mdist_strategy_broadcast(self->strategy, &tensor, &mirrored, &error));
    GIVES(MDIST_OK, mdist_strategy_fetch(self->strategy, mirrored, on_gpus() ? "worker:1/gpu:0" : "worker:1/cpu:0",
                                         fetch_and_run, self, &fetched, &error));
    REQUIRE(number_of(fetched, 0) == 10);
    mdist_value_destroy(fetched);
    mdist_value_destroy(mirrored);
}
