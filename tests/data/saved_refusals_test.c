// SPDX-License-Identifier: Apache-2.0
// Iterators that cannot be saved, and states that cannot be restored. A refused call changes nothing.
#include "saved.h"

static mdist_dataset_t *mixed(uint64_t seed) {
    return shuffle(range(0, 12, 1), 4, seed, 1);
}

static void states_of_other_datasets_are_refused(void **state) {
    (void)state;
    mdist_dataset_t *dataset = batch(mixed(1), 2, 0);
    mdist_dataset_t *const others[] = {
        batch(mixed(1), 3, 0),
        batch(mixed(1), 2, 1),
        batch(mixed(2), 2, 0),
        batch(shuffle(range(0, 12, 1), 5, 1, 1), 2, 0),
        batch(shuffle(range(0, 12, 1), 4, 1, 0), 2, 0),
        batch(shuffle(range(0, 13, 1), 4, 1, 1), 2, 0),
        repeat(batch(mixed(1), 2, 0), 2),
        cache(batch(mixed(1), 2, 0)),
        concatenate(batch(mixed(1), 2, 0), batch(mixed(1), 2, 0)),
        zip(batch(mixed(1), 2, 0), range(0, 9, 1)),
        shard(batch(mixed(1), 2, 0), 2, 0),
        take(batch(mixed(1), 2, 0), 3),
        without(batch(mixed(1), 2, 0), 1),
        evens(batch(mixed(1), 2, 0)),
        unbatch(batch(mixed(1), 2, 0)),
        padded(mixed(1), 2, 0),
    };
    mdist_iterator_t *iterator = iterate(dataset);
    free(elements_from(iterator, 2));
    char *saved = state_of(iterator);
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
        mdist_iterator_t *other = iterate(others[i]);
        REFUSES(other, saved, MDIST_ERR_MISMATCH, "different_dataset");
        mdist_iterator_destroy(other);
        mdist_dataset_destroy(others[i]);
    }
    free(saved);
    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(dataset);
}

static void long_descriptions_are_told_apart_to_their_end(void **state) {
    (void)state;
    mdist_dataset_t *both[] = {range(0, 9, 1), range(0, 9, 1)};
    for (int i = 0; i < 300; ++i)
        for (int k = 0; k < 2; ++k) both[k] = take(both[k], i == 299 && k == 1 ? 8 : 7);
    mdist_iterator_t *iterators[] = {iterate(both[0]), iterate(both[1])};
    char *saved = state_of(iterators[0]);
    assert_in_range(strlen(saved), 1000, 1200);
    REFUSES(iterators[1], saved, MDIST_ERR_MISMATCH, "different_dataset");
    free(saved);
    for (int k = 0; k < 2; ++k) {
        mdist_iterator_destroy(iterators[k]);
        mdist_dataset_destroy(both[k]);
    }
}

static void texts_that_were_changed_are_refused(void **state) {
    (void)state;
    mdist_dataset_t *dataset = batch(mixed(1), 2, 0);
    mdist_iterator_t *iterator = iterate(dataset);
    free(elements_from(iterator, 2));
    char *saved = state_of(iterator);
    const size_t length = strlen(saved);
    for (size_t at = 0; at < length; ++at) {
        const char was = saved[at];
        for (int bit = 0; bit < 8; ++bit) {
            saved[at] = (char)(was ^ 1 << bit);
            REFUSES(iterator, saved, MDIST_ERR_DATA_LOSS, "corrupt");
        }
        saved[at] = '\0';
        REFUSES(iterator, saved, MDIST_ERR_DATA_LOSS, "corrupt");
        saved[at] = was;
    }
    static const char *const nonsense[] = {"",
                                           "{}",
                                           "[]",
                                           "null",
                                           "7",
                                           "\"\"",
                                           "{\"mdist.iterator\":\"2\"}",
                                           "{\"mdist.iterator\":\"1\",\"taken\":-1}",
                                           "{\"mdist.iterator\":\"1\",\"taken\":99999999999999999999}"};
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; ++i)
        REFUSES(iterator, nonsense[i], MDIST_ERR_DATA_LOSS, "corrupt");
    free(saved);
    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(dataset);
}

/// Checks that saving the iterator fails with this status, reason and message.
static void expect_unsaved(mdist_iterator_t *iterator, mdist_status_t wanted, const char *reason, const char *words) {
    mdist_error_t *error = NULL;
    char text[8];
    const mdist_status_t status = mdist_iterator_save(iterator, text, sizeof text, NULL, &error);
    assert_int_equal(status, wanted);
    assert_string_equal(mdist_error_reason(error), reason);
    WORDS(error, words);
    mdist_error_free(error);
}

static void elements_in_whatever_order_cannot_be_told_apart(void **state) {
    (void)state;
    const mdist_tensor_t scalar = int64_scalar();
    mdist_error_t *error = NULL;
    for (int32_t ordered = 0; ordered <= 1; ++ordered) {
        mdist_dataset_t *source = range(0, 9, 1), *dataset = NULL;
        OK(mdist_dataset_map(source, tenfold, NULL, NULL, &scalar, 1, &dataset,
                             MAP_OPTIONS(ordered ? 0 : MDIST_DATASET_UNORDERED, 2), &error));
        mdist_dataset_t *all = batch(dataset, 2, 0);
        mdist_iterator_t *iterator = iterate(all);
        free(elements_from(iterator, 2));
        if (ordered == 0)
            expect_unsaved(iterator, MDIST_ERR_FAILED_PRECONDITION, "unordered", "without that flag");
        else
            free(state_of(iterator));
        mdist_iterator_destroy(iterator);
        mdist_dataset_destroy(all);
        mdist_dataset_destroy(source);
    }
}

static void a_cache_of_what_another_iterator_shuffled_can_be_saved(void **state) {
    (void)state;
    mdist_dataset_t *dataset = cache(mixed(1)), *twin = cache(mixed(1));
    free(elements_of(dataset)); // fills the cache
    mdist_iterator_t *second = iterate(dataset);
    free(elements_from(second, 5));
    mdist_iterator_t *other = restored(twin, state_of(second));
    char *rest = elements_from(second, 99), *again = elements_of(dataset);
    REST(other, rest);
    SHOWS(twin, again);
    free(rest), free(again);
    mdist_iterator_destroy(second);
    mdist_iterator_destroy(other);
    mdist_dataset_destroy(dataset);
    mdist_dataset_destroy(twin);
}

/// Map function: returns 7 at the number that user_data points to.
static int32_t failing_map(const mdist_tensor_t *inputs, size_t count, const mdist_tensor_t *outputs,
                           size_t output_count, void *user_data) {
    const int64_t bad = *(const int64_t *)user_data;
    return number_at(&inputs[0], 0) == bad ? 7 : tenfold(inputs, count, outputs, output_count, NULL);
}

static void a_failed_iterator_works_again_once_restored(void **state) {
    (void)state;
    int64_t bad = 4;
    const mdist_tensor_t scalar = int64_scalar();
    mdist_error_t *error = NULL;
    mdist_dataset_t *source = range(0, 6, 1), *dataset = NULL;
    OK(mdist_dataset_map(source, failing_map, &bad, NULL, &scalar, 1, &dataset, NULL, &error));
    mdist_iterator_t *iterator = iterate(dataset);
    NEXT(iterator, 3, "0 10 20");
    char *saved = state_of(iterator);
    REST(iterator, "30 !MDIST_ERR_CALLBACK");
    expect_unsaved(iterator, MDIST_ERR_CALLBACK, "map_returned", "map");
    bad = -1;
    OK(mdist_iterator_restore(iterator, saved, &error));
    REST(iterator, "30 40 50");
    OK(mdist_iterator_restore(iterator, saved, &error)); // from the end
    REST(iterator, "30 40 50");
    OK(mdist_iterator_close(iterator, &error));
    FAILS(MDIST_ERR_FAILED_PRECONDITION, mdist_iterator_restore(iterator, saved, &error));
    expect_unsaved(iterator, MDIST_ERR_FAILED_PRECONDITION, "closed", "closed");
    free(saved);
    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(dataset);
    mdist_dataset_destroy(source);
}

static void arguments_are_checked(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_dataset_t *dataset = range(0, 3, 1);
    mdist_iterator_t *iterator = iterate(dataset);
    char text[8] = "";
    size_t needed = 0;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_iterator_restore(iterator, NULL, &error));
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_iterator_restore(NULL, "{}", &error));
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_iterator_save(NULL, text, sizeof text, &needed, &error));
    OK(mdist_iterator_save(iterator, text, sizeof text, &needed, &error));
    assert_string_equal(text, "{\"mdist");
    assert_in_range(needed, 50, 200);
    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(dataset);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_of_other_datasets_are_refused),
        cmocka_unit_test(long_descriptions_are_told_apart_to_their_end),
        cmocka_unit_test(texts_that_were_changed_are_refused),
        cmocka_unit_test(elements_in_whatever_order_cannot_be_told_apart),
        cmocka_unit_test(a_cache_of_what_another_iterator_shuffled_can_be_saved),
        cmocka_unit_test(a_failed_iterator_works_again_once_restored),
        cmocka_unit_test(arguments_are_checked),
    };
    quiet_log();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
