// SPDX-License-Identifier: Apache-2.0
// Saves and restores iterators: which elements come next, which functions run again, and what is refused.
#include "saved.h"
#include "files.h"

static mdist_dataset_t *threes(void) {
    return batch(range(0, 10, 1), 3, 0);
}

static void a_restored_iterator_goes_on_where_another_was_saved(void **state) {
    (void)state;
    const char *const rests[] = {"[0 1 2] [3 4 5] [6 7 8] [9]", "[3 4 5] [6 7 8] [9]", "[6 7 8] [9]", "[9]", "", ""};
    for (uint64_t taken = 0; taken < 6; ++taken) {
        mdist_dataset_t *first = threes(), *second = prefetch(threes(), 2);
        mdist_iterator_t *saved = iterate(first);
        free(elements_from(saved, taken));
        mdist_iterator_t *other = restored(second, state_of(saved));
        REST(other, rests[taken]);
        REST(saved, rests[taken]);
        REST(other, "");
        mdist_iterator_destroy(saved);
        mdist_iterator_destroy(other);
        mdist_dataset_destroy(first);
        mdist_dataset_destroy(second);
    }
}

static void the_text_says_what_it_is_about(void **state) {
    (void)state;
    mdist_dataset_t *dataset = take(shuffle(threes(), 2, 7, 1), 9);
    mdist_iterator_t *iterator = iterate(dataset);
    free(elements_from(iterator, 2));
    char *text = state_of(iterator);
    const char *wanted =
        "{\"mdist.iterator\":\"1\",\"dataset\":\"range(10 numbers from 0, step 1) | batch(3) | shuffle(2, seed 7) | "
        "take(9)\","
        "\"layout\":\"\",\"taken\":2,\"orders\":[0],\"crc32c\":";
    assert_memory_equal(text, wanted, strlen(wanted));
    free(text);
    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(dataset);
}

static mdist_dataset_t *mixed(void) {
    return shuffle(range(0, 12, 1), 12, 3, 1);
}

static void later_iterators_shuffle_as_they_would_have(void **state) {
    (void)state;
    mdist_dataset_t *dataset = mixed(), *twin = mixed();
    char *first = elements_of(dataset);
    mdist_iterator_t *iterator = iterate(dataset); // the second iteration
    free(elements_from(iterator, 5));
    mdist_iterator_t *other = restored(twin, state_of(iterator));
    char *rest = elements_from(iterator, 99), *third = elements_of(dataset);
    REST(other, rest);
    SHOWS(twin, third);
    assert_string_not_equal(first, third);
    free(first), free(rest), free(third);
    mdist_iterator_destroy(iterator);
    mdist_iterator_destroy(other);
    mdist_dataset_destroy(dataset);
    mdist_dataset_destroy(twin);
}

/// Takes `steps` steps and counts each row that a replica gets in `seen`.
static void count_rows(mdist_iterator_t *iterator, uint32_t replicas, uint64_t steps, int *seen) {
    mdist_value_t *value = NULL;
    for (; steps != 0 && mdist_iterator_next(iterator, &value, 1, NULL) == MDIST_OK; --steps) {
        for (uint32_t i = 0; i < replicas; ++i) {
            mdist_tensor_t tensor;
            assert_int_equal(mdist_value_tensor(value, i, &tensor, NULL), MDIST_OK);
            for (uint64_t row = 0; row < tensor.shape[0]; ++row) ++seen[number_at(&tensor, row)];
        }
        mdist_value_destroy(value);
    }
}

static mdist_dataset_t *distributed(mdist_strategy_t *strategy) {
    mdist_dataset_t *source = batch(shuffle(range(0, 23, 1), 23, 5, 1), 4, 0);
    MADE(mdist_distribute_dataset(strategy, source, &out, NULL, &error), source);
}

static void any_number_of_replicas_goes_on_from_a_step(void **state) {
    (void)state;
    for (uint32_t before = 1; before <= 3; ++before)
        for (uint32_t after = 1; after <= 3; ++after)
            for (uint64_t steps = 0; steps <= 7; ++steps) {
                int seen[23] = {0};
                mdist_strategy_t *first = make_strategy(before, NULL), *second = make_strategy(after, NULL);
                mdist_dataset_t *dataset = distributed(first), *other = distributed(second);
                mdist_iterator_t *saved = iterate(dataset);
                count_rows(saved, before, steps, seen);
                mdist_iterator_t *goes_on = restored(other, state_of(saved));
                count_rows(goes_on, after, UINT64_MAX, seen);
                for (int row = 0; row < 23; ++row) assert_int_equal(seen[row], 1);
                mdist_iterator_destroy(saved);
                mdist_iterator_destroy(goes_on);
                mdist_dataset_destroy(dataset);
                mdist_dataset_destroy(other);
                mdist_strategy_destroy(first);
                mdist_strategy_destroy(second);
            }
}

static int32_t counting_map(const mdist_tensor_t *inputs, size_t count, const mdist_tensor_t *outputs,
                            size_t output_count, void *user_data) {
    ++*(int *)user_data;
    return tenfold(inputs, count, outputs, output_count, NULL);
}
static int32_t counting_filter(const mdist_tensor_t *inputs, size_t count, int32_t *keep, void *user_data) {
    ++*(int *)user_data;
    return is_even(inputs, count, keep, NULL);
}
static mdist_dataset_t *mapped(mdist_dataset_t *source, int *calls) {
    const mdist_tensor_t scalar = int64_scalar();
    MADE(mdist_dataset_map(source, counting_map, calls, NULL, &scalar, 1, &out, NULL, &error), source);
}
static mdist_dataset_t *filtered(mdist_dataset_t *source, int *calls) {
    MADE(mdist_dataset_filter(source, counting_filter, calls, NULL, &out, NULL, &error), source);
}

static void a_filter_runs_again_and_a_map_does_not(void **state) {
    (void)state;
    int maps = 0, filters = 0;
    mdist_dataset_t *dataset = batch(mapped(filtered(range(0, 16, 1), &filters), &maps), 2, 0);
    mdist_iterator_t *iterator = iterate(dataset);
    NEXT(iterator, 3, "[0 20] [40 60] [80 100]");
    assert_int_equal(maps, 6);
    assert_int_equal(filters, 11);
    mdist_iterator_t *other = restored(dataset, state_of(iterator));
    assert_int_equal(maps, 6);
    assert_int_equal(filters, 22);
    REST(other, "[120 140]");
    assert_int_equal(maps, 8);
    mdist_iterator_destroy(iterator);
    mdist_iterator_destroy(other);
    mdist_dataset_destroy(dataset);
}

/// Generator: counts up to the number that user_data points to.
static int32_t count_up(uint64_t index, const mdist_tensor_t *outputs, size_t output_count, void **progress,
                        void *user_data) {
    (void)output_count, (void)progress;
    if (index == *(const uint64_t *)user_data) return MDIST_END;
    *(int64_t *)outputs[0].data = (int64_t)index;
    return MDIST_OK;
}
static mdist_dataset_t *counted_up(uint64_t *end) {
    const mdist_tensor_t scalar = int64_scalar();
    MADE(mdist_dataset_from_generator(count_up, end, NULL, NULL, &scalar, 1, &out, NULL, &error), NULL);
}

static void a_dataset_that_has_fewer_elements_by_now_is_refused(void **state) {
    (void)state;
    uint64_t end = 9;
    mdist_dataset_t *dataset = counted_up(&end);
    mdist_iterator_t *iterator = iterate(dataset), *other = iterate(dataset);
    NEXT(iterator, 5, "0 1 2 3 4");
    char *saved = state_of(iterator);
    NEXT(other, 1, "0");
    end = 4;
    REFUSES(other, saved, MDIST_ERR_MISMATCH, "different_dataset");
    end = 6;
    REST(other, "1 2 3 4 5");
    mdist_iterator_destroy(other);
    other = restored(dataset, saved);
    REST(other, "5");
    mdist_iterator_destroy(iterator);
    mdist_iterator_destroy(other);
    mdist_dataset_destroy(dataset);
}

static uint64_t skipped_by(mdist_iterator_t *iterator) {
    uint64_t count = 0;
    assert_int_equal(mdist_iterator_skipped(iterator, &count, NULL), MDIST_OK);
    return count;
}

static void records_left_out_are_left_out_and_counted_again(void **state) {
    (void)state;
    Text records = {0};
    for (char record[] = "a"; record[0] <= 'h'; ++record[0]) {
        put_record(&records, record);
        if (record[0] == 'b' || record[0] == 'g') records.data[records.length - 1] ^= 1; // damages the checksum
    }
    const char *paths[] = {write_out("records", records), write_text("other", "")};
    mdist_read_options_t options = reading();
    options.on_corrupt = MDIST_ON_CORRUPT_SKIP;
    mdist_dataset_t *dataset = tfrecords(names(paths, 2), &options);
    mdist_iterator_t *iterator = iterate(dataset);
    NEXT(iterator, 3, "'a' 'c' 'd'");
    mdist_iterator_t *other = restored(dataset, state_of(iterator));
    assert_int_equal(skipped_by(other), 1);
    REST(other, "'e' 'f' 'h'");
    assert_int_equal(skipped_by(other), 2);
    mdist_iterator_destroy(iterator);
    mdist_iterator_destroy(other);
    mdist_dataset_destroy(dataset);
}

static void files_may_have_moved_to_another_folder(void **state) {
    (void)state;
    char moved[200];
    write_text("one.txt", "a\nb\nc\n");
    snprintf(moved, sizeof moved, "%s/../%s/one.txt", folder, strrchr(folder, '/') + 1);
    mdist_dataset_t *dataset = lines(file(path_of("one.txt")), NULL), *there = lines(file(moved), NULL);
    mdist_iterator_t *iterator = iterate(dataset);
    NEXT(iterator, 2, "'a' 'b'");
    mdist_iterator_t *other = restored(there, state_of(iterator));
    REST(other, "'c'");
    mdist_iterator_destroy(iterator);
    mdist_iterator_destroy(other);
    mdist_dataset_destroy(dataset);
    mdist_dataset_destroy(there);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restored_iterator_goes_on_where_another_was_saved),
        cmocka_unit_test(the_text_says_what_it_is_about),
        cmocka_unit_test(later_iterators_shuffle_as_they_would_have),
        cmocka_unit_test(any_number_of_replicas_goes_on_from_a_step),
        cmocka_unit_test(a_filter_runs_again_and_a_map_does_not),
        cmocka_unit_test(a_dataset_that_has_fewer_elements_by_now_is_refused),
        cmocka_unit_test(records_left_out_are_left_out_and_counted_again),
        cmocka_unit_test(files_may_have_moved_to_another_folder),
    };
    quiet_log();
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
