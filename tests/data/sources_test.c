// SPDX-License-Identifier: Apache-2.0
// Ranges and generators as sources.
#include "data.h"

static void ranges_count_up_and_down(void **state) {
    (void)state;
    GIVES(range(0, 5, 1), "0 1 2 3 4");
    GIVES(range(2, 9, 3), "2 5 8");
    GIVES(range(5, 0, -2), "5 3 1");
    GIVES(range(5, 5, 1), "");
    GIVES(range(5, 0, 1), "");
    GIVES(range(0, 5, -1), "");
    GIVES(range(INT64_MAX - 2, INT64_MAX, 5), "9223372036854775805");
    GIVES(range(INT64_MIN, INT64_MAX, INT64_MAX), "-9223372036854775808 -1 9223372036854775806");
    GIVES(range(INT64_MAX, INT64_MIN, INT64_MIN), "9223372036854775807 -1");
    mdist_error_t *error = NULL;
    mdist_dataset_t *out = NULL;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_dataset_range(0, 5, 0, &out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_dataset_range(0, 5, 1, NULL, NULL, &error));
}

static void a_long_range_is_whole(void **state) {
    (void)state;
    mdist_dataset_t *batches = batch(range(-700, 1300, 1), 2000, 0);
    mdist_iterator_t *iterator = NULL;
    mdist_value_t *value = NULL;
    mdist_tensor_t tensor;
    mdist_error_t *error = NULL;
    OK(mdist_iterator_create(batches, &iterator, &error));
    OK(mdist_iterator_next(iterator, &value, 1, &error));
    OK(mdist_value_tensor(value, 0, &tensor, &error));
    assert_int_equal(tensor.shape[0], 2000);
    for (int i = 0; i < 2000; ++i) assert_int_equal(number_at(&tensor, (uint64_t)i), i - 700);
    mdist_value_destroy(value);
    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(batches);
}

static void shuffles_are_counted_per_iteration_and_epoch(void **state) {
    (void)state;
    mdist_dataset_t *anew = shuffle(range(0, 20, 1), 20, 5, 1), *fixed = shuffle(range(0, 20, 1), 20, 5, 0);
    char *first = elements_of(anew), *second = elements_of(anew), *one = elements_of(fixed);
    assert_string_not_equal(first, second);
    GIVES(fixed, one);
    mdist_dataset_destroy(anew);
    anew = shuffle(range(0, 20, 1), 20, 5, 1); // as in a program that starts again
    SHOWS(anew, first);
    SHOWS(anew, second);
    mdist_dataset_destroy(anew);
    free(first);
    free(second);
    free(one);
}

// A generator that gives a letter of `letters` at each call, as one int64 ('a' is 0). '!' makes it fail.
typedef struct Script {
    const char *letters;
    int states, freed; // states made and freed
} Script;
static Script script;

static int32_t spell(uint64_t index, const mdist_tensor_t *outputs, size_t count, void **state, void *user_data) {
    Script *self = user_data;
    if (count != 1 || (index == 0) != (*state == NULL)) return 77;
    if (index == 0) {
        ++self->states;
        *state = malloc(sizeof(const char *));
        *(const char **)*state = self->letters;
    }
    const char **at = *state;
    if (**at == '\0') return MDIST_END;
    if (**at == '!') return 42;
    *(int64_t *)outputs[0].data = *(*at)++ - 'a';
    return MDIST_OK;
}
static void forget(void *state) {
    ++script.freed;
    free(state);
}
static int users;
static void forget_user(void *user_data) {
    (void)user_data;
    --users;
}

static mdist_dataset_t *spelt(const char *letters, const mdist_dataset_options_t *options) {
    const mdist_tensor_t scalar = int64_scalar();
    script = (Script){letters, 0, 0};
    ++users;
    MADE(mdist_dataset_from_generator(spell, &script, forget_user, forget, &scalar, 1, &out, options, &error), NULL);
}

static void a_generator_begins_anew_in_each_iteration_and_epoch(void **state) {
    (void)state;
    GIVES(spelt("abc", NULL), "0 1 2");
    GIVES(spelt("", NULL), "");
    assert_int_equal(script.states, 2);
    GIVES(batch(repeat(spelt("abc", NULL), 3), 2, 0), "[0 1] [2 0] [1 2] [0 1] [2]");
    assert_int_equal(script.states, 6);
    assert_int_equal(script.freed, 6);
    GIVES(take(spelt("abc", NULL), 1), "0");
    assert_int_equal(script.freed, 2);
    assert_int_equal(users, 0);
}

static void two_iterations_of_a_generator_do_not_disturb_each_other(void **state) {
    (void)state;
    mdist_dataset_t *letters = spelt("abc", NULL);
    mdist_dataset_t *out = NULL;
    mdist_error_t *error = NULL;
    const mdist_dataset_t *twice[] = {letters, letters};
    OK(mdist_dataset_zip(twice, 2, &out, NULL, &error));
    mdist_dataset_destroy(letters);
    GIVES(out, "0/0 1/1 2/2");
}

static void what_a_generator_returns_is_the_error(void **state) {
    (void)state;
    mdist_dataset_t *letters = spelt("ab!", NULL);
    mdist_iterator_t *iterator = NULL;
    mdist_value_t *value = NULL;
    mdist_error_t *error = NULL;
    SHOWS(letters, "0 1 !MDIST_ERR_CALLBACK");
    OK(mdist_iterator_create(letters, &iterator, &error));
    for (int i = 0; i < 2; ++i) {
        OK(mdist_iterator_next(iterator, &value, 1, &error));
        mdist_value_destroy(value);
    }
    assert_int_equal(mdist_iterator_next(iterator, &value, 1, &error), MDIST_ERR_CALLBACK);
    assert_int_equal(mdist_error_native(error), 42);
    assert_string_equal(mdist_error_reason(error), "generator_returned");
    mdist_error_free(error);
    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(letters);
    assert_int_equal(users, 0);
}

static void a_generator_runs_on_threads_of_the_library_only_if_it_says_so(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_dataset_t *out = NULL, *here = batch(spelt("abc", NULL), 2, 0);
    const mdist_tensor_t scalar = int64_scalar();
    assert_int_equal(mdist_dataset_prefetch(here, 1, &out, NULL, &error), MDIST_ERR_FAILED_PRECONDITION);
    assert_string_equal(mdist_error_reason(error), "callers_thread");
    WORDS(error, "MDIST_DATASET_ANY_THREAD");
    mdist_error_free(error);
    FAILS(MDIST_ERR_FAILED_PRECONDITION,
          mdist_dataset_map(here, tenfold, NULL, NULL, &scalar, 1, &out, MAP_OPTIONS(0, 2), &error));
    here = concatenate(batch(range(0, 2, 1), 1, 0), here);
    FAILS(MDIST_ERR_FAILED_PRECONDITION, mdist_dataset_prefetch(here, 1, &out, NULL, &error));
    GIVES(here, "[0] [1] [0 1] [2]");
    GIVES(prefetch(spelt("abc", &any_thread), 2), "0 1 2");
    int32_t done = 0;
    OK(mdist_iterators_wait(MDIST_FOREVER, &done, &error));
    assert_int_equal(users, 0);
}

static void generators_that_make_no_sense_are_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_dataset_t *out = NULL;
    mdist_tensor_t output = int64_scalar();
    const mdist_dataset_options_t unknown = {sizeof unknown, MDIST_DATASET_ANY_THREAD | MDIST_DATASET_UNORDERED, 0, 0};
    users = 4;
    FAILS(MDIST_ERR_INVALID_ARGUMENT,
          mdist_dataset_from_generator(NULL, NULL, forget_user, NULL, &output, 1, &out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT,
          mdist_dataset_from_generator(spell, NULL, forget_user, NULL, &output, 0, &out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT,
          mdist_dataset_from_generator(spell, NULL, forget_user, NULL, &output, 1, &out, &unknown, &error));
    output.rank = 1;
    output.shape[0] = MDIST_UNKNOWN_LENGTH;
    FAILS(MDIST_ERR_INVALID_ARGUMENT,
          mdist_dataset_from_generator(spell, NULL, forget_user, NULL, &output, 1, &out, NULL, &error));
    assert_int_equal(users, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_count_up_and_down),
        cmocka_unit_test(a_long_range_is_whole),
        cmocka_unit_test(shuffles_are_counted_per_iteration_and_epoch),
        cmocka_unit_test(a_generator_begins_anew_in_each_iteration_and_epoch),
        cmocka_unit_test(two_iterations_of_a_generator_do_not_disturb_each_other),
        cmocka_unit_test(what_a_generator_returns_is_the_error),
        cmocka_unit_test(a_generator_runs_on_threads_of_the_library_only_if_it_says_so),
        cmocka_unit_test(generators_that_make_no_sense_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
