// SPDX-License-Identifier: Apache-2.0
// Memory goes back to CUDA while a GPU hangs. CUDA waits for the GPU then, and nobody who frees memory may wait with it.
#include "gpu_support.h"

#include <time.h>
#include <unistd.h>

enum { kMany = 1 << 20 }; // float32: more than a sixteenth of the GPU's memory

static fake_gpu_live live_now(void) {
    fake_gpu_live live;
    fake->live(&live);
    return live;
}

/// Waits until no variables and no page-locked memory are left. The alarm ends it otherwise.
static void await_nothing(void) {
    const struct timespec nap = {0, 1000000};
    fake_gpu_live live = live_now();
    while (live.reservations != 0 || live.pinned != 0) {
        nanosleep(&nap, NULL);
        live = live_now();
    }
}

/// Gives a stream that the library does not know work that hangs.
static mdist_gpu_stream *hang_on_own_stream(void *memory) {
    mdist_gpu_stream *stream = NULL;
    assert_int_equal(gpus->stream_create(0, 0, &stream), 0);
    assert_int_equal(fake->plan("job@1:hang"), 1);
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

static void memory_that_is_on_its_way_back_is_waited_for(void **state) {
    (void)state;
    mdist_strategy_t *strategy = gpu_strategy("gpu:0");
    for (int i = 0; i < 50; ++i) { // two of them do not fit
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
                                       cmocka_unit_test(memory_that_is_on_its_way_back_is_waited_for)};
    alarm(60); // a wait that does not end
    load_fake("devices=1,memory_mb=16,delay_us=100");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
