// SPDX-License-Identifier: Apache-2.0
// DLPack tensors that cannot become a value. Each is refused with a reason and a message, and its owner keeps it
// unchanged.
#include "dlpack_support.h"

static void on_cuda(Theirs *theirs) {
    inside(theirs)->device_type = 2;
    inside(theirs)->device_id = 3;
}
static void on_metal(Theirs *theirs) {
    inside(theirs)->device_type = 8;
}
static void bools(Theirs *theirs) {
    inside(theirs)->code = 6;
    inside(theirs)->bits = 16;
}
static void complex_numbers(Theirs *theirs) {
    inside(theirs)->code = 5;
    inside(theirs)->bits = 64;
}
static void handles(Theirs *theirs) {
    inside(theirs)->code = 3;
}
static void bfloat32(Theirs *theirs) {
    inside(theirs)->code = 4;
}
static void int4(Theirs *theirs) {
    inside(theirs)->code = 0;
    inside(theirs)->bits = 4;
}
static void float8(Theirs *theirs) {
    inside(theirs)->code = 10;
    inside(theirs)->bits = 8;
}
static void vectors(Theirs *theirs) {
    inside(theirs)->lanes = 4;
}
static void no_lanes(Theirs *theirs) {
    inside(theirs)->lanes = 0;
}
static void too_many_dimensions(Theirs *theirs) {
    inside(theirs)->ndim = MDIST_MAX_RANK + 1;
}
static void negative_rank(Theirs *theirs) {
    inside(theirs)->ndim = -1;
}
static void transposed(Theirs *theirs) {
    set_strides(theirs, (const int64_t[]){1, 2});
}
static void every_other(Theirs *theirs) {
    set_strides(theirs, (const int64_t[]){6, 2});
}
static void padded(Theirs *theirs) {
    set_strides(theirs, (const int64_t[]){4, 1});
}
static void upside_down(Theirs *theirs) {
    set_strides(theirs, (const int64_t[]){-3, 1});
}
static void spread(Theirs *theirs) {
    set_strides(theirs, (const int64_t[]){0, 1});
}
static void no_shape(Theirs *theirs) {
    inside(theirs)->shape = NULL;
}
static void negative_dimension(Theirs *theirs) {
    theirs->shape[1] = -2;
}
static void negative_beside_zero(Theirs *theirs) {
    theirs->shape[0] = 0;
    theirs->shape[1] = -1;
}
static void endless(Theirs *theirs) {
    theirs->shape[0] = theirs->shape[1] = (int64_t)1 << 32;
}
static void just_too_large(Theirs *theirs) {
    theirs->shape[0] = INT64_MAX / 4 + 1;
    theirs->shape[1] = 1;
}
static void endless_beside_zero(Theirs *theirs) {
    theirs->shape[0] = 0;
    theirs->shape[1] = INT64_MAX;
}
static void no_data(Theirs *theirs) {
    inside(theirs)->data = NULL;
}
static void no_data_but_an_offset(Theirs *theirs) {
    inside(theirs)->data = NULL;
    inside(theirs)->byte_offset = 64;
}
static void out_of_memory(Theirs *theirs) {
    inside(theirs)->byte_offset = UINT64_MAX - 8;
}
static void next_version(Theirs *theirs) {
    theirs->versioned.major = 2;
    // In another major version, the fields after the deleter are unknown and must not be read.
    memset(&theirs->versioned.flags, 0xff, sizeof theirs->versioned - offsetof(DlVersioned, flags));
}
static void no_version(Theirs *theirs) {
    theirs->versioned.major = 0;
    theirs->versioned.minor = 8;
}

static const struct {
    void (*spoil)(Theirs *theirs);
    mdist_status_t status;
    const char *reason, *words;
} cases[] = {
    {on_cuda, MDIST_ERR_UNSUPPORTED, "dlpack_device", "device type 2 (CUDA), id 3, but this process has no GPU"},
    {on_metal, MDIST_ERR_UNSUPPORTED, "dlpack_device", "device type 8, id 0;"},
    {bools, MDIST_ERR_UNSUPPORTED, "dlpack_dtype", "type code 6 (bool) with 16 bits"},
    {complex_numbers, MDIST_ERR_UNSUPPORTED, "dlpack_dtype", "type code 5 (complex) with 64 bits"},
    {handles, MDIST_ERR_UNSUPPORTED, "dlpack_dtype", "type code 3 (opaque handle) with 32 bits"},
    {bfloat32, MDIST_ERR_UNSUPPORTED, "dlpack_dtype", "type code 4 (bfloat) with 32 bits"},
    {int4, MDIST_ERR_UNSUPPORTED, "dlpack_dtype", "type code 0 (int) with 4 bits"},
    {float8, MDIST_ERR_UNSUPPORTED, "dlpack_dtype", "type code 10 with 8 bits"},
    {vectors, MDIST_ERR_UNSUPPORTED, "dlpack_dtype", "have 4 lanes; only 1 is supported"},
    {no_lanes, MDIST_ERR_UNSUPPORTED, "dlpack_dtype", "have 0 lanes; only 1 is supported"},
    {too_many_dimensions, MDIST_ERR_UNSUPPORTED, "dlpack_rank", "has 9 dimensions; 8 is the maximum"},
    {negative_rank, MDIST_ERR_INVALID_ARGUMENT, "", "has ndim -1"},
    {transposed, MDIST_ERR_UNSUPPORTED, "dlpack_strides", "shape [2, 3] has strides [1, 2]; a dense row-major tensor"},
    {every_other, MDIST_ERR_UNSUPPORTED, "dlpack_strides",
     "strides [6, 2]; a dense row-major tensor has strides [3, 1]"},
    {padded, MDIST_ERR_UNSUPPORTED, "dlpack_strides", "strides [4, 1]"},
    {upside_down, MDIST_ERR_UNSUPPORTED, "dlpack_strides", "strides [-3, 1]"},
    {spread, MDIST_ERR_UNSUPPORTED, "dlpack_strides", "strides [0, 1]"},
    {no_shape, MDIST_ERR_INVALID_ARGUMENT, "", "ndim 2 and shape NULL"},
    {negative_dimension, MDIST_ERR_INVALID_ARGUMENT, "", "dimension 1 of the tensor is -2"},
    {negative_beside_zero, MDIST_ERR_INVALID_ARGUMENT, "", "dimension 1 of the tensor is -1"},
    {endless, MDIST_ERR_INVALID_ARGUMENT, "", "shape [4294967296, 4294967296] and float32 is larger than memory"},
    {just_too_large, MDIST_ERR_INVALID_ARGUMENT, "", "larger than memory"},
    {endless_beside_zero, MDIST_ERR_INVALID_ARGUMENT, "", "larger than memory"},
    {no_data, MDIST_ERR_INVALID_ARGUMENT, "", "shape [2, 3] has data NULL"},
    {no_data_but_an_offset, MDIST_ERR_INVALID_ARGUMENT, "", "shape [2, 3] has data NULL"},
    {out_of_memory, MDIST_ERR_INVALID_ARGUMENT, "", "byte_offset is 18446744073709551607"},
    {next_version, MDIST_ERR_UNSUPPORTED, "dlpack_version", "uses DLPack 2.0; this version of the library"},
    {no_version, MDIST_ERR_UNSUPPORTED, "dlpack_version", "uses DLPack 0.8; this version of the library"},
};
enum { CASES = sizeof cases / sizeof *cases };

static float data[6];
static const int64_t shape[2] = {2, 3};

static void what_does_not_fit_is_refused_and_stays_with_its_owner(void **state) {
    (void)state;
    for (int i = 0; i < CASES; ++i) {
        const int first = strcmp(cases[i].reason, "dlpack_version") == 0 ? VERSIONED : LEGACY;
        for (int layout = first; layout < LAYOUTS; ++layout) {
            Theirs theirs, before;
            describe(&theirs, (DlLayout)layout, data, MDIST_FLOAT32, 2, shape);
            cases[i].spoil(&theirs);
            memcpy(&before, &theirs, sizeof theirs);
            mdist_value_t *const untouched = (mdist_value_t *)&theirs, *value = untouched;
            mdist_error_t *error = NULL;
            assert_int_equal(take_in(&theirs, &value, NULL), cases[i].status);
            assert_int_equal(take_in(&theirs, &value, &error), cases[i].status);
            assert_int_equal(mdist_error_status(error), cases[i].status);
            assert_string_equal(mdist_error_reason(error), cases[i].reason);
            WORDS(error, cases[i].words);
            assert_string_equal(mdist_error_operation(error), "mdist_value_from_dlpack");
            mdist_error_free(error);
            assert_ptr_equal(value, untouched);
            assert_memory_equal(&theirs, &before, sizeof theirs); // also: not deleted
        }
    }
}

static void one_of_the_largest_fits(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    Theirs theirs;
    mdist_value_t *value = NULL;
    // The producer vouches for the memory. The library does not read it.
    describe(&theirs, LEGACY, data, MDIST_INT8, 1, (const int64_t[]){INT64_MAX});
    OK(take_in(&theirs, &value, &error));
    mdist_value_destroy(value);
    assert_int_equal(theirs.deleted, 1);
}

static void a_refused_tensor_can_be_mended_and_taken(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (int layout = 0; layout < LAYOUTS; ++layout) {
        Theirs theirs;
        mdist_value_t *value = NULL;
        describe(&theirs, (DlLayout)layout, data, MDIST_FLOAT32, 2, shape);
        transposed(&theirs);
        FAILS(MDIST_ERR_UNSUPPORTED, take_in(&theirs, &value, &error));
        set_strides(&theirs, (const int64_t[]){3, 1});
        OK(take_in(&theirs, &value, &error));
        mdist_value_destroy(value);
        assert_int_equal(theirs.deleted, 1);
    }
}

static void null_is_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_value_t *value = NULL;
    Theirs theirs;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_from_dlpack(NULL, &value, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_buffer_from_dlpack(NULL, &(mdist_buffer_t){0}, &error));
    assert_null(value);
    for (int layout = 0; layout < LAYOUTS; ++layout) {
        describe(&theirs, (DlLayout)layout, data, MDIST_FLOAT32, 2, shape);
        FAILS(MDIST_ERR_INVALID_ARGUMENT, take_in(&theirs, NULL, &error));
        assert_int_equal(theirs.deleted, 0);
    }
}

static void a_tensor_has_one_layout(void **state) {
    (void)state;
    Theirs theirs;
    describe(&theirs, LEGACY, data, MDIST_FLOAT32, 2, shape);
    const mdist_dlpack_t none = {NULL, NULL}, both = {in_layout(LEGACY, &theirs.legacy, NULL).plain,
                                                      in_layout(VERSIONED, NULL, &theirs.versioned).versioned};
    const struct {
        const mdist_dlpack_t *managed;
        const char *words;
    } wrong[] = {{&none, "plain and versioned of managed are both NULL"},
                 {&both, "plain and versioned of managed are both set"}};
    for (int i = 0; i < 2; ++i) {
        mdist_error_t *error = NULL;
        mdist_value_t *value = NULL;
        mdist_buffer_t buffer;
        assert_int_equal(mdist_value_from_dlpack(wrong[i].managed, &value, &error), MDIST_ERR_INVALID_ARGUMENT);
        WORDS(error, wrong[i].words);
        mdist_error_free(error);
        assert_int_equal(mdist_buffer_from_dlpack(wrong[i].managed, &buffer, &error), MDIST_ERR_INVALID_ARGUMENT);
        WORDS(error, wrong[i].words);
        mdist_error_free(error);
        assert_true(value == NULL && theirs.deleted == 0);
    }
}

static void bad_handles_and_indices_give_nothing_out(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    float number = 1;
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    mdist_value_t *value = make_value(&number, MDIST_FLOAT32, 0), *gone = make_value(&number, MDIST_FLOAT32, 0);
    mdist_value_destroy(gone);
    const mdist_value_t *const bad[] = {NULL, gone, (mdist_value_t *)strategy, (mdist_value_t *)&number};
    Ours ours;
    for (int layout = 0; layout < LAYOUTS; ++layout) {
        for (int i = 0; i < 4; ++i) {
            FAILS(MDIST_ERR_BAD_HANDLE, give_out(bad[i], 0, (DlLayout)layout, &ours, &error));
            assert_true(ours.managed.plain == NULL && ours.managed.versioned == NULL);
        }
        assert_int_equal(give_out(value, 1, (DlLayout)layout, &ours, &error), MDIST_ERR_INVALID_ARGUMENT);
        WORDS(error, "index is 1; this value has 1 tensors");
        mdist_error_free(error);
        FAILS(MDIST_ERR_INVALID_ARGUMENT, give_out(value, SIZE_MAX, (DlLayout)layout, &ours, &error));
        assert_true(ours.managed.plain == NULL && ours.managed.versioned == NULL);
    }
    for (uint32_t major = 0; major < 2; ++major)
        FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_value_to_dlpack(value, 0, major, NULL, &error));
    mdist_value_destroy(value);
    mdist_strategy_destroy(strategy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit_is_refused_and_stays_with_its_owner),
        cmocka_unit_test(one_of_the_largest_fits),
        cmocka_unit_test(a_refused_tensor_can_be_mended_and_taken),
        cmocka_unit_test(null_is_refused),
        cmocka_unit_test(a_tensor_has_one_layout),
        cmocka_unit_test(bad_handles_and_indices_give_nothing_out),
    };
    setenv("MDIST_CUDA_MODULE", "/nonexistent/no-module.so", 0); // as on a host without GPUs
    return cmocka_run_group_tests(tests, NULL, NULL);
}
