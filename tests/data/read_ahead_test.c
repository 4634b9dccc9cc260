// SPDX-License-Identifier: Apache-2.0
// Files that are read ahead give the same records, errors and counts, in the same order, as files read one by one.
#include "files.h"

enum { FILES = 7, MOST_RECORDS = 3000 };

static uint32_t noise;
static uint32_t below(uint32_t bound) {
    noise = noise * 1664525 + 1013904223;
    return (noise >> 8) % bound;
}

/// Writes files of random records. About one record in `corrupt` is damaged; 0: none. `cut`: the last file is cut off.
static void write_files(uint32_t corrupt, int cut) {
    for (int i = 0; i < FILES; ++i) {
        Text text = {0};
        char name[16], record[64];
        const uint32_t records = below(3) == 0 ? below(3) : below(MOST_RECORDS);
        put(&text, "");
        for (uint32_t k = 0; k < records; ++k) {
            const size_t at = text.length;
            snprintf(record, sizeof record, "%d:%u%.*s", i, k, (int)below(30), "..............................");
            put_record(&text, record);
            if (corrupt != 0 && below(corrupt) == 0) text.data[at + 12] ^= 1;
        }
        if (cut && i == FILES - 1 && text.length > 5) text.length -= 5;
        snprintf(name, sizeof name, "file%d", i);
        write_out(name, text);
    }
}

static mdist_dataset_t *records(uint64_t cycle, uint64_t block, uint64_t parallel, int32_t on_corrupt) {
    char paths[FILES][160];
    const char *all[FILES];
    mdist_read_options_t options = reading();
    for (int i = 0; i < FILES; ++i) {
        char name[16];
        snprintf(name, sizeof name, "file%d", i);
        snprintf(paths[i], sizeof paths[i], "%s", path_of(name));
        all[i] = paths[i];
    }
    options.cycle_length = cycle;
    options.block_length = block;
    options.parallel_files = parallel;
    options.on_corrupt = on_corrupt;
    return tfrecords(names(all, FILES), &options);
}

/// Writes all elements. After each one, writes the number of records skipped so far.
static char *told(mdist_dataset_t *dataset) {
    Text text = {0};
    put(&text, "");
    mdist_iterator_t *iterator = NULL;
    assert_int_equal(mdist_iterator_create(dataset, &iterator, NULL), MDIST_OK);
    for (mdist_status_t status = MDIST_OK; status == MDIST_OK;) {
        mdist_value_t *value = NULL;
        mdist_error_t *error = NULL;
        uint64_t skipped = 0;
        char words[32];
        status = mdist_iterator_next(iterator, &value, 1, &error);
        if (status == MDIST_OK) put_component(&text, value);
        put(&text, mdist_error_message(error));
        assert_int_equal(mdist_iterator_skipped(iterator, &skipped, NULL), MDIST_OK);
        snprintf(words, sizeof words, " %d %llu\n", (int)status, (unsigned long long)skipped);
        put(&text, words);
        mdist_value_destroy(value);
        mdist_error_free(error);
    }
    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(dataset);
    return text.data;
}

static void order_errors_and_counts_are_those_of_one_thread(void **state) {
    (void)state;
    for (uint32_t round = 0; round < 12; ++round) {
        noise = (uint32_t)test_seed(0) + round;
        write_files(round % 3 == 0 ? 0 : 200, round % 2 != 0);
        const int32_t on_corrupt = round % 3 == 2 ? MDIST_ON_CORRUPT_FAIL : MDIST_ON_CORRUPT_SKIP;
        const uint64_t cycle = 1 + below(FILES + 2), block = below(2) == 0 ? 1 : 1 + below(200);
        char *wanted = told(records(cycle, block, 0, on_corrupt));
        for (uint64_t parallel = 1; parallel <= 16; parallel *= 4) {
            char *got = told(records(cycle, block, parallel, on_corrupt));
            if (strcmp(got, wanted) != 0)
                fail_msg("round %u: %u files, blocks of %u: %u read ahead give other elements", round, (unsigned)cycle,
                         (unsigned)block, (unsigned)parallel);
            free(got);
        }
        free(wanted);
    }
}

static void epochs_begin_in_the_middle_of_nothing(void **state) {
    (void)state;
    noise = (uint32_t)test_seed(77);
    write_files(0, 0);
    char *wanted = told(repeat(take(records(3, 2, 0, 0), 100), 20));
    char *got = told(repeat(take(records(3, 2, 4, 0), 100), 20));
    assert_string_equal(got, wanted);
    free(got);
    got = told(prefetch(repeat(take(records(3, 2, 4, 0), 100), 20), 3));
    assert_string_equal(got, wanted);
    free(got);
    free(wanted);
}

static void threads_of_iterators_that_are_gone_come_to_rest(void **state) {
    (void)state;
    noise = (uint32_t)test_seed(78);
    write_files(0, 0);
    mdist_dataset_t *ahead = records(4, 1, 4, 0);
    mdist_error_t *error = NULL;
    for (int round = 0; round < 20; ++round) {
        mdist_iterator_t *iterator = NULL;
        OK(mdist_iterator_create(ahead, &iterator, &error));
        for (int i = 0; i < round; ++i) {
            mdist_value_t *value = NULL;
            OK(mdist_iterator_next(iterator, &value, 1, &error));
            mdist_value_destroy(value);
        }
        if (round % 2 == 0) OK(mdist_iterator_close(iterator, &error));
        mdist_iterator_destroy(iterator);
    }
    int32_t done = 0;
    OK(mdist_iterators_wait(UINT64_C(30000000000), &done, &error));
    assert_int_equal(done, 1);
    mdist_dataset_destroy(ahead);
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_errors_and_counts_are_those_of_one_thread),
        cmocka_unit_test(epochs_begin_in_the_middle_of_nothing),
        cmocka_unit_test(threads_of_iterators_that_are_gone_come_to_rest),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
