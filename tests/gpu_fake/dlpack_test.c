// SPDX-License-Identifier: Apache-2.0
// DLPack with GPU memory: shared in both directions, and refused if the memory is not where the tensor says.
#include "../api/dlpack_support.h"
#include "gpu_support.h"

enum { kCount = 12 };

static void memory_of_gpus_goes_in_and_out_without_a_copy(void **state) {
    (void)state;
    const int64_t shape[] = {3, 4};
    float numbers[kCount];
    for (int i = 0; i < kCount; ++i) numbers[i] = 5;
    for (int i = 0; i < 4; ++i) {
        mdist_error_t *error = NULL;
        const int32_t gpu = i / 2;
        mdist_strategy_t *strategy = gpu_strategy("gpu:0,gpu:1");
        const mdist_tensor_t there = floats_on(strategy, (uint32_t)gpu, numbers, kCount, gpu);
        Theirs theirs;
        describe(&theirs, (DlLayout)(i % 2), there.data, MDIST_FLOAT32, 2, shape);
        inside(&theirs)->device_type = 2;
        inside(&theirs)->device_id = gpu;
        mdist_value_t *value = NULL;
        mdist_tensor_t seen;
        OK(take_in(&theirs, &value, &error));
        OK(mdist_value_tensor(value, 0, &seen, &error));
        assert_ptr_equal(seen.data, there.data);
        assert_int_equal(seen.device_kind, MDIST_DEVICE_GPU);
        assert_int_equal(seen.device_index, gpu);
        expect_floats(&seen, 5);
        mdist_dlpack_t given;
        OK(mdist_value_to_dlpack(value, 0, 0, &given, &error));
        DlLegacy *const ours = (DlLegacy *)given.plain;
        assert_ptr_equal(ours->tensor.data, there.data);
        assert_int_equal(ours->tensor.device_type, 2);
        assert_int_equal(ours->tensor.device_id, gpu);
        mdist_value_destroy(value);
        assert_int_equal(theirs.deleted, 0);
        ours->deleter(ours);
        assert_int_equal(theirs.deleted, 1);
        mdist_free(there.data);
        mdist_strategy_destroy(strategy);
    }
}

static void what_is_not_there_is_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    const int64_t shape[] = {kCount};
    float here[kCount];
    mdist_strategy_t *strategy = gpu_strategy("gpu:1");
    const mdist_tensor_t there = floats_on(strategy, 0, NULL, kCount, 1);
    const struct {
        void *data;
        int32_t type, id;
        mdist_status_t status;
    } cases[] = {
        {here, 2, 0, MDIST_ERR_INVALID_ARGUMENT},       {there.data, 2, 0, MDIST_ERR_INVALID_ARGUMENT},
        {there.data, 2, 2, MDIST_ERR_INVALID_ARGUMENT}, {there.data, 2, -1, MDIST_ERR_INVALID_ARGUMENT},
        {there.data, 13, 0, MDIST_ERR_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        for (int layout = LEGACY; layout <= VERSIONED; ++layout) {
            Theirs theirs;
            mdist_value_t *value = NULL;
            describe(&theirs, (DlLayout)layout, cases[i].data, MDIST_FLOAT32, 1, shape);
            inside(&theirs)->device_type = cases[i].type;
            inside(&theirs)->device_id = cases[i].id;
            FAILS(cases[i].status, take_in(&theirs, &value, &error));
            assert_int_equal(theirs.deleted, 0);
        }
    mdist_free(there.data);
    mdist_strategy_destroy(strategy);
}

static void page_locked_memory_is_of_the_host(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    const int64_t shape[] = {kCount};
    void *pinned = NULL;
    OK(mdist_alloc_pinned(kCount * sizeof(float), &pinned, &error));
    Theirs theirs;
    describe(&theirs, VERSIONED, pinned, MDIST_FLOAT32, 1, shape);
    inside(&theirs)->device_type = 3;
    mdist_value_t *value = NULL;
    mdist_tensor_t seen;
    OK(take_in(&theirs, &value, &error));
    OK(mdist_value_tensor(value, 0, &seen, &error));
    assert_int_equal(seen.device_kind, MDIST_DEVICE_CPU);
    for (int i = 0; i < kCount; ++i) assert_true(((float *)seen.data)[i] == 0);
    mdist_value_destroy(value);
    assert_int_equal(theirs.deleted, 1);
    mdist_free(pinned);
}

GPU_TESTS("devices=2,delay_us=50", cmocka_unit_test(memory_of_gpus_goes_in_and_out_without_a_copy),
          cmocka_unit_test(what_is_not_there_is_refused), cmocka_unit_test(page_locked_memory_is_of_the_host))
