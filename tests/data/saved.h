// SPDX-License-Identifier: Apache-2.0
// Helpers for tests that save and restore iterators. Main thread only.
#pragma once

#include "data.h"

MDIST_TEST_HELPER mdist_iterator_t *iterate(const mdist_dataset_t *dataset) {
    mdist_error_t *error = NULL;
    mdist_iterator_t *out = NULL;
    OK(mdist_iterator_create(dataset, &out, &error));
    return out;
}

/// Writes the next `most` elements, or all that are left. The caller frees the text.
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
/// Checks the next elements.
#define NEXT(iterator, most, wanted) expect_next(iterator, most, wanted, __FILE__, __LINE__)
/// Checks all elements that are left.
#define REST(iterator, wanted) expect_next(iterator, UINT64_MAX, wanted, __FILE__, __LINE__)

/// Saves the iterator's state. The caller frees it.
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

/// Makes an iterator of `dataset` and restores `state`. Frees `state`.
MDIST_TEST_HELPER mdist_iterator_t *restored(const mdist_dataset_t *dataset, char *state) {
    mdist_error_t *error = NULL;
    mdist_iterator_t *iterator = iterate(dataset);
    OK(mdist_iterator_restore(iterator, state, &error));
    free(state);
    return iterator;
}

/// Checks that restoring fails with this status and reason, and leaves the iterator unchanged.
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
