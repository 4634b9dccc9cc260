// SPDX-License-Identifier: Apache-2.0
// What each transform does with its source. Worked examples are TensorFlow's where it has any.
#include "data.h"

#include <sched.h>
#include <stdatomic.h>

static void filter_keeps_what_its_function_keeps(void **state) {
    (void)state;
    GIVES(evens(range(0, 7, 1)), "0 2 4 6");
    GIVES(evens(range(1, 7, 2)), "");
    GIVES(batch(evens(range(0, 9, 1)), 2, 0), "[0 2] [4 6] [8]");
}

static int32_t fails_at_3(const mdist_tensor_t *inputs, size_t count, int32_t *keep, void *user_data) {
    (void)count, (void)user_data;
    *keep = 1;
    return number_at(&inputs[0], 0) == 3 ? 33 : 0;
}

static int32_t count_free_calls;
static void count_free(void *user_data) {
    (void)user_data;
    ++count_free_calls;
}

static void a_filter_that_fails_ends_the_iteration_with_its_number(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_dataset_t *numbers = range(0, 9, 1), *out = NULL;
    mdist_iterator_t *iterator = NULL;
    mdist_value_t *value = NULL;
    count_free_calls = 0;
    OK(mdist_dataset_filter(numbers, fails_at_3, NULL, count_free, &out, NULL, &error));
    SHOWS(out, "0 1 2 !MDIST_ERR_CALLBACK");
    OK(mdist_iterator_create(out, &iterator, &error));
    for (int i = 0; i < 3; ++i) {
        OK(mdist_iterator_next(iterator, &value, 1, &error));
        mdist_value_destroy(value);
    }
    assert_int_equal(mdist_iterator_next(iterator, &value, 1, &error), MDIST_ERR_CALLBACK);
    assert_int_equal(mdist_error_native(error), 33);
    assert_string_equal(mdist_error_reason(error), "filter_returned");
    mdist_error_free(error);
    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(numbers);
    mdist_dataset_destroy(out);
    assert_int_equal(count_free_calls, 1);
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_dataset_filter(NULL, fails_at_3, NULL, count_free, &out, NULL, &error));
    assert_int_equal(count_free_calls, 2);
}

static void take_and_skip_count(void **state) {
    (void)state;
    GIVES(take(range(0, 5, 1), 2), "0 1");
    GIVES(take(range(0, 5, 1), 9), "0 1 2 3 4");
    GIVES(take(range(0, 5, 1), MDIST_FOREVER), "0 1 2 3 4");
    GIVES(take(range(0, 5, 1), 0), "");
    GIVES(without(range(0, 5, 1), 2), "2 3 4");
    GIVES(without(range(0, 5, 1), 9), "");
    GIVES(without(range(0, 5, 1), 0), "0 1 2 3 4");
    GIVES(take(repeat(range(0, 3, 1), MDIST_FOREVER), 7), "0 1 2 0 1 2 0");
    GIVES(repeat(take(range(0, 3, 1), 2), 2), "0 1 0 1");
    GIVES(repeat(without(range(0, 3, 1), 2), 3), "2 2 2");
}

static void concatenate_and_zip_join(void **state) {
    (void)state;
    GIVES(concatenate(range(0, 3, 1), range(8, 10, 1)), "0 1 2 8 9");
    GIVES(concatenate(range(0, 0, 1), range(8, 10, 1)), "8 9");
    GIVES(repeat(concatenate(range(0, 2, 1), range(8, 9, 1)), 2), "0 1 8 0 1 8");
    GIVES(zip(range(0, 3, 1), range(5, 9, 1)), "0/5 1/6 2/7");
    GIVES(zip(range(0, 9, 1), range(5, 7, 1)), "0/5 1/6");
    GIVES(batch(zip(range(0, 3, 1), range(5, 8, 1)), 2, 0), "[0 1]/[5 6] [2]/[7]");
    GIVES(repeat(zip(range(0, 2, 1), range(5, 9, 1)), 2), "0/5 1/6 0/5 1/6");
    GIVES(concatenate(batch(range(0, 3, 1), 2, 0), batch(range(5, 8, 1), 3, 0)), "[0 1] [2] [5 6 7]");
}

static void what_is_not_alike_is_not_concatenated(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_dataset_t *one = range(0, 3, 1), *two = zip(range(0, 3, 1), range(0, 3, 1)),
                    *rows = batch(range(0, 3, 1), 2, 0);
    mdist_dataset_t *out = NULL;
    FAILS(MDIST_ERR_MISMATCH, mdist_dataset_concatenate(one, two, &out, NULL, &error));
    FAILS(MDIST_ERR_MISMATCH, mdist_dataset_concatenate(one, rows, &out, NULL, &error));
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_dataset_concatenate(one, NULL, &out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_dataset_zip(NULL, 0, &out, NULL, &error));
    FAILS(MDIST_ERR_MISMATCH, mdist_dataset_unbatch(one, &out, NULL, &error));
    mdist_dataset_destroy(one);
    mdist_dataset_destroy(two);
    mdist_dataset_destroy(rows);
}

static int32_t counting_generator(uint64_t index, const mdist_tensor_t *outputs, size_t count, void **kept,
                                  void *calls) {
    (void)count, (void)kept;
    if (index == 3) return MDIST_END;
    *(int64_t *)outputs[0].data = ++*(int64_t *)calls;
    return MDIST_OK;
}

static mdist_dataset_t *counting(int64_t *calls) {
    const mdist_tensor_t scalar = int64_scalar();
    MADE(mdist_dataset_from_generator(counting_generator, calls, NULL, NULL, &scalar, 1, &out, NULL, &error), NULL);
}

static void a_cache_is_filled_by_the_first_run_that_ends(void **state) {
    (void)state;
    int64_t calls = 0;
    mdist_dataset_t *cached = cache(counting(&calls));
    mdist_iterator_t *iterator = NULL;
    mdist_value_t *value = NULL;
    mdist_error_t *error = NULL;
    OK(mdist_iterator_create(cached, &iterator, &error));
    OK(mdist_iterator_next(iterator, &value, 1, &error)); // 1, whose cache is dropped
    mdist_value_destroy(value);
    mdist_iterator_destroy(iterator);
    SHOWS(cached, "2 3 4");
    SHOWS(cached, "2 3 4");
    GIVES(repeat(cached, 2), "2 3 4 2 3 4");
    assert_int_equal(calls, 4);
    calls = 0;
    GIVES(repeat(cache(counting(&calls)), 3), "1 2 3 1 2 3 1 2 3");
    assert_int_equal(calls, 3);
    calls = 0;
    GIVES(cache(take(counting(&calls), 2)), "1 2");
    calls = 0;
    GIVES(prefetch(cache(batch(range(0, 5, 1), 2, 0)), 3), "[0 1] [2 3] [4]");
}

static void a_cache_keeps_the_order_of_a_shuffle_below_it(void **state) {
    (void)state;
    mdist_dataset_t *kept = cache(shuffle(range(0, 20, 1), 20, 5, 1));
    char *first = elements_of(kept);
    SHOWS(kept, first);
    mdist_dataset_destroy(kept);
    mdist_dataset_t *anew = shuffle(range(0, 20, 1), 20, 5, 1);
    SHOWS(anew, first);
    char *second = elements_of(anew);
    assert_string_not_equal(first, second);
    mdist_dataset_destroy(anew);
    free(first);
    free(second);
}

/// How far a map function is ahead of whoever asks for its elements.
typedef struct Ahead {
    atomic_int made, asked, most;
} Ahead;

static int32_t count_ahead(const mdist_tensor_t *inputs, size_t count, const mdist_tensor_t *outputs,
                           size_t output_count, void *user_data) {
    (void)count, (void)output_count;
    Ahead *const self = user_data;
    const int asked = atomic_load(&self->asked);
    memcpy(outputs[0].data, inputs[0].data, sizeof(int64_t));
    const int ahead = atomic_fetch_add(&self->made, 1) + 1 - asked;
    if (ahead > atomic_load(&self->most)) atomic_store(&self->most, ahead); // only one thread calls
    return 0;
}

/// Exactly as many as were asked for, with the one that is being made.
static void prefetch_makes_so_many_ahead(void **state) {
    (void)state;
    enum { ALL = 2000 };
    for (int wanted = 1; wanted <= 3; ++wanted) {
        mdist_error_t *error = NULL;
        Ahead ahead = {0};
        const mdist_tensor_t scalar = tensor_of(NULL, MDIST_INT64, 0);
        mdist_dataset_t *numbers = range(0, ALL, 1), *counted = NULL;
        mdist_iterator_t *iterator = NULL;
        mdist_value_t *value = NULL;
        OK(mdist_dataset_map(numbers, count_ahead, &ahead, NULL, &scalar, 1, &counted, NULL, &error));
        mdist_dataset_t *const fetched = prefetch(counted, (uint64_t)wanted);
        OK(mdist_iterator_create(fetched, &iterator, &error));
        for (int i = 1; i <= ALL; ++i) {
            atomic_fetch_add(&ahead.asked, 1);
            OK(mdist_iterator_next(iterator, &value, 1, &error));
            mdist_value_destroy(value);
            while (atomic_load(&ahead.made) < (i + wanted < ALL ? i + wanted : ALL)) sched_yield();
        }
        mdist_iterator_destroy(iterator);
        assert_int_equal(atomic_load(&ahead.most), wanted);
        mdist_dataset_destroy(fetched);
        mdist_dataset_destroy(numbers);
    }
}

/// The cache keeps the order. Otherwise a prefetch that happens to reach the end would change the next iteration.
static void a_cache_that_is_not_full_yet_begins_in_the_same_order(void **state) {
    (void)state;
    mdist_dataset_t *kept = cache(shuffle(range(0, 20, 1), 20, 5, 1));
    mdist_iterator_t *iterator = NULL;
    mdist_error_t *error = NULL;
    OK(mdist_iterator_create(kept, &iterator, &error));
    Text some = {0};
    put_element(&some, iterator, 1);
    mdist_iterator_destroy(iterator);
    char *first = elements_of(kept);
    assert_memory_equal(first, some.data, strlen(some.data));
    SHOWS(kept, first);
    mdist_dataset_destroy(kept);
    mdist_dataset_t *anew = shuffle(range(0, 20, 1), 20, 5, 1);
    SHOWS(anew, first);
    mdist_dataset_destroy(anew);
    // Two passes in one iteration: a complete second pass begins in the order of an incomplete first pass.
    GIVES(cache(shuffle(range(0, 20, 1), 20, 5, 1)), first);
    char parts[256];
    snprintf(parts, sizeof parts, "%s %s", some.data, some.data);
    GIVES(repeat(take(cache(shuffle(range(0, 20, 1), 20, 5, 1)), 1), 2), parts);
    free(first);
    free(some.data);
}

static void padded_batches_are_as_long_as_their_longest(void **state) {
    (void)state;
    const uint64_t sizes[] = {1, 3, 2};
    GIVES(padded(rebatch(batch(range(1, 7, 1), 6, 0), sizes, 3, 0), 2, 0), "[[1 0 0] [2 3 4]] [[5 6]]");
    GIVES(padded(rebatch(batch(range(1, 7, 1), 6, 0), sizes, 3, 0), 2, 1), "[[1 0 0] [2 3 4]]");
    GIVES(padded(range(1, 4, 1), 2, 0), "[1 2] [3]");
    const uint64_t two_one[] = {2, 1};
    GIVES(padded(batch(batch(range(1, 7, 1), 2, 0), 2, 0), 2, 0), "[[[1 2] [3 4]] [[5 6] [0 0]]]");
    GIVES(padded(zip(rebatch(batch(range(1, 4, 1), 3, 0), two_one, 2, 0), range(8, 10, 1)), 2, 0),
          "[[1 2] [3 0]]/[8 9]");
}

static mdist_dataset_t *padded_to(mdist_dataset_t *source, uint64_t length, int64_t with) {
    mdist_tensor_t padding = {&with, MDIST_INT64, 1, 0, 0, {length}};
    MADE(mdist_dataset_padded_batch(source, 2, &padding, 1, &out, NULL, &error), source);
}

static void paddings_say_how_far_and_with_what(void **state) {
    (void)state;
    const uint64_t sizes[] = {1, 3, 2};
    GIVES(padded_to(rebatch(batch(range(1, 7, 1), 6, 0), sizes, 3, 0), 4, -1),
          "[[1 -1 -1 -1] [2 3 4 -1]] [[5 6 -1 -1]]");
    GIVES(padded_to(rebatch(batch(range(1, 7, 1), 6, 0), sizes, 3, 0), MDIST_UNKNOWN_LENGTH, 7),
          "[[1 7 7] [2 3 4]] [[5 6]]");
    GIVES(padded_to(rebatch(batch(range(1, 7, 1), 6, 0), sizes, 3, 0), 2, 0), "!MDIST_ERR_MISMATCH");
    mdist_error_t *error = NULL;
    mdist_dataset_t *source = batch(range(0, 3, 1), 2, 0), *out = NULL;
    mdist_tensor_t wrong = {NULL, MDIST_INT32, 1, 0, 0, {4}};
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_dataset_padded_batch(source, 2, &wrong, 1, &out, NULL, &error));
    wrong.dtype = MDIST_INT64;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_dataset_padded_batch(source, 2, &wrong, 2, &out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_dataset_padded_batch(source, 0, NULL, 0, &out, NULL, &error));
    mdist_dataset_destroy(source);
}

static void unbatch_gives_the_rows(void **state) {
    (void)state;
    GIVES(unbatch(batch(range(0, 5, 1), 2, 0)), "0 1 2 3 4");
    GIVES(unbatch(batch(batch(range(0, 6, 1), 2, 0), 2, 0)), "[0 1] [2 3] [4 5]");
    GIVES(unbatch(unbatch(batch(batch(range(0, 6, 1), 2, 0), 2, 0))), "0 1 2 3 4 5");
    GIVES(unbatch(batch(zip(range(0, 3, 1), range(5, 8, 1)), 2, 0)), "0/5 1/6 2/7");
    GIVES(batch(unbatch(batch(range(0, 7, 1), 3, 0)), 4, 0), "[0 1 2 3] [4 5 6]");
    GIVES(unbatch(zip(batch(range(0, 3, 1), 2, 0), batch(range(0, 4, 1), 2, 0))), "0/0 1/1 !MDIST_ERR_MISMATCH");
    const uint64_t with_none[] = {0, 1};
    GIVES(unbatch(rebatch(batch(range(0, 2, 1), 2, 0), with_none, 2, 0)), "0 1");
}

// The cases of TensorFlow's rebatch_dataset_test.
static void rebatch_cuts_one_sequence_of_rows(void **state) {
    (void)state;
    const uint64_t ones[] = {1, 1, 1, 1, 0}, later[] = {0, 1}, sooner[] = {1, 0}, three[] = {3}, parts[] = {11, 11, 10};
    const uint64_t none[] = {0, 0};
    GIVES(rebatch(batch(range(0, 8, 1), 4, 0), ones, 5, 0), "[0] [1] [2] [3] [] [4] [5] [6] [7] []");
    GIVES(rebatch(batch(range(0, 8, 1), 4, 0), later, 2, 0),
          "[] [0] [] [1] [] [2] [] [3] [] [4] [] [5] [] [6] [] [7] []");
    GIVES(rebatch(batch(range(0, 8, 1), 4, 0), sooner, 2, 0),
          "[0] [] [1] [] [2] [] [3] [] [4] [] [5] [] [6] [] [7] []");
    GIVES(rebatch(batch(range(0, 8, 1), 4, 0), three, 1, 0), "[0 1 2] [3 4 5] [6 7]");
    GIVES(rebatch(batch(range(0, 8, 1), 4, 0), three, 1, 1), "[0 1 2] [3 4 5]");
    GIVES(repeat(rebatch(batch(range(0, 4, 1), 4, 0), three, 1, 0), 2), "[0 1 2] [3] [0 1 2] [3]");
    mdist_error_t *error = NULL;
    mdist_dataset_t *source = batch(range(0, 100, 1), 32, 0), *out = NULL;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_dataset_rebatch(source, none, 2, &out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_dataset_rebatch(source, NULL, 0, &out, NULL, &error));
    mdist_dataset_t *cut = rebatch(source, parts, 3, 0);
    mdist_iterator_t *iterator = NULL;
    OK(mdist_iterator_create(cut, &iterator, &error));
    static const uint64_t rows[] = {11, 11, 10, 11, 11, 10, 11, 11, 10, 4};
    for (int i = 0; i < 10; ++i) {
        mdist_value_t *value = NULL;
        mdist_tensor_t tensor;
        OK(mdist_iterator_next(iterator, &value, 1, &error));
        OK(mdist_value_tensor(value, 0, &tensor, &error));
        assert_int_equal(tensor.shape[0], rows[i]);
        mdist_value_destroy(value);
    }
    mdist_value_t *value = NULL;
    assert_int_equal(mdist_iterator_next(iterator, &value, 1, NULL), MDIST_END);
    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(cut);
}

static mdist_dataset_t *mapped(mdist_dataset_t *source, mdist_map_fn map, uint32_t calls, int32_t ordered) {
    const mdist_tensor_t scalar = int64_scalar();
    MADE(mdist_dataset_map(source, map, NULL, NULL, &scalar, 1, &out,
                           MAP_OPTIONS(ordered ? 0 : MDIST_DATASET_UNORDERED, calls), &error),
         source);
}

static void a_parallel_map_keeps_the_order_if_it_is_to(void **state) {
    (void)state;
    GIVES(mapped(range(0, 7, 1), tenfold, 1, 1), "0 10 20 30 40 50 60");
    GIVES(mapped(range(0, 7, 1), tenfold, 4, 1), "0 10 20 30 40 50 60");
    GIVES(mapped(range(0, 0, 1), tenfold, 4, 1), "");
    GIVES(mapped(range(0, 1, 1), tenfold, 4, 0), "0");
    GIVES(repeat(mapped(range(0, 3, 1), tenfold, 3, 1), 3), "0 10 20 0 10 20 0 10 20");
    GIVES(take(mapped(repeat(range(0, 3, 1), MDIST_FOREVER), tenfold, 3, 1), 5), "0 10 20 0 10");
    GIVES(batch(mapped(mapped(range(0, 4, 1), tenfold, 2, 1), tenfold, 2, 1), 3, 0), "[0 100 200] [300]");
}

static void a_parallel_map_without_order_loses_nothing(void **state) {
    (void)state;
    mdist_dataset_t *out = batch(mapped(range(0, 1000, 1), tenfold, 4, 0), 1000, 1);
    mdist_iterator_t *iterator = NULL;
    mdist_value_t *value = NULL;
    mdist_tensor_t tensor;
    mdist_error_t *error = NULL;
    char seen[1000] = {0};
    OK(mdist_iterator_create(out, &iterator, &error));
    OK(mdist_iterator_next(iterator, &value, 1, &error));
    OK(mdist_value_tensor(value, 0, &tensor, &error));
    for (int i = 0; i < 1000; ++i) {
        const int64_t number = number_at(&tensor, (uint64_t)i);
        assert_in_range(number, 0, 9990);
        assert_int_equal(number % 10, 0);
        ++seen[number / 10];
    }
    for (int i = 0; i < 1000; ++i) assert_int_equal(seen[i], 1);
    mdist_value_destroy(value);
    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(out);
}

static int32_t not_five(const mdist_tensor_t *inputs, size_t count, const mdist_tensor_t *outputs, size_t output_count,
                        void *user_data) {
    return number_at(&inputs[0], 0) == 5 ? 55 : tenfold(inputs, count, outputs, output_count, user_data);
}

static void a_parallel_map_that_fails_does_so_in_its_place(void **state) {
    (void)state;
    GIVES(mapped(range(0, 9, 1), not_five, 3, 1), "0 10 20 30 40 !MDIST_ERR_CALLBACK");
    GIVES(mapped(range(5, 9, 1), not_five, 1, 0), "!MDIST_ERR_CALLBACK");
    GIVES(prefetch(mapped(range(0, 9, 1), not_five, 3, 1), 2), "0 10 20 30 40 !MDIST_ERR_CALLBACK");
    mdist_error_t *error = NULL;
    mdist_dataset_t *source = range(0, 3, 1), *out = NULL;
    const mdist_tensor_t scalar = int64_scalar();
    FAILS(MDIST_ERR_INVALID_ARGUMENT,
          mdist_dataset_map(source, tenfold, NULL, NULL, &scalar, 1, &out, MAP_OPTIONS(0, 1025), &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT,
          mdist_dataset_map(source, tenfold, NULL, NULL, &scalar, 1, &out, MAP_OPTIONS(2, 1), &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT,
          mdist_dataset_map(source, NULL, NULL, NULL, &scalar, 1, &out, MAP_OPTIONS(0, 1), &error));
    mdist_dataset_destroy(source);
}

static _Atomic int at_once, most_at_once;
static int32_t wait_for_another(const mdist_tensor_t *inputs, size_t count, const mdist_tensor_t *outputs,
                                size_t output_count, void *user_data) {
    const int now = ++at_once;
    for (int most = most_at_once; most < now && !atomic_compare_exchange_weak(&most_at_once, &most, now);) continue;
    while (most_at_once < 2) sched_yield(); // waits until a second call has begun
    --at_once;
    return tenfold(inputs, count, outputs, output_count, user_data);
}

static void calls_of_a_parallel_map_overlap(void **state) {
    (void)state;
    GIVES(mapped(range(0, 8, 1), wait_for_another, 2, 1), "0 10 20 30 40 50 60 70");
    assert_int_equal(most_at_once, 2);
}

static void iterations_may_be_left_in_the_middle(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    for (int i = 0; i < 20; ++i) {
        mdist_dataset_t *out = prefetch(mapped(repeat(range(0, 9, 1), MDIST_FOREVER), tenfold, 3, i % 2), 2);
        mdist_iterator_t *iterator = NULL;
        OK(mdist_iterator_create(out, &iterator, &error));
        for (int taken = 0; taken < i % 4; ++taken) {
            mdist_value_t *value = NULL;
            OK(mdist_iterator_next(iterator, &value, 1, &error));
            mdist_value_destroy(value);
        }
        if (i % 3 == 0) OK(mdist_iterator_close(iterator, &error));
        mdist_iterator_destroy(iterator);
        mdist_dataset_destroy(out);
    }
    int32_t done = 0;
    OK(mdist_iterators_wait(MDIST_FOREVER, &done, &error));
    assert_int_equal(done, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filter_keeps_what_its_function_keeps),
        cmocka_unit_test(a_filter_that_fails_ends_the_iteration_with_its_number),
        cmocka_unit_test(take_and_skip_count),
        cmocka_unit_test(concatenate_and_zip_join),
        cmocka_unit_test(what_is_not_alike_is_not_concatenated),
        cmocka_unit_test(a_cache_is_filled_by_the_first_run_that_ends),
        cmocka_unit_test(a_cache_keeps_the_order_of_a_shuffle_below_it),
        cmocka_unit_test(a_cache_that_is_not_full_yet_begins_in_the_same_order),
        cmocka_unit_test(padded_batches_are_as_long_as_their_longest),
        cmocka_unit_test(paddings_say_how_far_and_with_what),
        cmocka_unit_test(unbatch_gives_the_rows),
        cmocka_unit_test(rebatch_cuts_one_sequence_of_rows),
        cmocka_unit_test(a_parallel_map_keeps_the_order_if_it_is_to),
        cmocka_unit_test(a_parallel_map_without_order_loses_nothing),
        cmocka_unit_test(a_parallel_map_that_fails_does_so_in_its_place),
        cmocka_unit_test(calls_of_a_parallel_map_overlap),
        cmocka_unit_test(prefetch_makes_so_many_ahead),
        cmocka_unit_test(iterations_may_be_left_in_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
