// SPDX-License-Identifier: Apache-2.0
// Iterators saved and restored in tests. Main thread.
#pragma once

#include "data.h"

MDIST_TEST_HELPER mdist_iterator_t *iterate(const mdist_dataset_t *dataset) {
    mdist_error_t *error = NULL;
    mdist_iterator_t *out = NULL;
    OK(mdist_iterator_create(dataset, &out, &error));
    return out;
}

/// The next `most` elements, or all that are left; free the text.
MDIST_TEST_HELPER char *elements_from(mdist_iterator_t *iterator, uint64_t most) {
    Text text = {0};
    put(&text, "");
    const size_t components = mdist_iterator_component_count(iterator);
    while (most != 0 && put_element(&text, iterator, components) == MDIST_OK) --most;
    return text.data;
}

MDIST_TEST_HELPER void expect_next(mdist_iterator_t *iterator, uint64_t most, const char *wanted, const char *file,
                                   int line) {
    char *got = elements_from(iterator, most);
    const int same = strcmp(got, wanted) == 0;
    if (!same) print_error("%s:%d: gave  %s\n  wanted %s\n", file, line, got, wanted);
    free(got);
    if (!same) _fail(file, line);
}
/// The next elements are these.
#define NEXT(iterator, most, wanted) expect_next(iterator, most, wanted, __FILE__, __LINE__)
/// All that is left.
#define REST(iterator, wanted) expect_next(iterator, UINT64_MAX, wanted, __FILE__, __LINE__)

/// Where it stands; free the text.
MDIST_TEST_HELPER char *state_of(mdist_iterator_t *iterator) {
    mdist_error_t *error = NULL;
    size_t needed = 0;
    OK(mdist_iterator_save(iterator, NULL, 0, &needed, &error));
    char *state = malloc(needed);
    assert_non_null(state);
    OK(mdist_iterator_save(iterator, state, needed, NULL, &error));
    assert_int_equal(strlen(state) + 1, needed);
    return state;
}

/// An iterator of `dataset` at that state, which is freed.
MDIST_TEST_HELPER mdist_iterator_t *restored(const mdist_dataset_t *dataset, char *state) {
    mdist_error_t *error = NULL;
    mdist_iterator_t *iterator = iterate(dataset);
    OK(mdist_iterator_restore(iterator, state, &error));
    free(state);
    return iterator;
}

/// Fails so, and leaves the iterator as it was.
MDIST_TEST_HELPER void expect_refused(mdist_iterator_t *iterator, const char *state, mdist_status_t status,
                                      const char *reason, const char *file, int line) {
    mdist_error_t *error = NULL;
    char *before = state_of(iterator);
    const mdist_status_t given = mdist_iterator_restore(iterator, state, &error);
    expect_status(status, given, error, "mdist_iterator_restore", file, line);
    if (strcmp(mdist_error_reason(error), reason) != 0) {
        print_error("%s:%d: not \"%s\" but \"%s\": %s\n", file, line, reason, mdist_error_reason(error),
                    mdist_error_message(error));
        _fail(file, line);
    }
    mdist_error_free(error);
    char *after = state_of(iterator);
    assert_string_equal(before, after);
    free(before), free(after);
}
#define REFUSES(iterator, state, status, reason) expect_refused(iterator, state, status, reason, __FILE__, __LINE__)
