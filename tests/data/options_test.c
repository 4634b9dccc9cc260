// SPDX-License-Identifier: Apache-2.0
// Each source and transform takes the options that belong to it, and refuses all others before it makes anything.
#include "data.h"

typedef mdist_dataset_t Source;
typedef const mdist_dataset_options_t Options;
typedef mdist_status_t (*Make)(const Source *source, mdist_dataset_t **out, Options *options, mdist_error_t **error);

static int32_t never_mapped(const mdist_tensor_t *inputs, size_t input_count, const mdist_tensor_t *outputs,
                            size_t output_count, void *user_data) {
    (void)inputs, (void)input_count, (void)outputs, (void)output_count, (void)user_data;
    return 1;
}
static int32_t never_filtered(const mdist_tensor_t *inputs, size_t input_count, int32_t *keep, void *user_data) {
    (void)inputs, (void)input_count, (void)keep, (void)user_data;
    return 1;
}
static int32_t never_generated(uint64_t index, const mdist_tensor_t *outputs, size_t output_count, void **state,
                               void *user_data) {
    (void)index, (void)outputs, (void)output_count, (void)state, (void)user_data;
    return 1;
}

static const char *const text[] = {"a"};
static const uint64_t two = 2;

#define MAKES(name, call)                                                                                              \
    static mdist_status_t name(const Source *source, mdist_dataset_t **out, Options *options, mdist_error_t **error) { \
        const mdist_tensor_t scalar = int64_scalar();                                                                  \
        (void)source, (void)scalar;                                                                                    \
        return call;                                                                                                   \
    }

MAKES(a_range, mdist_dataset_range(0, 3, 1, out, options, error))
MAKES(tensors, mdist_dataset_from_tensors(NULL, 0, NULL, NULL, out, options, error))
MAKES(generator, mdist_dataset_from_generator(never_generated, NULL, NULL, NULL, &scalar, 1, out, options, error))
MAKES(files, mdist_dataset_files(text, 1, out, options, error))
MAKES(matches, mdist_dataset_match_files(text, 1, out, options, error))
MAKES(a_shard, mdist_dataset_shard(source, 2, 0, out, options, error))
MAKES(shuffled, mdist_dataset_shuffle(source, 2, 1, out, options, error))
MAKES(repeated, mdist_dataset_repeat(source, 2, out, options, error))
MAKES(mapped, mdist_dataset_map(source, never_mapped, NULL, NULL, &scalar, 1, out, options, error))
MAKES(batched, mdist_dataset_batch(source, 2, out, options, error))
MAKES(prefetched, mdist_dataset_prefetch(source, 2, out, options, error))
MAKES(named, mdist_dataset_with_paths(source, text, 1, out, options, error))
MAKES(filtered, mdist_dataset_filter(source, never_filtered, NULL, NULL, out, options, error))
MAKES(taken, mdist_dataset_take(source, 2, out, options, error))
MAKES(skipped, mdist_dataset_skip(source, 2, out, options, error))
MAKES(joined, mdist_dataset_concatenate(source, source, out, options, error))
MAKES(zipped, mdist_dataset_zip(&source, 1, out, options, error))
MAKES(cached, mdist_dataset_cache(source, out, options, error))
MAKES(padded_batches, mdist_dataset_padded_batch(source, 2, NULL, 0, out, options, error))
MAKES(rows, mdist_dataset_unbatch(source, out, options, error))
MAKES(cut_again, mdist_dataset_rebatch(source, &two, 1, out, options, error))

static const struct {
    const char *name;
    Make make;
    uint32_t flag; // the one that it takes
} functions[] = {
    {"mdist_dataset_range", a_range, 0},
    {"mdist_dataset_from_tensors", tensors, 0},
    {"mdist_dataset_from_generator", generator, MDIST_DATASET_ANY_THREAD},
    {"mdist_dataset_files", files, 0},
    {"mdist_dataset_match_files", matches, 0},
    {"mdist_dataset_shard", a_shard, 0},
    {"mdist_dataset_shuffle", shuffled, MDIST_DATASET_SAME_ORDER},
    {"mdist_dataset_repeat", repeated, 0},
    {"mdist_dataset_map", mapped, MDIST_DATASET_UNORDERED},
    {"mdist_dataset_batch", batched, MDIST_DATASET_DROP_REMAINDER},
    {"mdist_dataset_prefetch", prefetched, 0},
    {"mdist_dataset_with_paths", named, 0},
    {"mdist_dataset_filter", filtered, 0},
    {"mdist_dataset_take", taken, 0},
    {"mdist_dataset_skip", skipped, 0},
    {"mdist_dataset_concatenate", joined, 0},
    {"mdist_dataset_zip", zipped, 0},
    {"mdist_dataset_cache", cached, 0},
    {"mdist_dataset_padded_batch", padded_batches, MDIST_DATASET_DROP_REMAINDER},
    {"mdist_dataset_unbatch", rows, 0},
    {"mdist_dataset_rebatch", cut_again, MDIST_DATASET_DROP_REMAINDER},
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

static mdist_dataset_t *batches_of_two(void) {
    return batch(range(0, 4, 1), 2, 0);
}

static void expect_refused(size_t i, const mdist_dataset_options_t *options, const char *words) {
    mdist_dataset_t *source = batches_of_two(), *out = NULL;
    mdist_error_t *error = NULL;
    const mdist_status_t status = functions[i].make(source, &out, options, &error);
    expect_status(MDIST_ERR_INVALID_ARGUMENT, status, error, functions[i].name, __FILE__, __LINE__);
    assert_string_equal(mdist_error_operation(error), functions[i].name);
    WORDS(error, words);
    assert_null(out);
    mdist_error_free(error);
    mdist_dataset_destroy(source);
}

static void each_function_takes_its_own_flag_and_no_other(void **state) {
    (void)state;
    for (size_t i = 0; i < FUNCTIONS; ++i) {
        for (uint32_t bit = 0; bit < 32; ++bit) {
            const mdist_dataset_options_t options = {sizeof options, UINT32_C(1) << bit, 0, 0};
            if (options.flags != functions[i].flag) expect_refused(i, &options, "options.flags is ");
        }
        if (functions[i].flag == 0) continue;
        const mdist_dataset_options_t options = {sizeof options, functions[i].flag, 0, 0};
        mdist_dataset_t *source = batches_of_two(), *out = NULL;
        mdist_error_t *error = NULL;
        expect_status(MDIST_OK, functions[i].make(source, &out, &options, &error), error, functions[i].name, __FILE__,
                      __LINE__);
        mdist_dataset_destroy(out);
        mdist_dataset_destroy(source);
    }
}

static void only_a_map_takes_parallel_calls(void **state) {
    (void)state;
    const mdist_dataset_options_t options = {sizeof options, 0, 2, 0};
    for (size_t i = 0; i < FUNCTIONS; ++i)
        if (functions[i].make != mapped) expect_refused(i, &options, "options.parallel_calls");
}

static void what_is_reserved_and_sizes_that_are_none_are_refused(void **state) {
    (void)state;
    const mdist_dataset_options_t reserved = {sizeof reserved, 0, 0, 1}, empty = {0, 0, 0, 0};
    for (size_t i = 0; i < FUNCTIONS; ++i) {
        expect_refused(i, &reserved, "options.reserved");
        expect_refused(i, &empty, "struct_size");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_function_takes_its_own_flag_and_no_other),
        cmocka_unit_test(only_a_map_takes_parallel_calls),
        cmocka_unit_test(what_is_reserved_and_sizes_that_are_none_are_refused),
    };
    return cmocka_run_group_tests_name("data/options", tests, NULL, NULL);
}
