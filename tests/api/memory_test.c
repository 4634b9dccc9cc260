// SPDX-License-Identifier: Apache-2.0
// Memory that the library allocates.
#include "mdist_test.h"

#include <pthread.h>

static int all_zero(const void *memory, size_t bytes) {
    const unsigned char *at = memory;
    for (size_t i = 0; i < bytes; ++i)
        if (at[i] != 0) return 0;
    return 1;
}

static void memory_is_aligned_and_zero_and_the_callers(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    const size_t sizes[] = {1, 63, 64, 65, 4096, 100001, (size_t)5 << 20};
    for (int again = 0; again < 2; ++again) { // reused memory is zero again
        void *blocks[14] = {NULL};
        for (size_t i = 0; i < 14; ++i) {
            mdist_strategy_t *of = i % 2 == 0 ? NULL : strategy;
            OK(mdist_alloc(of, i % 4 == 3 ? 1 : 0, sizes[i / 2], &blocks[i], &error));
            assert_int_equal((uintptr_t)blocks[i] % 64, 0);
            assert_true(all_zero(blocks[i], sizes[i / 2]));
            memset(blocks[i], 0xab, sizes[i / 2]);
        }
        for (size_t i = 0; i < 14; ++i) {
            for (size_t j = 0; j < sizes[i / 2]; j += 61) assert_int_equal(((unsigned char *)blocks[i])[j], 0xab);
            mdist_free(blocks[i]);
        }
    }
    mdist_strategy_destroy(strategy);
}

static void no_bytes_have_an_address_of_their_own(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    void *nothing[3] = {NULL, NULL, NULL};
    for (int i = 0; i < 3; ++i) OK(mdist_alloc(NULL, 0, 0, &nothing[i], &error));
    assert_non_null(nothing[0]);
    for (int i = 0; i < 3; ++i) mdist_free(nothing[i]);
}

static void memory_outlives_its_strategy(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    void *memory = NULL;
    OK(mdist_alloc(strategy, 1, 1000, &memory, &error));
    mdist_strategy_destroy(strategy);
    memset(memory, 1, 1000);
    mdist_free(memory);
}

static void what_was_never_given_out_is_ignored(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    int here = 0;
    char *memory = NULL;
    OK(mdist_alloc(NULL, 0, 256, (void **)&memory, &error));
    mdist_free(NULL);
    mdist_free(&here);
    mdist_free(memory + 64);
    mdist_free((void *)(uintptr_t)0xd430000000100001u);
    memset(memory, 1, 256);
    mdist_free(memory);
    mdist_free(memory); // freed before
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = make_strategy(2, NULL);
    void *memory = &error;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_alloc(NULL, 1, 8, &memory, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_alloc(strategy, 2, 8, &memory, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_alloc(strategy, 0, 8, NULL, &error));
    FAILS(MDIST_ERR_OUT_OF_MEMORY, mdist_alloc(NULL, 0, SIZE_MAX, &memory, &error));
    FAILS(MDIST_ERR_OUT_OF_MEMORY, mdist_alloc(strategy, 1, SIZE_MAX - 4096, &memory, &error));
    mdist_strategy_destroy(strategy);
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_alloc(strategy, 0, 8, &memory, &error));
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_alloc((mdist_strategy_t *)memory, 0, 8, &memory, &error));
    assert_ptr_equal(memory, &error); // unchanged
}

static void it_is_the_free_function_of_what_keeps_it(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (int kept = 0; kept < 2; ++kept) {
        float *memory = NULL;
        mdist_value_t *value = NULL;
        mdist_tensor_t seen;
        OK(mdist_alloc(NULL, 0, 4 * sizeof *memory, (void **)&memory, &error));
        memory[3] = 7;
        mdist_tensor_t tensor = tensor_of(memory, kept ? MDIST_FLOAT32 : (mdist_dtype_t)77, 4);
        if (!kept) { // freed by the failed call
            FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_wrap(&tensor, memory, mdist_free, &value, &error));
            continue;
        }
        OK(mdist_value_wrap(&tensor, memory, mdist_free, &value, &error));
        OK(mdist_value_tensor(value, 0, &seen, &error));
        assert_ptr_equal(seen.data, memory);
        mdist_value_destroy(value);
    }
}

static void *churn(void *argument) {
    uint64_t seed = (uintptr_t)argument;
    unsigned char *blocks[16] = {NULL};
    for (int i = 0; i < 4000; ++i) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const size_t which = seed >> 60, bytes = (seed >> 40) % 300;
        if (blocks[which] != NULL && blocks[which][0] != (unsigned char)which) return NULL;
        mdist_free(blocks[which]);
        if (mdist_alloc(NULL, 0, bytes + 1, (void **)&blocks[which], NULL) != MDIST_OK) return NULL;
        if (!all_zero(blocks[which], bytes + 1)) return NULL;
        memset(blocks[which], (int)which, bytes + 1);
    }
    for (int i = 0; i < 16; ++i) mdist_free(blocks[i]);
    return argument;
}

static void any_thread_may_allocate_and_free(void **state) {
    (void)state;
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; ++i) assert_int_equal(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)), 0);
    for (int i = 0; i < 4; ++i) {
        void *returned = NULL;
        pthread_join(threads[i], &returned);
        assert_non_null(returned);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_aligned_and_zero_and_the_callers),
        cmocka_unit_test(no_bytes_have_an_address_of_their_own),
        cmocka_unit_test(memory_outlives_its_strategy),
        cmocka_unit_test(what_was_never_given_out_is_ignored),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(it_is_the_free_function_of_what_keeps_it),
        cmocka_unit_test(any_thread_may_allocate_and_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
