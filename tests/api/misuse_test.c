/* SPDX-License-Identifier: Apache-2.0 */
/* Misuse of the functions that need no strategy: a status and a message each time, and unchanged outputs. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <mdist/mdist.h>

static int unused;

/* Checks that the error has this status and that its message contains `part`. Frees the error. */
static void check_error(mdist_status_t got, mdist_status_t expected, mdist_error_t *error, const char *part) {
    assert_string_equal(mdist_status_name(got), mdist_status_name(expected));
    assert_int_equal(mdist_error_status(error), expected);
    if (strstr(mdist_error_message(error), part) == NULL) fail_msg("'%s' lacks '%s'", mdist_error_message(error), part);
    assert_string_not_equal(mdist_error_operation(error), "");
    mdist_error_free(error);
}

#define REFUSED(status, part, call, ...)                   \
    do {                                                   \
        mdist_error_t *story = NULL;                       \
        mdist_status_t got = call(__VA_ARGS__, &story);    \
        check_error(got, status, story, part);             \
        assert_int_equal(call(__VA_ARGS__, NULL), status); \
    } while (0)

static mdist_config_t *new_config(void) {
    mdist_config_t *config = NULL;
    assert_int_equal(mdist_config_create(&config, NULL), MDIST_OK);
    return config;
}

/* Calls every function that takes a config with an invalid one. */
static void check_bad_config(mdist_config_t *bad, const char *part) {
    char text[4] = "abc";
    size_t needed = 99;
    REFUSED(MDIST_ERR_BAD_HANDLE, part, mdist_config_set, bad, "devices", "cpu:0");
    REFUSED(MDIST_ERR_BAD_HANDLE, part, mdist_config_get, bad, "devices", text, sizeof text, &needed);
    REFUSED(MDIST_ERR_BAD_HANDLE, part, mdist_config_load, bad, "/dev/null");
    REFUSED(MDIST_ERR_BAD_HANDLE, part, mdist_config_load_text, bad, "", 0);
    REFUSED(MDIST_ERR_BAD_HANDLE, part, mdist_config_load_environment, bad);
    assert_string_equal(text, "abc");
    assert_int_equal(needed, 99);
    mdist_config_destroy(bad);
}

static mdist_config_t *forged(mdist_config_t *config, uint64_t flipped) {
    return (mdist_config_t *)((uintptr_t)config ^ flipped);
}

static void a_null_handle_is_refused(void **state) {
    (void)state;
    check_bad_config(NULL, "expected a config handle, got NULL");
}

static void a_destroyed_handle_is_refused_for_ever(void **state) {
    mdist_config_t *config = new_config();
    mdist_config_t *others[2000];
    (void)state;
    mdist_config_destroy(config);
    check_bad_config(config, "destroyed");
    for (size_t i = 0; i < 2000; ++i) {
        others[i] = new_config();
        assert_ptr_not_equal(others[i], config);
    }
    check_bad_config(config, "destroyed");
    for (size_t i = 0; i < 2000; ++i) mdist_config_destroy(others[i]);
    check_bad_config(config, "destroyed");
}

static void pointers_and_forged_ids_are_refused(void **state) {
    mdist_config_t *config = new_config();
    static const uint64_t high[] = {1, 4, 256, UINT32_MAX};
    (void)state;
    check_bad_config((mdist_config_t *)&unused, "never a handle");
    check_bad_config((mdist_config_t *)(uintptr_t)1, "never a handle");
    check_bad_config((mdist_config_t *)UINTPTR_MAX, "never a handle");
    check_bad_config(forged(config, UINT64_C(1) << 63), "never a handle");
    check_bad_config(forged(config, 0xff000), "never a handle");
    for (size_t i = 0; i < sizeof high / sizeof *high; ++i) check_bad_config(forged(config, high[i] << 20), "");
    assert_int_equal(mdist_config_set(config, "devices", "cpu:0", NULL), MDIST_OK);
    mdist_config_destroy(config);
}

static void a_handle_of_another_kind_is_refused(void **state) {
    mdist_config_t *config = new_config();
    (void)state;
    for (uint64_t kind = 3; kind <= 8; ++kind) check_bad_config(forged(config, (kind ^ 2) << 51), "expected a config");
    check_bad_config(forged(config, (UINT64_C(5) ^ 2) << 51), "got a value handle");
    assert_int_equal(mdist_config_set(config, "devices", "cpu:0", NULL), MDIST_OK);
    mdist_config_destroy(config);
}

static void null_arguments_of_a_config_are_named(void **state) {
    mdist_config_t *config = new_config();
    char text[8];
    (void)state;
    REFUSED(MDIST_ERR_INVALID_ARGUMENT, "out is NULL", mdist_config_create, NULL);
    REFUSED(MDIST_ERR_INVALID_ARGUMENT, "key is NULL", mdist_config_set, config, NULL, "1s");
    REFUSED(MDIST_ERR_INVALID_ARGUMENT, "value is NULL", mdist_config_set, config, "devices", NULL);
    REFUSED(MDIST_ERR_INVALID_ARGUMENT, "key is NULL", mdist_config_get, config, NULL, text, sizeof text, NULL);
    REFUSED(MDIST_ERR_INVALID_ARGUMENT, "text is NULL", mdist_config_get, config, "devices", NULL, 5, NULL);
    REFUSED(MDIST_ERR_INVALID_ARGUMENT, "yaml_path is NULL", mdist_config_load, config, NULL);
    REFUSED(MDIST_ERR_INVALID_ARGUMENT, "yaml is NULL", mdist_config_load_text, config, NULL, 3);
    assert_int_equal(mdist_config_load_text(config, NULL, 0, NULL), MDIST_OK);
    mdist_config_destroy(config);
    mdist_config_destroy(NULL);
}

static void a_config_tells_how_much_room_a_text_needs(void **state) {
    mdist_config_t *config = new_config();
    char text[8] = "";
    size_t needed = 0;
    (void)state;
    assert_int_equal(mdist_config_set(config, "communication.timeout", "1500ms", NULL), MDIST_OK);
    assert_int_equal(mdist_config_get(config, "communication.timeout", NULL, 0, &needed, NULL), MDIST_OK);
    assert_int_equal(needed, 7);
    assert_int_equal(mdist_config_get(config, "communication.timeout", text, 4, &needed, NULL), MDIST_OK);
    assert_string_equal(text, "150");
    assert_int_equal(mdist_config_get(config, "communication.timeout", text, needed, NULL, NULL), MDIST_OK);
    assert_string_equal(text, "1500ms");
    mdist_config_destroy(config);
}

static void a_missing_file_is_told_with_errno(void **state) {
    mdist_config_t *config = new_config();
    mdist_error_t *error = NULL;
    (void)state;
    assert_int_equal(mdist_config_load(config, "/nowhere/at/all.yaml", &error), MDIST_ERR_NOT_FOUND);
    assert_int_equal(mdist_error_native(error), ENOENT);
    assert_non_null(strstr(mdist_error_message(error), "/nowhere/at/all.yaml"));
    mdist_error_free(error);
    mdist_config_destroy(config);
}

static void tensors_that_cannot_be_are_refused(void **state) {
    static const uint64_t huge[] = {UINT64_MAX, UINT64_MAX};
    static const uint64_t shape[9] = {2, 3, 1, 1, 1, 1, 1, 1, 1};
    const mdist_dtype_t f32 = MDIST_FLOAT32;
    mdist_tensor_t tensor;
    (void)state;
    memset(&tensor, 0x5a, sizeof tensor);
    REFUSED(MDIST_ERR_INVALID_ARGUMENT, "out is NULL", mdist_tensor_describe, NULL, f32, shape, 2, NULL);
    REFUSED(MDIST_ERR_INVALID_ARGUMENT, "shape is NULL", mdist_tensor_describe, NULL, f32, NULL, 2, &tensor);
    REFUSED(MDIST_ERR_INVALID_ARGUMENT, "rank is 9", mdist_tensor_describe, NULL, f32, shape, 9, &tensor);
    REFUSED(MDIST_ERR_INVALID_ARGUMENT, "larger", mdist_tensor_describe, NULL, f32, huge, 2, &tensor);
    REFUSED(MDIST_ERR_INVALID_ARGUMENT, "dtype", mdist_tensor_describe, NULL, (mdist_dtype_t)0, shape, 2, &tensor);
    REFUSED(MDIST_ERR_INVALID_ARGUMENT, "dtype", mdist_tensor_describe, NULL, (mdist_dtype_t)-5, shape, 2, &tensor);
    assert_int_equal(tensor.rank, 0x5a5a5a5a);
    assert_int_equal(mdist_tensor_elements(&tensor), 0);
    assert_int_equal(mdist_tensor_elements(NULL), 0);
    assert_int_equal(mdist_tensor_describe(&unused, MDIST_INT32, NULL, 0, &tensor, NULL), MDIST_OK);
    assert_int_equal(mdist_tensor_elements(&tensor), 1);
    assert_int_equal(mdist_tensor_describe(&unused, MDIST_FLOAT16, shape, 2, &tensor, NULL), MDIST_OK);
    assert_int_equal(mdist_tensor_elements(&tensor), 6);
    assert_int_equal(tensor.shape[2], 0);
}

static void numbers_that_are_none_have_neutral_names(void **state) {
    (void)state;
    assert_string_equal(mdist_status_name((mdist_status_t)-20), "MDIST_ERR_?");
    assert_string_equal(mdist_status_name((mdist_status_t)2), "MDIST_ERR_?");
    assert_string_equal(mdist_status_name(MDIST_END), "MDIST_END");
    assert_string_equal(mdist_status_name(MDIST_ERR_INTERNAL), "MDIST_ERR_INTERNAL");
    assert_string_equal(mdist_dtype_name((mdist_dtype_t)14), "?");
    assert_int_equal(mdist_dtype_size((mdist_dtype_t)-1), 0);
    assert_int_equal(mdist_dtype_size(MDIST_BFLOAT16), 2);
    assert_int_equal(mdist_has(NULL), 0);
    assert_int_equal(mdist_has(""), 0);
    assert_int_equal(mdist_version(), MDIST_VERSION);
}

static void count_up(void *counter) {
    ++*(int *)counter;
}

static void no_message(mdist_log_level_t level, const char *text, size_t length, void *user_data) {
    (void)level, (void)text, (void)length, (void)user_data;
}

static void a_sink_is_freed_when_it_is_replaced(void **state) {
    int freed = 0;
    (void)state;
    assert_int_equal(mdist_log_set_sink(no_message, &freed, count_up, NULL), MDIST_OK);
    assert_int_equal(freed, 0);
    assert_int_equal(mdist_log_set_sink(NULL, NULL, NULL, NULL), MDIST_OK);
    assert_int_equal(freed, 1);
    REFUSED(MDIST_ERR_INVALID_ARGUMENT, "5", mdist_log_set_level, (mdist_log_level_t)5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_null_handle_is_refused),
        cmocka_unit_test(a_destroyed_handle_is_refused_for_ever),
        cmocka_unit_test(pointers_and_forged_ids_are_refused),
        cmocka_unit_test(a_handle_of_another_kind_is_refused),
        cmocka_unit_test(null_arguments_of_a_config_are_named),
        cmocka_unit_test(a_config_tells_how_much_room_a_text_needs),
        cmocka_unit_test(a_missing_file_is_told_with_errno),
        cmocka_unit_test(tensors_that_cannot_be_are_refused),
        cmocka_unit_test(numbers_that_are_none_have_neutral_names),
        cmocka_unit_test(a_sink_is_freed_when_it_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
