// SPDX-License-Identifier: Apache-2.0
// Cases of a client's input and its loops.
#include "in_graph.h"

void input_is_cut_for_all(const Client *self) {
    float rows[2 * MOST] = {0, 1, 2, 3, 4, 5, 6, 7};
    const mdist_tensor_t tensor = tensor_of(rows, MDIST_FLOAT32, self->replicas);
    mdist_dataset_t *source = NULL, *batches = NULL, *cut = NULL;
    mdist_iterator_t *iterator = NULL;
    mdist_value_t *element = NULL, *doubled = NULL;
    GIVES(MDIST_OK, mdist_dataset_from_tensors(&tensor, 1, NULL, NULL, &source, NULL, &error));
    GIVES(MDIST_OK, mdist_dataset_batch(source, self->replicas, &batches, NULL, &error));
    GIVES(MDIST_OK, mdist_distribute_dataset(self->strategy, batches, &cut, NULL, &error));
    GIVES(MDIST_OK, mdist_iterator_create(cut, &iterator, &error));
    GIVES(MDIST_OK, mdist_iterator_next(iterator, &element, 1, &error));
    GIVES(MDIST_OK, mdist_run_named(self->strategy, "double",
                                    &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &element,
                                                      .argument_count = 1, .results = &doubled, .result_count = 1},
                                    &error));
    has(self, doubled, 0, 2);
    mdist_value_destroy(element);
    GIVES(MDIST_END, mdist_iterator_next(iterator, &element, 1, &error));
    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(cut);
    mdist_dataset_destroy(batches);
    mdist_dataset_destroy(source);
}

/// Doubles its element, and sets that as output.
static int32_t double_and_put_out(mdist_strategy_t *strategy, mdist_loop_t *loop, mdist_value_t *element,
                                  void *user_data) {
    (void)user_data;
    mdist_value_t *doubled = NULL;
    GIVES(MDIST_OK, mdist_run_named(strategy, "double",
                                    &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &element,
                                                      .argument_count = 1, .results = &doubled, .result_count = 1},
                                    &error));
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

void a_loop_goes_over_all_replicas(const Client *self) {
    float rows[MOST] = {0, 1, 2, 3};
    const mdist_tensor_t tensor = tensor_of(rows, MDIST_FLOAT32, self->replicas);
    mdist_dataset_t *source = NULL, *batches = NULL, *cut = NULL;
    mdist_iterator_t *iterator = NULL;
    mdist_loop_t *loop = NULL;
    mdist_value_t *outputs = NULL;
    GIVES(MDIST_OK, mdist_dataset_from_tensors(&tensor, 1, NULL, NULL, &source, NULL, &error));
    GIVES(MDIST_OK, mdist_dataset_batch(source, self->replicas, &batches, NULL, &error));
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
