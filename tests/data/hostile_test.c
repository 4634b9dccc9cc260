// SPDX-License-Identifier: Apache-2.0
// Damaged and hostile files. Each gives an error with its name and the offset, or is skipped and counted. No file makes
// the reader crash, hang, or allocate the memory that the file claims.
#include "files.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/// Checks how an iteration ends: the status, and words of the error's message.
static void ends(mdist_dataset_t *records, mdist_status_t wanted, const char *path, const char *words) {
    mdist_iterator_t *iterator = NULL;
    mdist_error_t *error = NULL;
    OK(mdist_iterator_create(records, &iterator, &error));
    mdist_status_t status = MDIST_OK;
    while (status == MDIST_OK) {
        mdist_value_t *value = NULL;
        status = mdist_iterator_next(iterator, &value, 1, &error);
        if (status == MDIST_OK) mdist_value_destroy(value);
    }
    expect_status(wanted, status, error, "mdist_iterator_next", __FILE__, __LINE__);
    WORDS(error, path);
    WORDS(error, words);
    mdist_error_free(error);
    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(records);
}

/// Checks the elements of an iteration, and how many records were skipped.
static void leaves_out(mdist_dataset_t *records, const char *wanted, uint64_t skipped) {
    mdist_iterator_t *iterator = NULL;
    mdist_error_t *error = NULL;
    Text text = {0};
    uint64_t count = 77;
    put(&text, "");
    OK(mdist_iterator_create(records, &iterator, &error));
    while (put_element(&text, iterator, 1) == MDIST_OK) continue;
    assert_string_equal(text.data, wanted);
    OK(mdist_iterator_skipped(iterator, &count, &error));
    assert_int_equal(count, skipped);
    free(text.data);
    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(records);
}

static mdist_read_options_t leniently(void) {
    mdist_read_options_t options = reading();
    options.on_corrupt = MDIST_ON_CORRUPT_SKIP;
    return options;
}

static void what_is_no_regular_file_is_not_waited_for(void **state) {
    (void)state;
    ends(lines(file(path_of("nothing")), NULL), MDIST_ERR_NOT_FOUND, "/nothing", "cannot open");
    ends(lines(file(folder), NULL), MDIST_ERR_INVALID_ARGUMENT, folder, "directory");
    ends(lines(file("/dev/zero"), NULL), MDIST_ERR_INVALID_ARGUMENT, "/dev/zero", "device");
    assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
    ends(lines(file(path_of("fifo")), NULL), MDIST_ERR_INVALID_ARGUMENT, "/fifo", "pipe");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", folder);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    ends(lines(file(path_of("socket")), NULL), MDIST_ERR_INVALID_ARGUMENT, "/socket", "socket");
    close(fd);
    assert_int_equal(symlink(path_of("loop"), path_of("loop")), 0);
    ends(lines(file(path_of("loop")), NULL), MDIST_ERR_IO, "/loop", "cannot open");
    mdist_read_options_t options = leniently(); // skips damaged records, not missing files
    ends(lines(file(path_of("nothing")), &options), MDIST_ERR_NOT_FOUND, "/nothing", "cannot open");
}

static void a_packed_file_that_is_read_as_it_is_says_how_to_read_it(void **state) {
    (void)state;
    static const unsigned char packed[32] = {0x1f, 0x8b, 8};
    ends(tfrecords(file(write_file("packed.gz", packed, sizeof packed)), NULL), MDIST_ERR_DATA_LOSS, "/packed.gz",
         "begins as gzip files do; for those set options.compression to MDIST_COMPRESSION_GZIP (1)");
}

static void what_may_not_be_read_says_so(void **state) {
    (void)state;
    if (geteuid() == 0) skip(); // root may read everything
    const char *path = write_text("locked", "one\n");
    assert_int_equal(chmod(path, 0), 0);
    ends(lines(file(path), NULL), MDIST_ERR_IO, "/locked", "cannot open");
}

static mdist_dataset_t *first_of(mdist_dataset_t *records, mdist_iterator_t **iterator, const char *wanted) {
    Text text = {0};
    assert_int_equal(mdist_iterator_create(records, iterator, NULL), MDIST_OK);
    assert_int_equal(put_element(&text, *iterator, 1), MDIST_OK);
    assert_string_equal(text.data, wanted);
    free(text.data);
    return records;
}

static void files_that_shrink_while_they_are_read_are_noticed(void **state) {
    (void)state;
    enum { LINES = 200000 };
    Text text = {0};
    for (int i = 0; i < LINES; ++i) put(&text, "a line\n");
    const char *path = write_file("shrinks", text.data, text.length);
    mdist_iterator_t *iterator = NULL;
    mdist_error_t *error = NULL;
    mdist_dataset_t *records = first_of(lines(file(path), NULL), &iterator, "'a line'");
    assert_int_equal(truncate(path, 300000), 0);
    mdist_status_t status = MDIST_OK;
    for (int i = 0; status == MDIST_OK && i < LINES; ++i) {
        mdist_value_t *value = NULL;
        status = mdist_iterator_next(iterator, &value, 1, &error);
        if (status == MDIST_OK) mdist_value_destroy(value);
    }
    assert_int_equal(status, MDIST_ERR_DATA_LOSS);
    WORDS(error, "ends at byte");
    WORDS(error, "/shrinks");
    mdist_error_free(error);
    mdist_iterator_destroy(iterator);
    mdist_dataset_destroy(records);
    // Lines that are added to a file while it is read belong to the next iteration.
    path = write_text("grows", "one\n");
    records = lines(file(path), NULL);
    SHOWS(records, "'one'");
    mdist_dataset_destroy(first_of(records, &iterator, "'one'"));
    write_text("grows", "one\ntwo\n");
    mdist_value_t *value = NULL;
    assert_int_equal(mdist_iterator_next(iterator, &value, 1, NULL), MDIST_END);
    mdist_iterator_destroy(iterator);
    free(text.data);
}

static Text records_of(const char *const *data, size_t count) {
    Text text = {0};
    for (size_t i = 0; i < count; ++i) put_record(&text, data[i]);
    return text;
}
static const char *const greek[] = {"alpha", "beta", "gamma"};
enum { ALPHA = 16 + 5, BETA = ALPHA + 16 + 4, GAMMA = BETA + 16 + 5 }; // where each record ends

static void a_tfrecord_file_cut_off_anywhere_is_corrupt_unless_between_records(void **state) {
    (void)state;
    Text text = records_of(greek, 3);
    mdist_read_options_t options = leniently();
    assert_int_equal(text.length, GAMMA);
    for (size_t length = 0; length < text.length; ++length) {
        const char *path = write_file("cut", text.data, length);
        const char *whole = length < ALPHA ? "" : length < BETA ? "'alpha'" : "'alpha' 'beta'";
        if (length == 0 || length == ALPHA || length == BETA) {
            leaves_out(tfrecords(file(path), NULL), whole, 0);
            continue;
        }
        char at[32];
        snprintf(at, sizeof at, "at byte %d:", length < ALPHA ? 0 : length < BETA ? ALPHA : BETA);
        ends(tfrecords(file(path), NULL), MDIST_ERR_DATA_LOSS, "/cut", at);
        leaves_out(tfrecords(file(path), &options), whole, 1);
    }
    free(text.data);
}

static void every_bit_of_a_tfrecord_file_counts(void **state) {
    (void)state;
    Text text = records_of(greek, 3);
    mdist_read_options_t options = leniently();
    for (size_t bit = 0; bit < 8 * text.length; ++bit) {
        const size_t byte = bit / 8;
        text.data[byte] = (char)(text.data[byte] ^ 1 << bit % 8);
        const char *path = write_file("bit", text.data, text.length);
        text.data[byte] = (char)(text.data[byte] ^ 1 << bit % 8);
        const size_t begin = byte < ALPHA ? 0 : byte < BETA ? ALPHA : BETA;
        char at[32];
        snprintf(at, sizeof at, "at byte %zu:", begin);
        ends(tfrecords(file(path), NULL), MDIST_ERR_DATA_LOSS, "/bit", at);
        // After a damaged length, the reader cannot find the next record. After damaged data, it can.
        const int length_is_wrong = byte - begin < 12;
        const char *rest = begin == 0       ? (length_is_wrong ? "" : "'beta' 'gamma'")
                           : begin == ALPHA ? (length_is_wrong ? "'alpha'" : "'alpha' 'gamma'")
                                            : "'alpha' 'beta'";
        leaves_out(tfrecords(file(path), &options), rest, 1);
    }
    free(text.data);
}

/* Allows 256 MiB more than there are: far less than the files claim. */
static void limit_memory(struct rlimit limit) {
    FILE *self = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    assert_non_null(self);
    assert_int_equal(fscanf(self, "%lu", &pages), 1);
    fclose(self);
    limit.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (256 << 20);
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
}

static void claimed_lengths_are_not_believed(void **state) {
    (void)state;
    const uint64_t claims[] = {6, 1000, 1 << 30, (1 << 30) + 1, UINT64_MAX, UINT64_MAX - 3, INT64_MAX};
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    if (!MDIST_TEST_SANITIZED) limit_memory(before); // sanitizers take terabytes of addresses
    for (size_t i = 0; i < sizeof claims / sizeof *claims; ++i) {
        Text text = {0};
        put_record(&text, "good");
        put_record_claiming(&text, claims[i], "short", 5);
        mdist_read_options_t options = reading();
        ends(tfrecords(file(write_file("claims", text.data, text.length)), &options), MDIST_ERR_DATA_LOSS, "/claims",
             "at byte 20:");
        options.compression = MDIST_COMPRESSION_GZIP;
        const char *path = write_out("claims.gz", packed(text.data, text.length, 31));
        ends(tfrecords(file(path), &options), MDIST_ERR_DATA_LOSS, "/claims.gz", "at byte 20 of its unpacked data");
        options.on_corrupt = MDIST_ON_CORRUPT_SKIP;
        leaves_out(tfrecords(file(path), &options), "'good'", 1);
        free(text.data);
    }
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}

static void records_longer_than_allowed_are_left_out_one_by_one(void **state) {
    (void)state;
    Text text = records_of(greek, 3);
    const char *path = write_out("limit", text);
    mdist_read_options_t options = leniently();
    options.max_record_bytes = 4;
    leaves_out(tfrecords(file(path), &options), "'beta'", 2);
    leaves_out(lines(file(write_text("limit.txt", "abcd\nabcde\nabcd\r\nabcd\r\r\nabc\nabcdefghi")), &options),
               "'abcd' 'abcd' 'abc'", 3);
    leaves_out(lines(file(write_text("limit.txt", "abcd\r")), &options), "", 1);
    options.on_corrupt = MDIST_ON_CORRUPT_FAIL;
    ends(lines(file(write_text("limit.txt", "abcd\nabcde\n")), &options), MDIST_ERR_DATA_LOSS, "/limit.txt",
         "at byte 5:");
    ends(tfrecords(file(path), &options), MDIST_ERR_DATA_LOSS, "/limit", "5 bytes; at most 4 are allowed");
}

static void fixed_records_have_to_fill_the_file(void **state) {
    (void)state;
    mdist_read_options_t options = leniently();
    const char *path = write_text("fixed", "H1234567FF");
    ends(fixed(file(path), 3, 1, 2, NULL), MDIST_ERR_DATA_LOSS, "/fixed", "10 bytes");
    leaves_out(fixed(file(path), 3, 1, 2, &options), "'123' '456'", 1);
    leaves_out(fixed(file(write_text("fixed", "HF")), 3, 1, 2, &options), "", 1);
    leaves_out(fixed(file(write_text("fixed", "")), 3, 1, 0, &options), "", 1);
    options.compression = MDIST_COMPRESSION_GZIP;
    leaves_out(fixed(file(write_out("fixed", packed("H1234567FF", 10, 31))), 3, 1, 2, &options), "'123' '456'", 1);
    leaves_out(fixed(file(write_out("fixed", packed("H123", 4, 31))), 3, 1, 2, &options), "", 1);
    leaves_out(fixed(file(write_out("fixed", packed("H", 1, 31))), 3, 4, 0, &options), "", 1);
}

static void compressed_files_cut_off_or_changed_are_corrupt(void **state) {
    (void)state;
    mdist_read_options_t options = leniently();
    options.compression = MDIST_COMPRESSION_GZIP;
    Text text = packed("one\ntwo\nthree\n", 14, 31);
    for (size_t length = 1; length < text.length; ++length) {
        mdist_dataset_t *records = lines(file(write_file("cut.gz", text.data, length)), &options);
        mdist_iterator_t *iterator = NULL;
        mdist_error_t *error = NULL;
        uint64_t skipped = 0;
        Text got = {0};
        put(&got, "");
        OK(mdist_iterator_create(records, &iterator, &error));
        while (put_element(&got, iterator, 1) == MDIST_OK) continue;
        assert_memory_equal(got.data, "'one' 'two' 'three'", got.length);
        OK(mdist_iterator_skipped(iterator, &skipped, &error));
        assert_int_equal(skipped, 1);
        free(got.data);
        mdist_iterator_destroy(iterator);
        mdist_dataset_destroy(records);
        options.on_corrupt = MDIST_ON_CORRUPT_FAIL;
        ends(lines(file(path_of("cut.gz")), &options), MDIST_ERR_DATA_LOSS, "/cut.gz", "middle of compressed data");
        options.on_corrupt = MDIST_ON_CORRUPT_SKIP;
    }
    text.data[text.length - 6] ^= 1; // in the checksum
    options.on_corrupt = MDIST_ON_CORRUPT_FAIL;
    ends(lines(file(write_out("sum.gz", text)), &options), MDIST_ERR_DATA_LOSS, "/sum.gz", "incorrect data check");
    ends(lines(file(write_text("text.gz", "no such thing")), &options), MDIST_ERR_DATA_LOSS, "/text.gz", "GZIP");
    options.compression = MDIST_COMPRESSION_ZLIB;
    ends(lines(file(write_text("text.z", "no such thing")), &options), MDIST_ERR_DATA_LOSS, "/text.z", "ZLIB");
    text = records_of(greek, 3);
    const char *path = write_out("records.gz", packed(text.data, text.length, 31));
    free(text.data);
    ends(tfrecords(file(path), NULL), MDIST_ERR_DATA_LOSS, "/records.gz", "compression to MDIST_COMPRESSION_GZIP");
    text = packed("one\n", 4, 15);
    put(&text, "more");
    ends(lines(file(write_out("more.z", text)), &options), MDIST_ERR_DATA_LOSS, "/more.z", "has more bytes after");
}

/// A compressed file that unpacks to one line of 64 MiB. The line is too long, so the reader skips it without storing
/// it.
static void unpacked_data_without_end_of_line_is_not_kept(void **state) {
    (void)state;
    enum { LARGE = 64 << 20 };
    char *data = malloc(LARGE);
    memset(data, 'x', LARGE);
    memcpy(data + LARGE - 5, "\nend\n", 5);
    mdist_read_options_t options = leniently();
    options.compression = MDIST_COMPRESSION_GZIP;
    options.max_record_bytes = 1000;
    leaves_out(lines(file(write_out("bomb.gz", packed(data, LARGE, 31))), &options), "'end'", 1);
    free(data);
}

/// The record and the line are too long. More than a buffer of bytes follows, then compressed data that is cut off. A
/// reader that reads on before it checks the length reports the cut instead.
static void what_is_refused_costs_no_more_than_what_stands_before_it(void **state) {
    (void)state;
    enum { MORE = 4 << 20 };
    char *more = malloc(MORE);
    uint32_t number = 1;
    for (size_t i = 0; i < MORE; ++i) more[i] = (char)('a' + ((number = number * 1664525 + 1013904223) >> 24) % 23);
    mdist_read_options_t options = reading();
    options.compression = MDIST_COMPRESSION_GZIP;
    options.max_record_bytes = 1000;
    static const uint64_t lengths[] = {1001, MORE, UINT64_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
        Text text = records_of(greek, 3);
        put_record_claiming(&text, lengths[i], more, MORE);
        Text small = packed(text.data, text.length, 31);
        small.length /= 2;
        char words[80];
        snprintf(words, sizeof words, "a record has %llu bytes; at most 1000 are allowed",
                 (unsigned long long)lengths[i]);
        ends(tfrecords(file(write_out("claim.gz", small)), &options), MDIST_ERR_DATA_LOSS, "/claim.gz", words);
        free(text.data);
    }
    Text small = packed(more, MORE, 31);
    small.length /= 2;
    ends(lines(file(write_out("line.gz", small)), &options), MDIST_ERR_DATA_LOSS, "/line.gz",
         "a line has more than 1000 bytes");
    free(more);
}

static void skipped_records_are_counted_per_iteration(void **state) {
    (void)state;
    mdist_read_options_t options = leniently();
    mdist_error_t *error = NULL;
    uint64_t count = 0;
    Text text = records_of(greek, 3);
    text.data[ALPHA + 13] ^= 1;
    const char *path = write_out("one-wrong", text);
    mdist_dataset_t *twice = repeat(tfrecords(file(path), &options), 3);
    mdist_iterator_t *iterator = NULL;
    OK(mdist_iterator_create(twice, &iterator, &error));
    OK(mdist_iterator_skipped(iterator, &count, &error));
    assert_int_equal(count, 0);
    mdist_iterator_destroy(iterator);
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_iterator_skipped(iterator, &count, &error));
    leaves_out(twice, "'alpha' 'gamma' 'alpha' 'gamma' 'alpha' 'gamma'", 3);
    leaves_out(prefetch(tfrecords(file(path), &options), 4), "'alpha' 'gamma'", 1);
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_regular_file_is_not_waited_for),
        cmocka_unit_test(a_packed_file_that_is_read_as_it_is_says_how_to_read_it),
        cmocka_unit_test(what_may_not_be_read_says_so),
        cmocka_unit_test(files_that_shrink_while_they_are_read_are_noticed),
        cmocka_unit_test(a_tfrecord_file_cut_off_anywhere_is_corrupt_unless_between_records),
        cmocka_unit_test(every_bit_of_a_tfrecord_file_counts),
        cmocka_unit_test(claimed_lengths_are_not_believed),
        cmocka_unit_test(records_longer_than_allowed_are_left_out_one_by_one),
        cmocka_unit_test(fixed_records_have_to_fill_the_file),
        cmocka_unit_test(compressed_files_cut_off_or_changed_are_corrupt),
        cmocka_unit_test(unpacked_data_without_end_of_line_is_not_kept),
        cmocka_unit_test(what_is_refused_costs_no_more_than_what_stands_before_it),
        cmocka_unit_test(skipped_records_are_counted_per_iteration),
    };
    // The same tests with files that are read ahead. The results must be the same.
    int failed = cmocka_run_group_tests_name("on the thread that asks", tests, make_folder, remove_folder);
    parallel_files = 3;
    failed += cmocka_run_group_tests_name("ahead", tests, make_folder, remove_folder);
    return failed;
}
