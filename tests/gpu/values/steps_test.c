// SPDX-License-Identifier: Apache-2.0
// Steps with tensors on GPUs: losses, rows, results, elements of a map, outputs of a loop, checkpoints.
#include "gpu_support.h"

#include <unistd.h>

enum { COUNT = 12 };

/// What the steps of a twin record; one per strategy.
typedef struct Step {
    mdist_variable_t *variable;
    mdist_loop_t *loop;
    double losses[MOST_REPLICAS][2];
    Note notes[MOST_REPLICAS];
} Step;

static void expect_no_notes(const Step *step) {
    for (int i = 0; i < MOST_REPLICAS; ++i) assert_string_equal(step->notes[i].text, "");
}

// ---- Losses.

static int32_t losses_of_argument(mdist_replica_t *replica, void *user_data) {
    Step *const step = user_data;
    const int32_t local = mdist_replica_local_index(replica);
    Note *const notes = &step->notes[local];
    mdist_error_t *error = NULL;
    mdist_tensor_t terms;
    uint64_t batch = 0;
    if (note(notes, MDIST_OK, mdist_replica_argument(replica, 0, NULL, &terms, &error), &error, "argument")) return 1;
    note(notes, MDIST_OK, mdist_average_loss(replica, &terms, &terms, &batch, &step->losses[local][0], NULL, &error),
         &error, "loss");
    note(notes, MDIST_OK, mdist_scale_regularization(replica, &terms, &step->losses[local][1], &error), &error,
         "terms");
    return 0;
}

static void losses_on(mdist_strategy_t *strategy, Step *step) {
    mdist_error_t *error = NULL;
    mdist_value_t *const terms = numbers_of_replicas(strategy, 3, 4, 1);
    OK(mdist_run(strategy, losses_of_argument, step,
                 &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &terms, .argument_count = 1}, &error));
    expect_no_notes(step);
    mdist_value_destroy(terms);
}

static void check_losses(Twins *twins) {
    Step gpu = {0}, cpu = {0};
    losses_on(twins->gpu, &gpu);
    losses_on(twins->cpu, &cpu);
    assert_memory_equal(gpu.losses, cpu.losses, sizeof gpu.losses);
    assert_true(gpu.losses[0][0] != 0);
}

static void losses_are_those_of_the_cpu(void **state) {
    (void)state;
    on_all_devices(check_losses);
}

// ---- Rows.

static int32_t assigns_rows(mdist_replica_t *replica, void *user_data) {
    Step *const step = user_data;
    Note *const notes = &step->notes[mdist_replica_local_index(replica)];
    mdist_error_t *error = NULL;
    mdist_tensor_t rows, all;
    mdist_value_t *sum = NULL;
    int64_t numbers[] = {2, 0, 2};
    const mdist_tensor_t indices = tensor_of(numbers, MDIST_INT64, 3); // on the host; the rows lie on the GPU
    if (note(notes, MDIST_OK, mdist_replica_argument(replica, 0, NULL, &rows, &error), &error, "argument")) return 1;
    note(notes, MDIST_OK, mdist_all_reduce_sparse(replica, MDIST_MEAN, &indices, &rows, &sum, NULL, &error), &error,
         "rows");
    note(notes, MDIST_OK, mdist_value_tensor(sum, 0, &all, &error), &error, "their memory");
    note(notes, MDIST_OK, mdist_replica_set_result(replica, 0, NULL, &all, &error), &error, "result");
    mdist_value_destroy(sum);
    for (int assign = MDIST_ASSIGN_ADD; assign <= MDIST_ASSIGN_DIV; ++assign)
        note(
            notes, MDIST_OK,
            mdist_replica_assign_sparse(replica, step->variable, (mdist_assign_t)assign, &indices, &rows, NULL, &error),
            &error, "assign");
    return 0;
}

static mdist_variable_t *make_variable(mdist_strategy_t *strategy, const char *name) {
    mdist_error_t *error = NULL;
    mdist_variable_t *variable = NULL;
    float numbers[COUNT];
    const mdist_variable_options_t options = {.struct_size = sizeof options, .aggregation = MDIST_AGGREGATION_SUM};
    fill_numbers(numbers, COUNT, 5);
    const uint64_t shape[] = {3, COUNT / 3};
    mdist_tensor_t initial;
    OK(mdist_tensor_describe(numbers, MDIST_FLOAT32, shape, 2, &initial, &error));
    OK(mdist_variable_create(strategy, name, &initial, &variable, &options, &error));
    return variable;
}

static void rows_on(mdist_strategy_t *strategy, mdist_value_t **sum, mdist_value_t **read) {
    mdist_error_t *error = NULL;
    Step step = {.variable = make_variable(strategy, "v")};
    mdist_value_t *const rows = numbers_of_replicas(strategy, 3, COUNT / 3, 0);
    OK(mdist_run(strategy, assigns_rows, &step,
                 &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &rows, .argument_count = 1, .results = sum,
                                   .result_count = 1},
                 &error));
    expect_no_notes(&step);
    OK(mdist_variable_read(step.variable, read, NULL, &error));
    expect_place(*read, 0, -1);
    mdist_value_destroy(rows);
    mdist_variable_destroy(step.variable);
}

static void check_rows(Twins *twins) {
    mdist_value_t *sums[2], *reads[2];
    rows_on(twins->gpu, &sums[0], &reads[0]);
    rows_on(twins->cpu, &sums[1], &reads[1]);
    expect_on_replicas(twins->gpu, sums[0]);
    expect_twins(sums[0], sums[1]);
    expect_twins(reads[0], reads[1]);
}

static void rows_are_summed_and_assigned_in_steps(void **state) {
    (void)state;
    on_all_devices(check_rows);
}

// ---- Elements of a map.

static int32_t element_and_argument(mdist_replica_t *replica, uint64_t element, void *user_data) {
    Note *const notes = &((Step *)user_data)->notes[mdist_replica_local_index(replica)];
    mdist_error_t *error = NULL;
    mdist_tensor_t argument;
    int64_t number = (int64_t)element;
    const mdist_tensor_t own = tensor_of(&number, MDIST_INT64, 0);
    note(notes, MDIST_OK, mdist_replica_argument(replica, 0, NULL, &argument, &error), &error, "argument");
    note(notes, MDIST_OK, mdist_replica_set_result(replica, 0, NULL, &own, &error), &error, "number");
    note(notes, MDIST_OK, mdist_replica_set_result(replica, 1, NULL, &argument, &error), &error, "argument's result");
    return 0;
}

static void map_on(mdist_strategy_t *strategy, mdist_value_t **results) {
    mdist_error_t *error = NULL;
    Step step = {0};
    float numbers[COUNT];
    fill_numbers(numbers, COUNT, 2);
    const mdist_tensor_t tensor = tensor_of(numbers, MDIST_FLOAT32, COUNT);
    mdist_value_t *argument = NULL;
    OK(mdist_strategy_broadcast(strategy, &tensor, &argument, &error));
    OK(mdist_map(strategy, 5, element_and_argument, &step,
                 &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &argument, .argument_count = 1,
                                   .results = results, .result_count = 2},
                 &error));
    expect_no_notes(&step);
    mdist_value_destroy(argument);
}

static void check_map(Twins *twins) {
    mdist_value_t *gpu[2], *cpu[2];
    map_on(twins->gpu, gpu);
    map_on(twins->cpu, cpu);
    for (uint32_t i = 0; i < mdist_value_count(gpu[0]); ++i) expect_place(gpu[0], i, -1);
    expect_on_replicas(twins->gpu, gpu[1]);
    expect_twins(gpu[0], cpu[0]);
    expect_twins(gpu[1], cpu[1]);
}

static void results_of_elements_are_stacked_where_they_lie(void **state) {
    (void)state;
    on_all_devices(check_map);
}

// ---- Outputs of a loop.

static int32_t puts_out(mdist_replica_t *replica, void *user_data) {
    Step *const step = user_data;
    Note *const notes = &step->notes[mdist_replica_local_index(replica)];
    mdist_error_t *error = NULL;
    mdist_tensor_t argument;
    note(notes, MDIST_OK, mdist_replica_argument(replica, 0, NULL, &argument, &error), &error, "argument");
    note(notes, MDIST_OK,
         mdist_replica_set_output(replica, step->loop, "sum", &argument, MDIST_AGGREGATION_SUM, &error), &error, "sum");
    note(
        notes, MDIST_OK,
        mdist_replica_set_output(replica, step->loop, "first", &argument, MDIST_AGGREGATION_ONLY_FIRST_REPLICA, &error),
        &error, "first");
    return 0;
}

static int32_t loop_body(mdist_strategy_t *strategy, mdist_loop_t *loop, mdist_value_t *element, void *user_data) {
    Step *const step = user_data;
    step->loop = loop;
    return mdist_run(strategy, puts_out, step,
                     &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = &element, .argument_count = 1},
                     NULL) == MDIST_OK
               ? 0
               : 1;
}

static mdist_iterator_t *batches_of(mdist_strategy_t *strategy, uint64_t rows, uint64_t batch,
                                    const mdist_input_options_t *options) {
    mdist_error_t *error = NULL;
    static float numbers[64 * 3];
    fill_numbers(numbers, sizeof numbers / sizeof numbers[0], 4);
    const uint64_t shape[] = {rows, 3};
    mdist_tensor_t array;
    mdist_dataset_t *source = NULL, *batches = NULL, *dealt = NULL;
    mdist_iterator_t *iterator = NULL;
    OK(mdist_tensor_describe(numbers, MDIST_FLOAT32, shape, 2, &array, &error));
    OK(mdist_dataset_from_tensors(&array, 1, NULL, NULL, &source, NULL, &error));
    OK(mdist_dataset_batch(source, batch, &batches, NULL, &error));
    OK(mdist_distribute_dataset(strategy, batches, &dealt, options, &error));
    OK(mdist_iterator_create(dealt, &iterator, &error));
    mdist_dataset_destroy(source);
    mdist_dataset_destroy(batches);
    mdist_dataset_destroy(dealt);
    return iterator;
}

static mdist_value_t *outputs_on(mdist_strategy_t *strategy) {
    mdist_error_t *error = NULL;
    Step step = {0};
    mdist_iterator_t *const iterator = batches_of(strategy, 24, 6, NULL);
    mdist_loop_t *loop = NULL;
    mdist_value_t *outputs = NULL;
    OK(mdist_run_steps(strategy, iterator, 4, loop_body, &step, NULL, &loop, NULL, &error));
    expect_no_notes(&step);
    OK(mdist_loop_outputs(loop, &outputs, &error));
    mdist_loop_destroy(loop);
    mdist_iterator_destroy(iterator);
    return outputs;
}

static void check_loop(Twins *twins) {
    expect_twins(outputs_on(twins->gpu), outputs_on(twins->cpu));
}

static void outputs_of_a_loop_are_aggregated(void **state) {
    (void)state;
    on_all_devices(check_loop);
}

// ---- Checkpoints.

static void save_or_restore(mdist_strategy_t *strategy, mdist_variable_t *variable, const char *folder, int save) {
    mdist_error_t *error = NULL;
    mdist_checkpoint_t *checkpoint = NULL;
    OK(mdist_checkpoint_create(strategy, folder, 1, &checkpoint, &error));
    OK(mdist_checkpoint_add(checkpoint, "v", variable, &error));
    if (save) OK(mdist_checkpoint_save(checkpoint, 1, NULL, &error));
    if (!save) OK(mdist_checkpoint_restore(checkpoint, 1, NULL, NULL, &error));
    mdist_checkpoint_destroy(checkpoint);
}

static void check_checkpoints(Twins *twins) {
    mdist_error_t *error = NULL;
    char folder[] = "/tmp/mdist_gpu_checkpoint_XXXXXX", command[128];
    assert_non_null(mkdtemp(folder));
    mdist_variable_t *const saved = make_variable(twins->gpu, "saved");
    mdist_variable_t *const restored = make_variable(twins->gpu, "restored");
    mdist_variable_t *const on_cpu = make_variable(twins->cpu, "restored");
    float zeros[COUNT] = {0};
    const uint64_t shape[] = {3, COUNT / 3};
    mdist_tensor_t tensor;
    mdist_value_t *nothing = NULL, *reads[3];
    OK(mdist_tensor_describe(zeros, MDIST_FLOAT32, shape, 2, &tensor, &error));
    OK(mdist_value_create(&tensor, &nothing, &error));
    OK(mdist_variable_assign(restored, MDIST_ASSIGN_SET, nothing, &error));
    OK(mdist_variable_assign(on_cpu, MDIST_ASSIGN_SET, nothing, &error));
    save_or_restore(twins->gpu, saved, folder, 1);
    save_or_restore(twins->gpu, restored, folder, 0);
    save_or_restore(twins->cpu, on_cpu, folder, 0);
    OK(mdist_variable_read(saved, &reads[0], NULL, &error));
    OK(mdist_variable_read(restored, &reads[1], NULL, &error));
    OK(mdist_variable_read(on_cpu, &reads[2], NULL, &error));
    expect_same_value(reads[0], reads[2]);
    expect_twins(reads[0], reads[1]);
    for (uint32_t i = 0; i < twins->replicas; ++i) {
        mdist_tensor_t one, other;
        OK(mdist_variable_tensor(saved, i, &one, &error));
        OK(mdist_variable_tensor(restored, i, &other, &error));
        expect_same_tensor(&one, &other);
    }
    mdist_value_destroy(reads[2]);
    mdist_value_destroy(nothing);
    mdist_variable_destroy(saved);
    mdist_variable_destroy(restored);
    mdist_variable_destroy(on_cpu);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void checkpoints_go_between_gpus_and_the_cpu(void **state) {
    (void)state;
    on_all_devices(check_checkpoints);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_those_of_the_cpu),
        cmocka_unit_test(rows_are_summed_and_assigned_in_steps),
        cmocka_unit_test(results_of_elements_are_stacked_where_they_lie),
        cmocka_unit_test(outputs_of_a_loop_are_aggregated),
        cmocka_unit_test(checkpoints_go_between_gpus_and_the_cpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
