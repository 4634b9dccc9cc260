// SPDX-License-Identifier: Apache-2.0
// Shapes, types and names of components before the first element, and elements as one value.
#include "dataset_options.h"
#include "structure_support.h"

static float rows[24][2];
static int64_t labels[24];

/// Makes a dataset of 24 rows of [2] and 24 scalars.
static mdist_dataset_t *source(void) {
    mdist_error_t *error = NULL;
    mdist_dataset_t *dataset = NULL;
    const mdist_tensor_t arrays[] = {shaped(rows, MDIST_FLOAT32, 24, 2, NO), tensor_of(labels, MDIST_INT64, 24)};
    OK(mdist_dataset_from_tensors(arrays, 2, NULL, NULL, &dataset, NULL, &error));
    return dataset;
}

static mdist_dataset_t *batched(mdist_dataset_t *from, uint64_t size, int drop_remainder) {
    mdist_error_t *error = NULL;
    mdist_dataset_t *dataset = NULL;
    OK(mdist_dataset_batch(from, size, &dataset, drop_remainder ? &whole_batches : NULL, &error));
    mdist_dataset_destroy(from);
    return dataset;
}

static mdist_dataset_t *named(mdist_dataset_t *from, const char *first, const char *second) {
    mdist_error_t *error = NULL;
    mdist_dataset_t *dataset = NULL;
    const char *const paths[] = {first, second};
    OK(mdist_dataset_with_paths(from, paths, 2, &dataset, NULL, &error));
    mdist_dataset_destroy(from);
    return dataset;
}

static mdist_dataset_t *distributed(mdist_strategy_t *strategy, mdist_dataset_t *from) {
    mdist_error_t *error = NULL;
    mdist_dataset_t *dataset = NULL;
    OK(mdist_distribute_dataset(strategy, from, &dataset, NULL, &error));
    mdist_dataset_destroy(from);
    return dataset;
}

/// Checks the description of a component, by the dataset and by an iterator. The iterator outlives both the dataset and
/// its own end.
static void expect_component(mdist_dataset_t *dataset, size_t index, mdist_tensor_t wanted, const char *path,
                             mdist_value_kind_t kind) {
    mdist_error_t *error = NULL;
    mdist_iterator_t *iterator = NULL;
    mdist_tensor_t tensors[2];
    const char *paths[2] = {NULL, NULL};
    int32_t kinds[2] = {0, 0};
    OK(mdist_dataset_component(dataset, index, &tensors[0], &paths[0], &kinds[0], &error));
    assert_string_equal(paths[0], path);
    OK(mdist_iterator_create(dataset, &iterator, &error));
    mdist_dataset_destroy(dataset);
    OK(mdist_iterator_close(iterator, &error));
    assert_int_equal(mdist_iterator_component_count(iterator), 2);
    OK(mdist_iterator_component(iterator, index, &tensors[1], &paths[1], &kinds[1], &error));
    assert_string_equal(paths[1], path);
    for (int i = 0; i < 2; ++i) {
        assert_memory_equal(&tensors[i], &wanted, sizeof wanted);
        assert_int_equal(kinds[i], kind);
    }
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_iterator_component(iterator, 2, &tensors[0], NULL, NULL, &error));
    OK(mdist_iterator_component(iterator, 0, &tensors[0], NULL, NULL, &error));
    mdist_iterator_destroy(iterator);
}

static void components_are_known_beforehand(void **state) {
    (void)state;
    expect_component(source(), 0, shaped(NULL, MDIST_FLOAT32, 2, NO, NO), "0", MDIST_VALUE_PLAIN);
    expect_component(source(), 1, shaped(NULL, MDIST_INT64, NO, NO, NO), "1", MDIST_VALUE_PLAIN);
    // Batches have a known length only if a shorter last one is dropped, even if all happen to be full.
    for (uint64_t size = 5; size <= 6; ++size)
        expect_component(batched(source(), size, 0), 0, shaped(NULL, MDIST_FLOAT32, MDIST_UNKNOWN_LENGTH, 2, NO), "0",
                         MDIST_VALUE_PLAIN);
    expect_component(batched(source(), 5, 1), 1, shaped(NULL, MDIST_INT64, 5, NO, NO), "1", MDIST_VALUE_PLAIN);
    expect_component(batched(batched(source(), 5, 0), 2, 1), 0, shaped(NULL, MDIST_FLOAT32, 2, MDIST_UNKNOWN_LENGTH, 2),
                     "0", MDIST_VALUE_PLAIN);
}

static void a_distributed_component_is_what_each_replica_gets(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= 3; ++n) {
        mdist_strategy_t *strategy = make_strategy(n, NULL);
        expect_component(distributed(strategy, batched(source(), 6, 1)), 0, shaped(NULL, MDIST_FLOAT32, 6 / n, 2, NO),
                         "0", MDIST_VALUE_PER_REPLICA);
        expect_component(distributed(strategy, batched(source(), 7, 1)), 1,
                         shaped(NULL, MDIST_INT64, n == 1 ? 7 : MDIST_UNKNOWN_LENGTH, NO, NO), "1",
                         MDIST_VALUE_PER_REPLICA);
        expect_component(distributed(strategy, named(batched(source(), 5, 0), "image", "label")), 1,
                         shaped(NULL, MDIST_INT64, MDIST_UNKNOWN_LENGTH, NO, NO), "label", MDIST_VALUE_PER_REPLICA);
        mdist_strategy_destroy(strategy);
    }
}

static int32_t give_nothing(const mdist_tensor_t *inputs, size_t input_count, const mdist_tensor_t *outputs,
                            size_t output_count, void *user_data) {
    (void)inputs, (void)input_count, (void)outputs, (void)output_count, (void)user_data;
    return 0;
}

static void components_keep_their_names_but_not_through_a_map(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_dataset_t *dataset = named(source(), "b", "a.c"), *shuffled = NULL, *repeated = NULL, *mapped = NULL;
    OK(mdist_dataset_shuffle(dataset, 4, 1, &shuffled, &same_order, &error));
    OK(mdist_dataset_repeat(shuffled, 2, &repeated, NULL, &error));
    mdist_dataset_t *batches = batched(repeated, 4, 0);
    mdist_tensor_t components[2];
    const char *path = NULL;
    for (int i = 0; i < 2; ++i) OK(mdist_dataset_component(batches, i, &components[i], NULL, NULL, &error));
    OK(mdist_dataset_map(batches, give_nothing, NULL, NULL, components, 2, &mapped, NULL, &error));
    expect_component(batches, 1, shaped(NULL, MDIST_INT64, MDIST_UNKNOWN_LENGTH, NO, NO), "a.c", MDIST_VALUE_PLAIN);
    OK(mdist_dataset_component(mapped, 1, &components[0], &path, NULL, &error));
    assert_string_equal(path, "1");
    mdist_dataset_destroy(mapped);
    mdist_dataset_destroy(shuffled);
    mdist_dataset_destroy(dataset);
}

static void expect_bad_names(const char *const *paths, size_t count, const char *words) {
    mdist_error_t *error = NULL;
    mdist_dataset_t *dataset = source(), *out = NULL;
    assert_int_equal(mdist_dataset_with_paths(dataset, paths, count, &out, NULL, &error), MDIST_ERR_INVALID_ARGUMENT);
    WORDS(error, words);
    assert_null(out);
    mdist_error_free(error);
    mdist_dataset_destroy(dataset);
}

static void names_make_a_tree(void **state) {
    (void)state;
    const char *const twice[] = {"a", "a"}, *const below[] = {"a", "a.b"}, *const gap[] = {"a.0", "a.2"},
                      *const empty[] = {"a", ""}, *const three[] = {"a", "b", "c"};
    expect_bad_names(twice, 2, "given twice");
    expect_bad_names(below, 2, "lies below");
    expect_bad_names(gap, 2, "without gaps");
    expect_bad_names(empty, 2, "path 1 of 2 is empty");
    expect_bad_names(three, 3, "elements of this dataset have 2 components");
}

static void an_element_is_one_value(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    const char *const positions[] = {"0", "1"}, *const names[] = {"image", "label"};
    for (int i = 0; i < 24; ++i) labels[i] = i;
    for (int with_names = 0; with_names < 2; ++with_names) {
        mdist_strategy_t *strategy = make_strategy(3, NULL);
        mdist_dataset_t *batches = batched(source(), 12, 0);
        if (with_names) batches = named(batches, "image", "label");
        mdist_dataset_t *cut = distributed(strategy, batches);
        mdist_iterator_t *iterator = NULL;
        mdist_value_t *element = NULL;
        OK(mdist_iterator_create(cut, &iterator, &error));
        for (int step = 0; step < 2; ++step) {
            OK(mdist_iterator_next_value(iterator, &element, &error));
            expect_paths(element, with_names ? names : positions, 2);
            mdist_value_t *label = at(element, with_names ? "label" : "1");
            for (uint32_t r = 0; r < 3; ++r) {
                expect_tensor(label, r, tensor_of(&labels[12 * step + 4 * r], MDIST_INT64, 4));
            }
            mdist_value_destroy(label);
            mdist_value_destroy(element);
        }
        for (int i = 0; i < 2; ++i)
            assert_int_equal(mdist_iterator_next_value(iterator, &element, &error),
                             MDIST_END); // an optional without a value
        mdist_iterator_destroy(iterator);
        mdist_dataset_destroy(cut);
        mdist_strategy_destroy(strategy);
    }
}

static void the_only_component_is_the_element(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_dataset_t *dataset = NULL;
    mdist_iterator_t *iterator = NULL;
    mdist_value_t *element = NULL;
    const mdist_tensor_t array = tensor_of(labels, MDIST_INT64, 24);
    OK(mdist_dataset_from_tensors(&array, 1, NULL, NULL, &dataset, NULL, &error));
    OK(mdist_iterator_create(dataset, &iterator, &error));
    OK(mdist_iterator_next_value(iterator, &element, &error));
    expect_plain(element, tensor_of(&labels[0], MDIST_INT64, 0));
    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(dataset);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(components_are_known_beforehand),
        cmocka_unit_test(a_distributed_component_is_what_each_replica_gets),
        cmocka_unit_test(components_keep_their_names_but_not_through_a_map),
        cmocka_unit_test(names_make_a_tree),
        cmocka_unit_test(an_element_is_one_value),
        cmocka_unit_test(the_only_component_is_the_element),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
