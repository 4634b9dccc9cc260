// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of datasets. Elements are written as text:
// - a scalar is "5", an array "[1 2]", and a uint8 array shows its bytes as characters: 'abc';
// - "/" separates components, and a space separates elements;
// - an iteration that fails ends in "!" and the status.
// GIVES(dataset, "[0 1] [2]") destroys the dataset. The helpers that make one dataset from another destroy their
// source. So a test only writes the chain of transforms.
#pragma once

#include "dataset_options.h"
#include "mdist_test.h"

/// Options of mdist_dataset_map.
#define MAP_OPTIONS(flags, calls) (&(const mdist_dataset_options_t){sizeof(mdist_dataset_options_t), flags, calls, 0})

typedef struct Text {
    char *data;
    size_t length, capacity;
} Text;

MDIST_TEST_HELPER void put_bytes(Text *text, const char *data, size_t length) {
    if (text->length + length + 1 > text->capacity) {
        text->capacity = 2 * (text->length + length + 1);
        text->data = realloc(text->data, text->capacity);
        assert_non_null(text->data);
    }
    memcpy(text->data + text->length, data, length);
    text->length += length;
    text->data[text->length] = '\0';
}
MDIST_TEST_HELPER void put(Text *text, const char *words) {
    put_bytes(text, words, strlen(words));
}

MDIST_TEST_HELPER int64_t number_at(const mdist_tensor_t *tensor, uint64_t index) {
    switch (tensor->dtype) {
        case MDIST_INT64:
            return ((const int64_t *)tensor->data)[index];
        case MDIST_INT32:
            return ((const int32_t *)tensor->data)[index];
        case MDIST_UINT8:
            return ((const uint8_t *)tensor->data)[index];
        default:
            return -1;
    }
}

MDIST_TEST_HELPER uint64_t put_array(Text *text, const mdist_tensor_t *tensor, int32_t dimension, uint64_t at) {
    char number[32];
    if (dimension == tensor->rank) {
        snprintf(number, sizeof number, "%lld", (long long)number_at(tensor, at));
        put(text, number);
        return at + 1;
    }
    put(text, "[");
    for (uint64_t i = 0; i < tensor->shape[dimension]; ++i) {
        if (i != 0) put(text, " ");
        at = put_array(text, tensor, dimension + 1, at);
    }
    put(text, "]");
    return at;
}

MDIST_TEST_HELPER void put_component(Text *text, const mdist_value_t *value) {
    mdist_tensor_t tensor;
    assert_int_equal(mdist_value_tensor(value, 0, &tensor, NULL), MDIST_OK);
    if (tensor.dtype == MDIST_UINT8 && tensor.rank == 1) {
        put(text, "'");
        put_bytes(text, tensor.data, tensor.shape[0]);
        put(text, "'");
    } else {
        put_array(text, &tensor, 0, 0);
    }
}

/// Appends the next element, or "!" and the status if the call failed. Appends nothing at the end.
MDIST_TEST_HELPER mdist_status_t put_element(Text *text, mdist_iterator_t *iterator, size_t components) {
    mdist_value_t *values[8];
    assert_in_range(components, 1, 8);
    const mdist_status_t status = mdist_iterator_next(iterator, values, components, NULL);
    if (status == MDIST_END) return status;
    if (text->length != 0) put(text, " ");
    if (status != MDIST_OK) {
        put(text, "!");
        put(text, mdist_status_name(status));
        return status;
    }
    for (size_t i = 0; i < components; ++i) {
        if (i != 0) put(text, "/");
        put_component(text, values[i]);
        mdist_value_destroy(values[i]);
    }
    return status;
}

/// Writes all elements of one iteration. The caller frees the text.
MDIST_TEST_HELPER char *elements_of(const mdist_dataset_t *dataset) {
    Text text = {0};
    put(&text, "");
    mdist_iterator_t *iterator = NULL;
    assert_int_equal(mdist_iterator_create(dataset, &iterator, NULL), MDIST_OK);
    while (put_element(&text, iterator, mdist_dataset_component_count(dataset)) == MDIST_OK) continue;
    mdist_iterator_destroy(iterator);
    return text.data;
}

MDIST_TEST_HELPER void expect_elements(const mdist_dataset_t *dataset, const char *wanted, const char *file, int line) {
    char *got = elements_of(dataset);
    const int same = strcmp(got, wanted) == 0;
    if (!same) print_error("%s:%d: gave  %s\n  wanted %s\n", file, line, got, wanted);
    free(got);
    if (!same) _fail(file, line);
}

/// Checks that an iteration gives exactly these elements. Keeps the dataset.
#define SHOWS(dataset, wanted) expect_elements(dataset, wanted, __FILE__, __LINE__)
/// Checks that two iterations give exactly these elements. Destroys the dataset.
#define GIVES(dataset, wanted)                                      \
    do {                                                            \
        mdist_dataset_t *gives_dataset = (dataset);                 \
        expect_elements(gives_dataset, wanted, __FILE__, __LINE__); \
        expect_elements(gives_dataset, wanted, __FILE__, __LINE__); \
        mdist_dataset_destroy(gives_dataset);                       \
    } while (0)

/// The body of a helper that makes a dataset. The call must succeed. Destroys its sources.
#define MADE(call, ...)                                                                         \
    do {                                                                                        \
        mdist_dataset_t *out = NULL;                                                            \
        mdist_error_t *error = NULL;                                                            \
        expect_status(MDIST_OK, (call), error, #call, __FILE__, __LINE__);                      \
        mdist_dataset_t *used[] = {__VA_ARGS__};                                                \
        for (size_t i = 0; i < sizeof used / sizeof *used; ++i) mdist_dataset_destroy(used[i]); \
        return out;                                                                             \
    } while (0)

MDIST_TEST_HELPER mdist_dataset_t *range(int64_t start, int64_t stop, int64_t step) {
    MADE(mdist_dataset_range(start, stop, step, &out, NULL, &error), NULL);
}
MDIST_TEST_HELPER mdist_dataset_t *batch(mdist_dataset_t *source, uint64_t size, int32_t drop) {
    MADE(mdist_dataset_batch(source, size, &out, drop ? &whole_batches : NULL, &error), source);
}
MDIST_TEST_HELPER mdist_dataset_t *repeat(mdist_dataset_t *source, uint64_t count) {
    MADE(mdist_dataset_repeat(source, count, &out, NULL, &error), source);
}
MDIST_TEST_HELPER mdist_dataset_t *shard(mdist_dataset_t *source, uint64_t shards, uint64_t index) {
    MADE(mdist_dataset_shard(source, shards, index, &out, NULL, &error), source);
}
MDIST_TEST_HELPER mdist_dataset_t *shuffle(mdist_dataset_t *source, uint64_t buffer, uint64_t seed, int32_t again) {
    MADE(mdist_dataset_shuffle(source, buffer, seed, &out, again ? NULL : &same_order, &error), source);
}
MDIST_TEST_HELPER mdist_dataset_t *prefetch(mdist_dataset_t *source, uint64_t elements) {
    MADE(mdist_dataset_prefetch(source, elements, &out, NULL, &error), source);
}
MDIST_TEST_HELPER mdist_dataset_t *take(mdist_dataset_t *source, uint64_t count) {
    MADE(mdist_dataset_take(source, count, &out, NULL, &error), source);
}
MDIST_TEST_HELPER mdist_dataset_t *without(mdist_dataset_t *source, uint64_t count) {
    MADE(mdist_dataset_skip(source, count, &out, NULL, &error), source);
}
MDIST_TEST_HELPER mdist_dataset_t *concatenate(mdist_dataset_t *first, mdist_dataset_t *second) {
    MADE(mdist_dataset_concatenate(first, second, &out, NULL, &error), first, second);
}
MDIST_TEST_HELPER mdist_dataset_t *zip(mdist_dataset_t *first, mdist_dataset_t *second) {
    const mdist_dataset_t *both[] = {first, second};
    MADE(mdist_dataset_zip(both, 2, &out, NULL, &error), first, second);
}
MDIST_TEST_HELPER mdist_dataset_t *cache(mdist_dataset_t *source) {
    MADE(mdist_dataset_cache(source, &out, NULL, &error), source);
}
MDIST_TEST_HELPER mdist_dataset_t *unbatch(mdist_dataset_t *source) {
    MADE(mdist_dataset_unbatch(source, &out, NULL, &error), source);
}
MDIST_TEST_HELPER mdist_dataset_t *rebatch(mdist_dataset_t *source, const uint64_t *sizes, size_t count, int32_t drop) {
    MADE(mdist_dataset_rebatch(source, sizes, count, &out, drop ? &whole_batches : NULL, &error), source);
}
MDIST_TEST_HELPER mdist_dataset_t *padded(mdist_dataset_t *source, uint64_t size, int32_t drop) {
    MADE(mdist_dataset_padded_batch(source, size, NULL, 0, &out, drop ? &whole_batches : NULL, &error), source);
}

/// Filter function: keeps elements whose first number is even.
MDIST_TEST_HELPER int32_t is_even(const mdist_tensor_t *inputs, size_t count, int32_t *keep, void *user_data) {
    (void)count, (void)user_data;
    *keep = mdist_tensor_elements(&inputs[0]) != 0 && number_at(&inputs[0], 0) % 2 == 0;
    return 0;
}
MDIST_TEST_HELPER mdist_dataset_t *evens(mdist_dataset_t *source) {
    MADE(mdist_dataset_filter(source, is_even, NULL, NULL, &out, NULL, &error), source);
}

/// Map function: multiplies a scalar by ten.
MDIST_TEST_HELPER int32_t tenfold(const mdist_tensor_t *inputs, size_t count, const mdist_tensor_t *outputs,
                                  size_t output_count, void *user_data) {
    (void)count, (void)output_count, (void)user_data;
    *(int64_t *)outputs[0].data = 10 * number_at(&inputs[0], 0);
    return 0;
}
MDIST_TEST_HELPER mdist_tensor_t int64_scalar(void) {
    mdist_tensor_t scalar;
    assert_int_equal(mdist_tensor_describe(NULL, MDIST_INT64, NULL, 0, &scalar, NULL), MDIST_OK);
    return scalar;
}
