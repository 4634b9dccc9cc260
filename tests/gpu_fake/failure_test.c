// SPDX-License-Identifier: Apache-2.0
// A failure on a GPU fails the run with a message, and a hang ends at a deadline. After the last test the GPUs cannot
// be used any more.
#include "gpu_support.h"
#include "time_limits.h"

enum { kReplicas = 2 };
static const uint64_t kMillisecond = 1000000;

/// The words of the library for a wait that took too long: "did not finish within 300 ms", or "... 1.5 s".
static const char *too_long(uint64_t limit_ms) {
    static char words[64];
    snprintf(words, sizeof words, "did not finish within %g %s",
             limit_ms < 1000 ? (double)limit_ms : (double)limit_ms * 1e-3, limit_ms < 1000 ? "ms" : "s");
    return words;
}

typedef struct World {
    mdist_tensor_t memory[kReplicas];
    const char *fault; // planned by replica 1, before the copy that it meets
    mdist_status_t status[kReplicas];
} World;

static void set_up(World *world, mdist_strategy_t *strategy, const char *fault) {
    memset(world, 0, sizeof *world);
    world->fault = fault;
    for (uint32_t local = 0; local < kReplicas; ++local)
        world->memory[local] = floats_on(strategy, local, NULL, 1000, (int32_t)local);
}

static void tear_down(World *world) {
    for (uint32_t local = 0; local < kReplicas; ++local) mdist_free(world->memory[local].data);
}

/// Replica 1 copies from one half of its memory to the other, and ignores errors.
static int32_t copy_halves(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    const uint32_t local = mdist_replica_local_index(replica);
    mdist_tensor_t to = world->memory[local], from = to;
    if (local == 0) return 0;
    to.shape[0] = from.shape[0] = 500;
    to.data = (char *)to.data + 2000;
    if (world->fault != NULL && fake->plan(world->fault) == 0) return 9;
    world->status[local] = mdist_replica_copy(replica, &to, &from, NULL);
    return 0;
}

static void a_call_that_fails_names_the_gpu_and_cudas_error(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0,gpu:1");
    World world;
    set_up(&world, strategy, "copy@1");
    OK(mdist_run(strategy, copy_halves, &world, NULL, &error)); // the step handles it
    assert_int_equal(world.status[1], MDIST_ERR_DEVICE);
    fake->reset();
    const mdist_tensor_t host = tensor_of((float[4]){1, 2, 3, 4}, MDIST_FLOAT32, 4);
    mdist_tensor_t to = world.memory[1];
    to.shape[0] = 4;
    assert_int_not_equal(fake->plan("copy@1"), 0);
    assert_int_equal(mdist_tensor_copy(&to, &host, &error), MDIST_ERR_DEVICE);
    WORDS(error, "gpu:1: copying failed: ");
    assert_true(mdist_error_native(error) != 0);
    assert_string_equal(mdist_error_reason(error), "gpu_failed");
    mdist_error_free(error);
    fake->reset();
    OK(mdist_tensor_copy(&to, &host, &error));
    tear_down(&world);
    mdist_strategy_destroy(strategy);
}

static void a_lack_of_memory_is_told_and_passes(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0,gpu:1");
    const size_t bytes = 12345678;
    void *memory = NULL;
    assert_int_not_equal(fake->plan("allocate@1+"), 0);
    assert_int_equal(mdist_alloc(strategy, 1, bytes, &memory, &error), MDIST_ERR_OUT_OF_MEMORY);
    WORDS(error, "gpu:1: allocating ");
    mdist_error_free(error);
    error = NULL;
    fake->reset();
    OK(mdist_alloc(strategy, 1, bytes, &memory, &error));
    mdist_free(memory);
    assert_int_not_equal(fake->plan("commit@1+"), 0);
    float one = 1;
    const mdist_tensor_t initial = tensor_of(&one, MDIST_FLOAT32, 0);
    mdist_variable_t *variable = NULL;
    FAILS(MDIST_ERR_OUT_OF_MEMORY, mdist_variable_create(strategy, "v", &initial, &variable, NULL, &error));
    fake->reset();
    OK(mdist_variable_create(strategy, "v", &initial, &variable, NULL, &error));
    mdist_variable_destroy(variable);
    mdist_strategy_destroy(strategy);
}

/// Returns whether the run ended by what is healthy, but was late.
static int end_what_hangs(const char *executor, uint64_t limit_ms) {
    mdist_error_t *error = NULL;
    mdist_config_t *config = gpu_config("gpu:0,gpu:1");
    OK(mdist_config_set(config, "executor", executor, &error));
    mdist_strategy_t *strategy = strategy_by(config);
    World world;
    set_up(&world, strategy, "job@1:hang");
    const mdist_call_options_t options = {.struct_size = sizeof options, .timeout_ns = limit_ms * kMillisecond};
    assert_int_equal(mdist_run(strategy, copy_halves, &world,
                               &(mdist_run_io_t){sizeof(mdist_run_io_t), .timeout_ns = options.timeout_ns}, &error),
                     MDIST_ERR_TIMEOUT);
    const int late = mdist_error_replica(error) == 0;
    if (!late) WORDS(error, "replica 1: gpu:1: the work of its stream ");
    if (!late) WORDS(error, too_long(limit_ms));
    mdist_error_free(error);
    error = NULL;
    fake->reset(); // releases what hangs
    world.fault = NULL;
    OK(mdist_run(strategy, copy_halves, &world, NULL, &error));
    tear_down(&world);
    mdist_strategy_destroy(strategy);
    return late;
}

static void what_hangs_ends_by_the_deadline_of_the_run(void **state) {
    (void)state;
    const char *const executors[] = {"threads", "caller"};
    for (int i = 0; i < 2; ++i) {
        Tries tries = {.what = executors[i], .limit_ms = 200};
        while (another_try(&tries)) tries.late = end_what_hangs(executors[i], tries.limit_ms);
        assert_false(tries.late);
    }
}

/// Gives its stream work that hangs for a moment.
static int32_t hang(mdist_replica_t *replica, void *user_data) {
    (void)user_data;
    void *stream = NULL;
    if (fake->plan("job@1:hang") == 0 || mdist_replica_stream(replica, &stream, NULL) != MDIST_OK) return 1;
    return gpus->spin(0, 1, stream);
}

static int32_t nothing(mdist_replica_t *replica, void *user_data) {
    (void)replica, (void)user_data;
    return 0;
}

/// Copies from the GPU to ordinary host memory, after work that hangs.
static int32_t copy_behind_a_hang(mdist_replica_t *replica, void *user_data) {
    World *const world = user_data;
    float numbers[1000];
    const mdist_tensor_t host = tensor_of(numbers, MDIST_FLOAT32, 1000);
    if (mdist_replica_local_index(replica) != 0) return 0;
    if (hang(replica, NULL) != 0) return 1;
    world->status[0] = mdist_replica_copy(replica, &host, &world->memory[0], NULL);
    return 0;
}

static void a_copy_to_the_host_ends_by_the_deadline(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0,gpu:1");
    World world;
    mdist_call_options_t options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.timeout_ns = 100000000;
    set_up(&world, strategy, NULL);
    FAILS(MDIST_ERR_TIMEOUT,
          mdist_run(strategy, copy_behind_a_hang, &world,
                    &(mdist_run_io_t){sizeof(mdist_run_io_t), .timeout_ns = options.timeout_ns}, &error));
    assert_int_equal(world.status[0], MDIST_ERR_TIMEOUT);
    fake->reset();
    OK(mdist_run(strategy, nothing, NULL, NULL, &error));
    tear_down(&world);
    mdist_strategy_destroy(strategy);
}

/// Returns OK, or the status of what should go well within the strategy's own limit.
static mdist_status_t hang_outside_of_steps(uint64_t limit_ms) {
    mdist_error_t *error = NULL;
    mdist_config_t *config = gpu_config("gpu:2");
    char limit[32];
    snprintf(limit, sizeof limit, "%ums", (unsigned)limit_ms);
    OK(mdist_config_set(config, "communication.timeout", limit, &error));
    mdist_strategy_t *strategy = strategy_by(config);
    float one = 1;
    const mdist_tensor_t number = tensor_of(&one, MDIST_FLOAT32, 0);
    const mdist_tensor_t memory = floats_on(strategy, 0, NULL, 1, 2), host = tensor_of(&one, MDIST_FLOAT32, 1);
    mdist_variable_t *variable = NULL;
    mdist_value_t *value = NULL;
    const mdist_call_options_t options = {.struct_size = sizeof options, .timeout_ns = 100000 * kMillisecond};
    OK(mdist_value_create(&number, &value, &error));
    mdist_status_t status = mdist_variable_create(strategy, "v", &number, &variable, NULL, NULL);
    if (status == MDIST_OK)
        OK(mdist_run(strategy, nothing, NULL,
                     &(mdist_run_io_t){sizeof(mdist_run_io_t), .timeout_ns = options.timeout_ns}, &error));
    for (int i = 0; i < 2 && status == MDIST_OK; ++i) {
        assert_int_not_equal(fake->plan("job@1:hang"), 0);
        assert_int_equal(i == 0 ? mdist_variable_assign(variable, MDIST_ASSIGN_SET, value, &error)
                                : mdist_tensor_copy(&memory, &host, &error),
                         MDIST_ERR_TIMEOUT);
        WORDS(error, too_long(limit_ms));
        mdist_error_free(error);
        error = NULL;
        fake->reset();
    }
    if (status == MDIST_OK) status = mdist_variable_assign(variable, MDIST_ASSIGN_SET, value, NULL);
    mdist_value_destroy(value);
    mdist_variable_destroy(variable);
    mdist_free(memory.data);
    mdist_strategy_destroy(strategy);
    return status;
}

/// Outside of steps, the strategy's own deadline applies. For calls without a strategy, the longest deadline of any
/// strategy applies.
static void the_deadline_of_a_run_ends_with_it(void **state) {
    (void)state;
    Tries tries = {.what = "a hang outside of steps", .limit_ms = 300};
    while (another_try(&tries)) {
        const mdist_status_t status = hang_outside_of_steps(tries.limit_ms);
        tries.late = status == MDIST_ERR_TIMEOUT;
        if (!tries.late) assert_int_equal(status, MDIST_OK);
    }
    assert_false(tries.late);
}

/// Memory that was freed during the hang is reused after it, and goes back to CUDA when memory is short.
static void memory_is_short_while_something_hangs(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0");
    const size_t two_thirds = (size_t)700 << 20, three_quarters = (size_t)800 << 20;
    void *memory = NULL, *more = NULL;
    mdist_call_options_t options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.timeout_ns = 50000000;
    OK(mdist_alloc(strategy, 0, two_thirds, &memory, &error));
    FAILS(MDIST_ERR_TIMEOUT,
          mdist_run(strategy, hang, NULL, &(mdist_run_io_t){sizeof(mdist_run_io_t), .timeout_ns = options.timeout_ns},
                    &error));
    assert_int_equal(mdist_alloc(strategy, 0, three_quarters, &more, &error), MDIST_ERR_OUT_OF_MEMORY);
    mdist_error_free(error);
    error = NULL;
    fake->reset();
    OK(mdist_run(strategy, nothing, NULL, NULL, &error)); // waits for the stream
    mdist_free(memory);
    OK(mdist_alloc(strategy, 0, three_quarters, &more, &error));
    mdist_free(more);
    mdist_strategy_destroy(strategy);
}

static void a_kernel_that_fails_fails_the_run_and_all_that_follow(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0,gpu:1");
    World world;
    set_up(&world, strategy, "job@1:fatal");
    assert_int_equal(mdist_run(strategy, copy_halves, &world, NULL, &error), MDIST_ERR_DEVICE);
    WORDS(error, "replica 1: gpu:1: ");
    WORDS(error, " failed: ");
    assert_int_equal(mdist_error_replica(error), 1);
    assert_true(mdist_error_native(error) != 0);
    assert_string_equal(mdist_error_reason(error), "gpu_fatal");
    mdist_error_free(error);
    error = NULL;
    world.fault = NULL;
    assert_int_equal(mdist_run(strategy, copy_halves, &world, NULL, &error), MDIST_ERR_DEVICE);
    assert_string_equal(mdist_error_reason(error), "gpu_fatal");
    mdist_error_free(error);
    tear_down(&world);
    mdist_strategy_destroy(strategy);
}

GPU_TESTS("devices=3,delay_us=100", cmocka_unit_test(a_call_that_fails_names_the_gpu_and_cudas_error),
          cmocka_unit_test(a_lack_of_memory_is_told_and_passes),
          cmocka_unit_test(what_hangs_ends_by_the_deadline_of_the_run),
          cmocka_unit_test(a_copy_to_the_host_ends_by_the_deadline),
          cmocka_unit_test(the_deadline_of_a_run_ends_with_it), cmocka_unit_test(memory_is_short_while_something_hangs),
          cmocka_unit_test(a_kernel_that_fails_fails_the_run_and_all_that_follow))
