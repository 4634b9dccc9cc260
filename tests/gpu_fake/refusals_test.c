// SPDX-License-Identifier: Apache-2.0
// Wrong calls in a process with GPUs fail with a message: GPU memory where only host memory works (whatever its tensor
// says), and a call that asks for another implementation than the strategy's.
#include "gpu_support.h"
#include "started.h"

#include <unistd.h>

/// A tensor in memory of gpu:0, allocated by the library, without a strategy.
static void *room;

static int make_room(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0");
    OK(mdist_alloc(strategy, 0, 1024, &room, &error));
    mdist_strategy_destroy(strategy);
    return 0;
}

static int free_room(void **state) {
    (void)state;
    mdist_free(room);
    return 0;
}

#define REFUSED(call, words)                                  \
    do {                                                      \
        assert_int_equal((call), MDIST_ERR_INVALID_ARGUMENT); \
        WORDS(error, words);                                  \
        mdist_error_free(error);                              \
        error = NULL;                                         \
    } while (0)

static int32_t leave_alone(const mdist_tensor_t *inputs, size_t input_count, const mdist_tensor_t *outputs,
                           size_t output_count, void *user_data) {
    (void)inputs, (void)input_count, (void)outputs, (void)output_count, (void)user_data;
    return 0;
}

static void datasets_take_memory_of_the_host(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_dataset_t *rows = NULL, *out = NULL;
    float numbers[8] = {0};
    const mdist_tensor_t here = tensor_of(numbers, MDIST_FLOAT32, 8), there = on_gpu(room, MDIST_FLOAT32, 8, 0),
                         unsaid = tensor_of(room, MDIST_FLOAT32, 8);
    REFUSED(mdist_dataset_from_tensors(&there, 1, NULL, NULL, &out, NULL, &error), "array 0 is said to lie on gpu:0");
    REFUSED(mdist_dataset_from_tensors(&unsaid, 1, NULL, NULL, &out, NULL, &error), "array 0 lies on gpu:0");

    OK(mdist_dataset_from_tensors(&here, 1, NULL, NULL, &rows, NULL, &error));
    const mdist_tensor_t padding = {.data = room, .dtype = MDIST_FLOAT32};
    REFUSED(mdist_dataset_padded_batch(rows, 3, &padding, 1, &out, NULL, &error), "padding 0 lies on gpu:0");
    REFUSED(mdist_dataset_map(rows, leave_alone, NULL, NULL, &there, 1, &out, NULL, &error), "output 0 is said to lie");
    OK(mdist_dataset_map(rows, leave_alone, NULL, NULL, &unsaid, 1, &out, NULL,
                         &error)); // which never uses that memory
    mdist_dataset_destroy(out);
    mdist_dataset_destroy(rows);
}

static void a_record_is_memory_of_the_host(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_record_writer_t *writer = NULL;
    char path[] = "/tmp/mdist-refusals-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    OK(mdist_record_writer_create(path, &writer, NULL, &error));
    REFUSED(mdist_record_writer_write(writer, room, 16, &error), "data lies on gpu:0");
    mdist_record_writer_destroy(writer);
    unlink(path);
}

typedef int32_t (*Collective)(mdist_replica_t *replica, const mdist_buffer_t *buffer);

static int32_t all_reduce(mdist_replica_t *replica, const mdist_buffer_t *buffer) {
    return mdist_all_reduce(replica, MDIST_SUM, buffer, buffer, 1, NULL, NULL);
}

static int32_t gather_to_root(mdist_replica_t *replica, const mdist_buffer_t *buffer) {
    return mdist_gather_to_root(replica, 0, buffer, buffer, 1, NULL, NULL);
}

static int32_t broadcast_start(mdist_replica_t *replica, const mdist_buffer_t *buffer) {
    mdist_work_t *work = NULL;
    const mdist_status_t status = start_broadcast(replica, 0, buffer, 1, &work, NULL, NULL);
    mdist_work_destroy(work);
    return status;
}

static int32_t call(mdist_replica_t *replica, void *user_data) {
    const mdist_buffer_t buffer = {room, 8, MDIST_FLOAT32, 0};
    return (*(Collective *)user_data)(replica, &buffer);
}

static void replicas_on_the_cpu_take_buffers_of_the_host(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = gpu_strategy("cpu*2"); // in a process that uses GPUs, too
    quiet_log();
    Collective calls[] = {all_reduce, gather_to_root, broadcast_start};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i)
        REFUSED(mdist_run(strategy, call, &calls[i], NULL, &error), "buffer 0 lies on gpu:0");
    mdist_strategy_destroy(strategy);
}

static int32_t sum_rows(mdist_replica_t *replica, void *user_data) {
    mdist_error_t *error = NULL;
    mdist_value_t *sum = NULL;
    mdist_tensor_t rows;
    const mdist_tensor_t indices = tensor_of(room, MDIST_INT64, 2),
                         values = on_gpu((char *)room + 64, MDIST_FLOAT32, 2, 0);
    if (note(user_data, MDIST_OK, mdist_all_reduce_sparse(replica, MDIST_SUM, &indices, &values, &sum, NULL, &error),
             &error, "mdist_all_reduce_sparse"))
        return 1;
    const mdist_status_t status = mdist_value_tensor(sum, 0, &rows, NULL);
    mdist_value_destroy(sum);
    return status != MDIST_OK || rows.device_kind != MDIST_DEVICE_CPU || rows.shape[0] != 2;
}

static void rows_are_brought_to_a_replica_on_the_cpu(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    Note what = {""};
    mdist_strategy_t *strategy = gpu_strategy("cpu");
    OK(mdist_run(strategy, sum_rows, &what, NULL, &error));
    assert_string_equal(what.text, "");
    mdist_strategy_destroy(strategy);
}

static int32_t all_reduce_by_ring(mdist_replica_t *replica, void *user_data) {
    float number = 1;
    const mdist_buffer_t buffer = {&number, 1, MDIST_FLOAT32, 0};
    const mdist_call_options_t options = {.struct_size = sizeof options, .implementation = MDIST_IMPLEMENTATION_RING};
    (void)user_data;
    return mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, &options, NULL);
}

static void a_call_cannot_do_without_nccl_where_the_strategy_uses_it(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0,gpu:1");
    assert_int_equal(mdist_run(strategy, all_reduce_by_ring, NULL, NULL, &error), MDIST_ERR_UNSUPPORTED);
    WORDS(error, "communication.implementation to ring");
    mdist_error_free(error);
    mdist_strategy_destroy(strategy);

    mdist_config_t *config = gpu_config("gpu:0,gpu:1");
    OK(mdist_config_set(config, "communication.implementation", "ring", &error));
    strategy = strategy_by(config);
    OK(mdist_run(strategy, all_reduce_by_ring, NULL, NULL, &error));
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(datasets_take_memory_of_the_host),
        cmocka_unit_test(a_record_is_memory_of_the_host),
        cmocka_unit_test(replicas_on_the_cpu_take_buffers_of_the_host),
        cmocka_unit_test(rows_are_brought_to_a_replica_on_the_cpu),
        cmocka_unit_test(a_call_cannot_do_without_nccl_where_the_strategy_uses_it),
    };
    load_fake("devices=2");
    return cmocka_run_group_tests(tests, make_room, free_room);
}
