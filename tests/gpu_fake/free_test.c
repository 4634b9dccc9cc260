// SPDX-License-Identifier: Apache-2.0
// Memory goes back to CUDA while a GPU hangs. CUDA waits for the GPU then, and nobody who frees memory may wait with it.
#include "gpu_support.h"
#include "time_limits.h"

#include <dirent.h>
#include <unistd.h>

enum { kMany = 1 << 20 }; // float32: more than a sixteenth of the GPU's memory

static fake_gpu_live live_now(void) {
    fake_gpu_live live;
    fake->live(&live);
    return live;
}

/// Waits until no variables and no page-locked memory are left. The alarm ends it otherwise.
static void await_nothing(void) {
    fake_gpu_live live = live_now();
    while (live.reservations != 0 || live.pinned != 0) {
        nap();
        live = live_now();
    }
}

static uint64_t free_bytes(int32_t gpu) {
    uint64_t left = 0, all = 0;
    assert_int_equal(gpus->memory_info(gpu, &left, &all), 0);
    return left;
}

/// A block that was still in use when it was freed goes back to CUDA when another is freed.
static void free_one_more(mdist_strategy_t *strategy, int32_t gpu) {
    mdist_free(floats_on(strategy, (uint32_t)gpu, NULL, 1, gpu).data);
}

/// Waits until the GPU has so much free memory. The alarm ends it otherwise, like the waits below.
static void await_free(mdist_strategy_t *strategy, int32_t gpu, uint64_t bytes) {
    while (free_bytes(gpu) < bytes) {
        free_one_more(strategy, gpu);
        nap();
    }
}

/// Returns how many threads of this process give memory back.
static int freeing_threads(void) {
    int count = 0;
    DIR *const tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (const struct dirent *task; (task = readdir(tasks)) != NULL;) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *const file = fopen(path, "r");
        if (file == NULL) continue; // the thread has ended
        count += fgets(name, sizeof name, file) != NULL && strcmp(name, "mdist-free\n") == 0;
        fclose(file);
    }
    closedir(tasks);
    return count;
}

static void await_freeing_threads(int count) {
    while (freeing_threads() != count) nap();
}

/// Gives a stream that the library does not know work that hangs.
static mdist_gpu_stream *hang_on_own_stream(void *memory) {
    mdist_gpu_stream *stream = NULL;
    assert_int_equal(gpus->stream_create(0, 0, &stream), 0);
    assert_int_equal(fake->plan("fill@1:hang"), 1);
    assert_int_equal(gpus->fill(0, memory, 1, 4, stream), 0);
    return stream;
}

static void whoever_frees_does_not_wait_for_a_gpu(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    void *pinned = NULL;
    mdist_variable_t *variable = NULL;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0");
    const mdist_tensor_t small = floats_on(strategy, 0, NULL, 1, 0);
    const mdist_tensor_t large = floats_on(strategy, 0, NULL, kMany, 0);
    const mdist_tensor_t zeros = tensor_of(NULL, MDIST_FLOAT32, 1000);
    OK(mdist_variable_create(strategy, "v", &zeros, &variable, NULL, &error));
    OK(mdist_alloc_pinned(1000, &pinned, &error));
    const fake_gpu_live before = live_now();
    assert_true(before.bytes >= kMany * sizeof(float) && before.reservations != 0 && before.pinned != 0);

    mdist_gpu_stream *const stream = hang_on_own_stream(small.data);
    mdist_free(large.data);
    mdist_free(pinned);
    mdist_variable_destroy(variable);
    mdist_strategy_destroy(strategy);
    const fake_gpu_live meanwhile = live_now(); // nothing has been given back: the GPU does hang
    assert_true(meanwhile.reservations == before.reservations && meanwhile.pinned == before.pinned);
    // Others work on meanwhile.
    strategy = gpu_strategy("gpu:0");
    const mdist_tensor_t other = floats_on(strategy, 0, (float[2]){5, 5}, 2, 0);
    expect_floats(&other, 5);

    fake->reset();
    await_nothing();
    assert_int_equal(gpus->stream_destroy(0, stream), 0);
    mdist_free(small.data);
    mdist_free(other.data);
    mdist_strategy_destroy(strategy);
    expect_no_problems();
}

static void a_gpu_that_hangs_holds_up_no_memory_of_another(void **state) {
    (void)state;
    const uint64_t most = kMany * sizeof(float) / 2; // less than what is freed
    mdist_strategy_t *strategy = gpu_strategy("gpu:0,gpu:1");
    const mdist_tensor_t small = floats_on(strategy, 0, NULL, 1, 0);
    const mdist_tensor_t large[2] = {floats_on(strategy, 0, NULL, kMany, 0), floats_on(strategy, 1, NULL, kMany, 1)};
    await_freeing_threads(0);
    const uint64_t before[2] = {free_bytes(0), free_bytes(1)};

    mdist_gpu_stream *const stream = hang_on_own_stream(small.data);
    mdist_free(large[0].data);
    while (freeing_threads() == 0) free_one_more(strategy, 0); // the thread waits for gpu:0
    mdist_free(large[1].data);
    await_free(strategy, 1, before[1] + most);
    assert_true(free_bytes(0) <= before[0]); // small blocks may have been taken meanwhile
    await_freeing_threads(1); // gpu:1's has ended

    fake->reset();
    await_free(strategy, 0, before[0] + most);
    assert_int_equal(gpus->stream_destroy(0, stream), 0);
    mdist_free(small.data);
    mdist_strategy_destroy(strategy);
    await_freeing_threads(0);
    expect_no_problems();
}

static void memory_that_is_on_its_way_back_is_waited_for(void **state) {
    (void)state;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0");
    for (int i = 0; i < 12; ++i) { // two of them do not fit
        const mdist_tensor_t most = floats_on(strategy, 0, NULL, 9u << 18, 0);
        mdist_free(most.data);
        const mdist_tensor_t other = floats_on(strategy, 0, NULL, 11u << 18, 0);
        mdist_free(other.data);
    }
    mdist_strategy_destroy(strategy);
    expect_no_problems();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(whoever_frees_does_not_wait_for_a_gpu),
                                       cmocka_unit_test(a_gpu_that_hangs_holds_up_no_memory_of_another),
                                       cmocka_unit_test(memory_that_is_on_its_way_back_is_waited_for)};
    alarm(300); // a wait that does not end
    load_fake("devices=2,memory_mb=16,delay_us=100");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
