// SPDX-License-Identifier: Apache-2.0
// Where values lie: values of a strategy lie on its replicas' GPUs, others where their memory is. Also fetching them.
#include "gpu_support.h"

enum { COUNT = 100 };

static mdist_tensor_t on_gpu(int32_t gpu, const float *numbers) {
    mdist_error_t *error = NULL;
    mdist_tensor_t to = tensor_of(gpu_allocate(gpu, COUNT * sizeof(float)), MDIST_FLOAT32, COUNT);
    const mdist_tensor_t from = tensor_of((void *)(uintptr_t)numbers, MDIST_FLOAT32, COUNT);
    OK(mdist_tensor_copy(&to, &from, &error));
    return to;
}

static void expect_numbers(const mdist_value_t *value, size_t index, const float *numbers) {
    mdist_error_t *error = NULL;
    mdist_tensor_t got;
    OK(mdist_value_tensor(value, index, &got, &error));
    void *const bytes = host_bytes(&got);
    assert_int_equal(got.shape[0], COUNT);
    assert_memory_equal(bytes, numbers, COUNT * sizeof(float));
    free(bytes);
}

static void values_lie_where_their_memory_is(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *const strategy = strategy_with("gpu:0,gpu:1", NULL, NULL);
    float numbers[COUNT];
    fill_numbers(numbers, COUNT, 1);
    mdist_tensor_t tensor = on_gpu(1, numbers);
    mdist_value_t *created = NULL, *wrapped = NULL, *zeros = NULL, *plain = NULL;
    OK(mdist_value_wrap(&tensor, NULL, NULL, &wrapped, &error));
    OK(mdist_value_create(&tensor, &created, &error));
    const mdist_tensor_t host = tensor_of(numbers, MDIST_FLOAT32, COUNT);
    OK(mdist_value_create(&host, &plain, &error));
    mdist_tensor_t nothing = tensor_of(NULL, MDIST_FLOAT32, COUNT);
    nothing.device_kind = MDIST_DEVICE_GPU;
    OK(mdist_value_create(&nothing, &zeros, &error));
    expect_place(wrapped, 0, 1);
    expect_place(created, 0, 1);
    expect_place(plain, 0, -1);
    expect_place(zeros, 0, 0);
    expect_numbers(wrapped, 0, numbers);
    expect_numbers(created, 0, numbers);
    const float none[COUNT] = {0};
    expect_numbers(zeros, 0, none);

    // A GPU that the tensor names must be the right one.
    mdist_value_t *wrong = NULL;
    tensor.device_kind = MDIST_DEVICE_GPU;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_create(&tensor, &wrong, &error));
    tensor.device_index = 1;
    OK(mdist_value_create(&tensor, &wrong, &error));
    mdist_value_destroy(wrong);
    mdist_tensor_t pretended = host;
    pretended.device_kind = MDIST_DEVICE_GPU;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_create(&pretended, &wrong, &error));
    mdist_value_destroy(wrapped);
    mdist_value_destroy(created);
    mdist_value_destroy(plain);
    mdist_value_destroy(zeros);
    gpu_release(1, tensor.data);
    mdist_strategy_destroy(strategy);
}

static int32_t number_of_replica(uint32_t replica, uint32_t count, mdist_value_t **out, void *user_data) {
    (void)count, (void)user_data;
    float numbers[COUNT];
    fill_numbers(numbers, COUNT, replica);
    const mdist_tensor_t tensor = tensor_of(numbers, MDIST_FLOAT32, COUNT);
    return mdist_value_create(&tensor, out, NULL) == MDIST_OK ? 0 : 1;
}

static void check_values_of_replicas(Twins *twins) {
    mdist_error_t *error = NULL;
    float numbers[MOST_REPLICAS][COUNT];
    mdist_tensor_t tensors[MOST_REPLICAS];
    for (uint32_t i = 0; i < MOST_REPLICAS; ++i) {
        fill_numbers(numbers[i], COUNT, i);
        tensors[i] = tensor_of(numbers[i], MDIST_FLOAT32, COUNT);
    }
    mdist_value_t *per_replica = NULL, *mirrored = NULL, *again = NULL, *made = NULL, *plain = NULL;
    OK(mdist_value_per_replica(twins->gpu, tensors, twins->replicas, &per_replica, &error));
    OK(mdist_strategy_broadcast(twins->gpu, &tensors[1], &mirrored, &error));
    OK(mdist_value_create(&tensors[2], &plain, &error));
    OK(mdist_value_mirrored(twins->gpu, plain, &again, &error));
    OK(mdist_values_from_function(twins->gpu, number_of_replica, NULL, &made, &error));
    for (uint32_t i = 0; i < twins->replicas; ++i) {
        expect_numbers(per_replica, i, numbers[i]);
        expect_numbers(mirrored, i, numbers[1]);
        expect_numbers(again, i, numbers[2]);
        expect_numbers(made, i, numbers[i]);
        expect_place(made, i, -1); // where the function made them
    }
    expect_on_replicas(twins->gpu, per_replica);
    expect_on_replicas(twins->gpu, mirrored);
    expect_on_replicas(twins->gpu, again);
    mdist_value_destroy(per_replica);
    mdist_value_destroy(mirrored);
    mdist_value_destroy(again);
    mdist_value_destroy(made);
    mdist_value_destroy(plain);
}

static void values_of_a_strategy_lie_on_its_gpus(void **state) {
    (void)state;
    on_all_devices(check_values_of_replicas);
}

// ---- Fetching.

/// Returns its source unchanged, and records where it lies.
static int32_t same(const mdist_tensor_t *source, mdist_value_t **result, void *user_data) {
    *(int32_t *)user_data = source->device_kind == MDIST_DEVICE_GPU ? source->device_index : -1;
    return mdist_value_create(source, result, NULL) == MDIST_OK ? 0 : 1;
}

static void fetch_to(Twins *twins, const mdist_value_t *value, const char *destination, int32_t gpu, int32_t source,
                     const float *numbers) {
    mdist_error_t *error = NULL;
    mdist_value_t *fetched = NULL;
    int32_t seen = -2;
    OK(mdist_strategy_fetch(twins->gpu, value, destination, NULL, NULL, &fetched, &error));
    expect_place(fetched, 0, gpu);
    expect_numbers(fetched, 0, numbers);
    mdist_value_destroy(fetched);
    OK(mdist_strategy_fetch(twins->gpu, value, destination, same, &seen, &fetched, &error));
    assert_int_equal(seen, source);
    expect_place(fetched, 0, gpu);
    expect_numbers(fetched, 0, numbers);
    mdist_value_destroy(fetched);
}

static void check_fetch(Twins *twins) {
    mdist_error_t *error = NULL;
    float numbers[COUNT];
    fill_numbers(numbers, COUNT, 0);
    const mdist_tensor_t tensor = tensor_of(numbers, MDIST_FLOAT32, COUNT);
    mdist_value_t *mirrored = NULL, *plain = NULL;
    OK(mdist_strategy_broadcast(twins->gpu, &tensor, &mirrored, &error));
    OK(mdist_value_create(&tensor, &plain, &error));
    fetch_to(twins, mirrored, NULL, -1, 0, numbers);
    fetch_to(twins, plain, NULL, -1, -1, numbers);
    for (uint32_t i = 0; i < twins->replicas; ++i) {
        char device[32];
        const int32_t gpu = gpu_of_replica(twins->gpu, i);
        OK(mdist_strategy_device(twins->gpu, i, device, sizeof device, NULL, &error));
        fetch_to(twins, mirrored, device, gpu, gpu, numbers);
        fetch_to(twins, plain, device, gpu, -1, numbers);
    }
    mdist_value_destroy(mirrored);
    mdist_value_destroy(plain);
}

static void values_are_fetched_from_and_to_gpus(void **state) {
    (void)state;
    on_all_devices(check_fetch);
}

// ---- Values that lie on another card than the replica's.

typedef struct User {
    mdist_strategy_t *strategy;
    void *maxima[MOST_REPLICAS]; // memory of each replica's device
    Note notes[MOST_REPLICAS];
} User;

/// Whether replica `local` can use the tensor where it lies.
static int is_near(const User *self, uint32_t local, const mdist_tensor_t *tensor) {
    if (tensor->device_kind == MDIST_DEVICE_CPU) return 1;
    return tensor->device_index == gpu_of_replica(self->strategy, local);
}

/// Argument 0 is a plain value on gpu:1, argument 1 has it at "leaf", argument 2 has a tensor for each replica.
static int32_t use(mdist_replica_t *replica, void *user_data) {
    User *const self = user_data;
    const uint32_t local = mdist_replica_local_index(replica);
    Note *const told = &self->notes[local];
    mdist_error_t *error = NULL;
    mdist_tensor_t seen[3], again;
    for (size_t i = 0; i < 3; ++i) {
        const char *const path = i == 1 ? "leaf" : NULL;
        note(told, MDIST_OK, mdist_replica_argument(replica, i, path, &seen[i], &error), &error, "argument");
        note(told, MDIST_OK, mdist_replica_argument(replica, i, path, &again, &error), &error, "again");
        if (!is_near(self, local, &seen[i]) || again.data != seen[i].data) return 1;
        note(told, MDIST_OK, mdist_replica_set_result(replica, i, NULL, &seen[i], &error), &error, "result");
    }
    const mdist_buffer_t from = {seen[0].data, COUNT, MDIST_FLOAT32, 0};
    const mdist_buffer_t to = {self->maxima[local], COUNT, MDIST_FLOAT32, 0};
    note(told, MDIST_OK, mdist_all_reduce(replica, MDIST_MAX, &from, &to, 1, NULL, &error), &error, "reduce");
    return 0;
}

static int32_t update(uint32_t local, const mdist_tensor_t *copy, const mdist_tensor_t *arguments,
                      size_t argument_count, mdist_value_t **results, size_t result_count, void *user_data) {
    (void)copy, (void)results, (void)result_count;
    for (size_t i = 0; i < argument_count; ++i)
        if (!is_near(user_data, local, &arguments[i])) return 1;
    return 0;
}

static void use_values(mdist_strategy_t *strategy, mdist_value_t *const *arguments, const float *numbers) {
    mdist_error_t *error = NULL;
    mdist_value_t *results[3];
    User self = {.strategy = strategy};
    const uint32_t replicas = mdist_strategy_local_replica_count(strategy);
    for (uint32_t i = 0; i < replicas; ++i)
        OK(mdist_alloc(strategy, i, COUNT * sizeof(float), &self.maxima[i], &error));
    const mdist_status_t status =
        mdist_run(strategy, use, &self,
                  &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = arguments, .argument_count = 3,
                                    .results = results, .result_count = 3},
                  &error);
    for (uint32_t i = 0; i < replicas; ++i) assert_string_equal(self.notes[i].text, "");
    assert_int_equal(status, MDIST_OK);
    for (uint32_t i = 0; i < replicas; ++i) {
        for (size_t result = 0; result < 3; ++result) expect_numbers(results[result], i, numbers);
        mdist_free(self.maxima[i]);
    }
    for (size_t result = 0; result < 3; ++result) mdist_value_destroy(results[result]);
    OK(mdist_update_devices(strategy, update, &self,
                            &(mdist_run_io_t){sizeof(mdist_run_io_t), .arguments = arguments, .argument_count = 3},
                            &error));
}

static void a_replica_sees_a_value_of_another_card_on_its_own(void **state) {
    (void)state;
    const char *const devices[] = {"gpu:0,gpu:1", "gpu:1,gpu:0", "gpu:0*2", "cpu*2"};
    mdist_error_t *error = NULL;
    float numbers[COUNT];
    fill_numbers(numbers, COUNT, 1);
    mdist_tensor_t tensor = on_gpu(1, numbers);
    mdist_strategy_t *const other = strategy_with("gpu:1,gpu:0", NULL, NULL);
    const mdist_tensor_t host[] = {tensor_of(numbers, MDIST_FLOAT32, COUNT), tensor_of(numbers, MDIST_FLOAT32, COUNT)};
    const char *const path = "leaf";
    mdist_value_t *arguments[3];
    OK(mdist_value_create(&tensor, &arguments[0], &error));
    OK(mdist_value_structure(&path, &arguments[0], 1, &arguments[1], &error));
    OK(mdist_value_per_replica(other, host, 2, &arguments[2], &error));
    for (size_t i = 0; i < sizeof devices / sizeof *devices; ++i) {
        mdist_strategy_t *const strategy = strategy_with(devices[i], NULL, NULL);
        use_values(strategy, arguments, numbers);
        mdist_strategy_destroy(strategy);
    }
    for (size_t i = 0; i < 3; ++i) mdist_value_destroy(arguments[i]);
    mdist_strategy_destroy(other);
    gpu_release(1, tensor.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_lie_where_their_memory_is),
        cmocka_unit_test(values_of_a_strategy_lie_on_its_gpus),
        cmocka_unit_test(values_are_fetched_from_and_to_gpus),
        cmocka_unit_test(a_replica_sees_a_value_of_another_card_on_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
