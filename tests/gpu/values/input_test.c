// SPDX-License-Identifier: Apache-2.0
// Distributed datasets of strategies on GPUs, prefetched or not. Each replica's part lies on its GPU, and has the same
// content as on the CPU.
#include "gpu_support.h"

enum { ROWS = 22, WIDTH = 3 };

static mdist_dataset_t *make_batches(uint64_t batch) {
    static float numbers[ROWS * WIDTH];
    static int64_t labels[ROWS];
    mdist_error_t *error = NULL;
    const uint64_t shape[] = {ROWS, WIDTH};
    mdist_tensor_t arrays[2];
    mdist_dataset_t *rows = NULL, *batches = NULL;
    if (labels[1] == 0) { // once: threads of other datasets may read them
        fill_numbers(numbers, ROWS * WIDTH, 1);
        for (int i = 0; i < ROWS; ++i) labels[i] = i;
    }
    OK(mdist_tensor_describe(numbers, MDIST_FLOAT32, shape, 2, &arrays[0], &error));
    arrays[1] = tensor_of(labels, MDIST_INT64, ROWS);
    OK(mdist_dataset_from_tensors(arrays, 2, NULL, NULL, &rows, NULL, &error));
    OK(mdist_dataset_batch(rows, batch, &batches, NULL, &error));
    mdist_dataset_destroy(rows);
    return batches;
}

static mdist_iterator_t *iterator_on(mdist_strategy_t *strategy, int32_t fetch) {
    mdist_error_t *error = NULL;
    const mdist_input_options_t options = {.struct_size = sizeof options, .fetch_to_device = fetch, .buffer_size = 2};
    mdist_dataset_t *const batches = make_batches(4);
    mdist_dataset_t *dealt = NULL;
    mdist_iterator_t *iterator = NULL;
    OK(mdist_distribute_dataset(strategy, batches, &dealt, &options, &error));
    OK(mdist_iterator_create(dealt, &iterator, &error));
    mdist_dataset_destroy(dealt);
    mdist_dataset_destroy(batches);
    return iterator;
}

/// Takes the next elements of both, up to `most`, and compares them. Returns how many there were.
static int expect_same_elements(Twins *twins, mdist_iterator_t *gpu, mdist_iterator_t *cpu, int most, int on_gpus) {
    mdist_error_t *error = NULL;
    for (int count = 0; count < most; ++count) {
        mdist_value_t *here[2] = {NULL, NULL}, *there[2] = {NULL, NULL};
        const mdist_status_t status = mdist_iterator_next(cpu, there, 2, &error);
        CHECK(status, mdist_iterator_next(gpu, here, 2, &error), error);
        if (status != MDIST_OK) return count;
        for (int component = 0; component < 2; ++component) {
            if (on_gpus) expect_on_replicas(twins->gpu, here[component]);
            for (uint32_t i = 0; !on_gpus && i < twins->replicas; ++i) expect_place(here[component], i, -1);
            expect_twins(here[component], there[component]);
        }
    }
    return most;
}

static void check_elements(Twins *twins) {
    mdist_error_t *error = NULL;
    for (int32_t fetch = -1; fetch <= 1; ++fetch) {
        mdist_iterator_t *const gpu = iterator_on(twins->gpu, fetch), *const cpu = iterator_on(twins->cpu, fetch);
        assert_int_equal(expect_same_elements(twins, gpu, cpu, 100, fetch != -1), 6);
        OK(mdist_iterator_close(gpu, &error));
        mdist_iterator_destroy(gpu);
        mdist_iterator_destroy(cpu);
    }
}

static void each_part_lies_on_its_replicas_gpu(void **state) {
    (void)state;
    on_all_devices(check_elements);
}

static void check_prefetched(Twins *twins) {
    mdist_iterator_t *const gpu = iterator_on(twins->gpu, 0), *const cpu = iterator_on(twins->cpu, 0);
    assert_int_equal(expect_same_elements(twins, gpu, cpu, 3, 1), 3);
    mdist_iterator_destroy(gpu); // while elements are being copied
    mdist_iterator_destroy(cpu);
}

static void the_configuration_prefetches_onto_gpus(void **state) {
    (void)state;
    for (int i = 0; i < DEVICES; ++i) {
        Twins twins = make_twins(kDevices[i], "data.prefetch_on_device", "true");
        check_prefetched(&twins);
        destroy_twins(&twins);
    }
}

// ---- One dataset for each replica, and one for all replicas in turn.

static int32_t range_of_pipeline(const mdist_input_context_t *context, mdist_dataset_t **out, void *user_data) {
    (void)user_data;
    mdist_dataset_t *numbers = NULL;
    int32_t failed = mdist_dataset_range((int64_t)context->pipeline * 100, (int64_t)context->pipeline * 100 + 7, 1,
                                         &numbers, NULL, NULL) != MDIST_OK;
    failed = failed || mdist_dataset_batch(numbers, 2, out, NULL, NULL) != MDIST_OK;
    mdist_dataset_destroy(numbers);
    return failed;
}

static mdist_iterator_t *iterator_from_function(mdist_strategy_t *strategy, int32_t mode, uint32_t flags) {
    mdist_error_t *error = NULL;
    const mdist_input_options_t options = {.struct_size = sizeof options, .replication_mode = mode, .flags = flags};
    mdist_dataset_t *dealt = NULL;
    mdist_iterator_t *iterator = NULL;
    OK(mdist_distribute_from_function(strategy, range_of_pipeline, NULL, &dealt, &options, &error));
    OK(mdist_iterator_create(dealt, &iterator, &error));
    mdist_dataset_destroy(dealt);
    return iterator;
}

static void check_functions(Twins *twins) {
    static const uint32_t flags[] = {0, 0, MDIST_INPUT_PLACE_ON_DEVICE};
    static const int32_t modes[] = {MDIST_REPLICATION_PER_WORKER, MDIST_REPLICATION_PER_REPLICA,
                                    MDIST_REPLICATION_PER_REPLICA};
    mdist_error_t *error = NULL;
    for (int i = 0; i < 3; ++i) {
        mdist_iterator_t *const gpu = iterator_from_function(twins->gpu, modes[i], flags[i]);
        mdist_iterator_t *const cpu = iterator_from_function(twins->cpu, modes[i], flags[i]);
        for (;;) {
            mdist_value_t *here = NULL, *there = NULL;
            const mdist_status_t status = mdist_iterator_next(cpu, &there, 1, &error);
            CHECK(status, mdist_iterator_next(gpu, &here, 1, &error), error);
            if (status != MDIST_OK) break;
            expect_on_replicas(twins->gpu, here);
            expect_twins(here, there);
        }
        mdist_iterator_destroy(gpu);
        mdist_iterator_destroy(cpu);
    }
}

static void parts_made_by_a_function_lie_there_too(void **state) {
    (void)state;
    on_all_devices(check_functions);
}

// ---- Positions.

static void check_positions(Twins *twins) {
    mdist_error_t *error = NULL;
    char position[4096];
    mdist_iterator_t *const gpu = iterator_on(twins->gpu, 1), *const cpu = iterator_on(twins->cpu, 1);
    assert_int_equal(expect_same_elements(twins, gpu, cpu, 2, 1), 2);
    OK(mdist_iterator_save(gpu, position, sizeof position, NULL, &error));
    mdist_iterator_t *const again = iterator_on(twins->gpu, 1);
    OK(mdist_iterator_restore(again, position, &error));
    assert_int_equal(expect_same_elements(twins, again, cpu, 100, 1), 4);
    mdist_iterator_destroy(gpu);
    mdist_iterator_destroy(cpu);
    mdist_iterator_destroy(again);
}

static void positions_are_saved_and_restored(void **state) {
    (void)state;
    on_all_devices(check_positions);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_part_lies_on_its_replicas_gpu),
        cmocka_unit_test(the_configuration_prefetches_onto_gpus),
        cmocka_unit_test(parts_made_by_a_function_lie_there_too),
        cmocka_unit_test(positions_are_saved_and_restored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
