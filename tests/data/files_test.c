// SPDX-License-Identifier: Apache-2.0
// Intact files: names, formats, compression, and the order in which several files are read.
#include "files.h"

static void names_are_elements_in_their_order(void **state) {
    (void)state;
    const char *paths[] = {"b", "a", ""};
    GIVES(names(paths, 3), "'b' 'a' ''");
    GIVES(names(NULL, 0), "");
    GIVES(shard(names(paths, 3), 2, 0), "'b' ''");
    GIVES(repeat(names(paths, 2), 2), "'b' 'a' 'b' 'a'");
    mdist_error_t *error = NULL;
    mdist_dataset_t *out = NULL;
    const char *none[] = {"a", NULL};
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_dataset_files(none, 2, &out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_dataset_files(NULL, 2, &out, NULL, &error));
}

static mdist_dataset_t *matches(const char *const *patterns, size_t count) {
    MADE(mdist_dataset_match_files(patterns, count, &out, NULL, &error), NULL);
}

static void patterns_give_sorted_names(void **state) {
    (void)state;
    for (int i = 11; i > 0; --i) {
        char name[32];
        snprintf(name, sizeof name, "match-%d.txt", i);
        write_text(name, name);
    }
    write_text("match-B.txt", "B");
    const char *patterns[] = {path_of("match-?.txt"), path_of("match-1[01]*"), path_of("nothing-*")};
    GIVES(lines(matches(patterns, 3), NULL),
          "'match-1.txt' 'match-10.txt' 'match-11.txt' 'match-2.txt' 'match-3.txt' "
          "'match-4.txt' 'match-5.txt' 'match-6.txt' 'match-7.txt' 'match-8.txt' "
          "'match-9.txt' 'B'");
    const char *twice[] = {path_of("match-1.txt"), path_of("match-1*[!01].txt"), path_of("match-[1B].txt")};
    GIVES(lines(matches(twice, 3), NULL), "'match-1.txt' 'match-1.txt' 'B'");
    mdist_dataset_t *mixed = shuffle(matches(patterns, 3), MDIST_FOREVER, 1, 0);
    char *order = elements_of(mixed);
    GIVES(mixed, order);
    free(order);
    mdist_error_t *error = NULL;
    mdist_dataset_t *out = NULL;
    assert_int_equal(mdist_dataset_match_files(&patterns[2], 1, &out, NULL, &error), MDIST_ERR_NOT_FOUND);
    WORDS(error, "nothing-*");
    mdist_error_free(error);
    error = NULL;
    const char *elsewhere = path_of("no-folder/*");
    assert_int_equal(mdist_dataset_match_files(&elsewhere, 1, &out, NULL, &error), MDIST_ERR_NOT_FOUND);
    mdist_error_free(error);
}

static void lines_end_with_line_feeds_or_the_file(void **state) {
    (void)state;
    GIVES(lines(file(write_text("a", "one\ntwo\n")), NULL), "'one' 'two'");
    GIVES(lines(file(write_text("b", "one\ntwo")), NULL), "'one' 'two'");
    GIVES(lines(file(write_text("c", "one\r\ntwo\r\n\r\nfo\rur\r")), NULL), "'one' 'two' '' 'fo\rur\r'");
    GIVES(lines(file(write_text("d", "\n\n")), NULL), "'' ''");
    GIVES(lines(file(write_text("e", "")), NULL), "");
    GIVES(lines(file(write_file("f", "a\0b\nc", 5)), NULL), "'a");
}

static void lines_may_be_longer_than_any_buffer(void **state) {
    (void)state;
    enum { LONG = 1500000 };
    Text text = {0};
    for (int i = 0; i < LONG; ++i) put_bytes(&text, &"abcdefg"[i % 7], 1);
    char *wanted = malloc(LONG + 16);
    sprintf(wanted, "'x' '%s' 'y'", text.data);
    Text whole = {0};
    put(&whole, "x\n");
    put(&whole, text.data);
    put(&whole, "\r\ny\n");
    GIVES(lines(file(write_out("long", whole)), NULL), wanted);
    free(wanted);
    free(text.data);
}

static void fixed_records_lie_between_header_and_footer(void **state) {
    (void)state;
    GIVES(fixed(file(write_text("a", "H123456FF")), 3, 1, 2, NULL), "'123' '456'");
    GIVES(fixed(file(write_text("b", "123456")), 2, 0, 0, NULL), "'12' '34' '56'");
    GIVES(fixed(file(write_text("c", "")), 2, 0, 0, NULL), "");
    GIVES(fixed(file(write_text("d", "HHFF")), 5, 2, 2, NULL), "");
    GIVES(batch(fixed(file(write_text("e", "123456")), 2, 0, 0, NULL), 2, 0), "[[49 50] [51 52]] [[53 54]]");
}

static Text three_records(void) {
    Text text = {0};
    put_record(&text, "first");
    put_record(&text, "");
    put_record(&text, "third\n");
    return text;
}

static void tfrecords_are_read(void **state) {
    (void)state;
    assert_int_equal(slow_crc32c("123456789", 9), 0xe3069283);
    GIVES(tfrecords(file(write_out("a", three_records())), NULL), "'first' '' 'third\n'");
    GIVES(tfrecords(file(write_text("b", "")), NULL), "");
    GIVES(repeat(tfrecords(file(path_of("a")), NULL), 2), "'first' '' 'third\n' 'first' '' 'third\n'");
    GIVES(prefetch(tfrecords(file(path_of("a")), NULL), 2), "'first' '' 'third\n'");
}

/// The record "abc", byte for byte as another program writes it.
static void a_record_written_by_another_program_is_read(void **state) {
    (void)state;
    Text own = {0};
    put_record(&own, "abc");
    assert_int_equal(own.length, 8 + 4 + 3 + 4);
    // The CRC-32C of "abc" is 0x364b3fb7 (polynomial of RFC 3720), which fixes its masked value.
    const uint32_t crc = 0x364b3fb7, mask = (crc >> 15 | crc << 17) + 0xa282ead8u;
    for (int i = 0; i < 4; ++i) assert_int_equal((unsigned char)own.data[15 + i], mask >> (8 * i) & 0xff);
    GIVES(tfrecords(file(write_out("abc", own)), NULL), "'abc'");
}

static void compressed_files_are_unpacked(void **state) {
    (void)state;
    mdist_read_options_t options = reading();
    Text records = three_records();
    options.compression = MDIST_COMPRESSION_GZIP;
    GIVES(tfrecords(file(write_out("gz", packed(records.data, records.length, 31))), &options), "'first' '' 'third\n'");
    GIVES(tfrecords(file(write_text("empty", "")), &options), "");
    Text members = packed("one\ntw", 6, 31), second = packed("o\nthree", 7, 31), none = packed("", 0, 31);
    put_bytes(&members, none.data, none.length);
    put_bytes(&members, second.data, second.length);
    free(second.data);
    free(none.data);
    GIVES(lines(file(write_out("members", members)), &options), "'one' 'two' 'three'");
    options.compression = MDIST_COMPRESSION_ZLIB;
    GIVES(tfrecords(file(write_out("z", packed(records.data, records.length, 15))), &options), "'first' '' 'third\n'");
    GIVES(fixed(file(write_out("fixed", packed("H123456FF", 9, 15))), 3, 1, 2, &options), "'123' '456'");
    GIVES(fixed(file(write_out("short", packed("HFF", 3, 15))), 3, 1, 2, &options), "");
    free(records.data);
}

static void large_records_come_whole_also_from_compressed_files(void **state) {
    (void)state;
    enum { LARGE = 5 << 20 };
    unsigned char *data = malloc(LARGE);
    for (uint32_t i = 0, mixed = 1; i < LARGE; ++i, mixed = mixed * 1664525 + 1013904223)
        data[i] = (unsigned char)(mixed >> 24);
    Text file_bytes = {0};
    for (int i = 0; i < 2; ++i) put_record_claiming(&file_bytes, LARGE, data, LARGE);
    mdist_read_options_t options = reading();
    for (int gzip = 0; gzip < 2; ++gzip) {
        options.compression = gzip ? MDIST_COMPRESSION_GZIP : MDIST_COMPRESSION_NONE;
        const char *path = gzip ? write_out("large.gz", packed(file_bytes.data, file_bytes.length, 31))
                                : write_file("large", file_bytes.data, file_bytes.length);
        mdist_dataset_t *records = tfrecords(file(path), &options);
        mdist_iterator_t *iterator = NULL;
        mdist_error_t *error = NULL;
        OK(mdist_iterator_create(records, &iterator, &error));
        for (int i = 0; i < 2; ++i) {
            mdist_value_t *value = NULL;
            mdist_tensor_t tensor;
            OK(mdist_iterator_next(iterator, &value, 1, &error));
            OK(mdist_value_tensor(value, 0, &tensor, &error));
            assert_int_equal(tensor.shape[0], LARGE);
            assert_memory_equal(tensor.data, data, LARGE);
            mdist_value_destroy(value);
        }
        mdist_value_t *value = NULL;
        assert_int_equal(mdist_iterator_next(iterator, &value, 1, NULL), MDIST_END);
        mdist_iterator_destroy(iterator);
        mdist_dataset_destroy(records);
    }
    free(file_bytes.data);
    free(data);
}

// Reads files of 1 to 3 lines. The expected orders follow the rule of TensorFlow's interleave.
static mdist_dataset_t *turns(uint64_t cycle_length, uint64_t block_length) {
    const char *paths[] = {write_text("1", "a1\na2\na3\n"), write_text("2", "b1\n"), write_text("3", "c1\nc2\n"),
                           write_text("4", "d1\nd2\nd3\n")};
    mdist_read_options_t options = reading();
    options.cycle_length = cycle_length;
    options.block_length = block_length;
    return lines(names(paths, 4), &options);
}

static void files_take_turns(void **state) {
    (void)state;
    GIVES(turns(0, 0), "'a1' 'a2' 'a3' 'b1' 'c1' 'c2' 'd1' 'd2' 'd3'");
    GIVES(turns(1, 2), "'a1' 'a2' 'a3' 'b1' 'c1' 'c2' 'd1' 'd2' 'd3'");
    GIVES(turns(2, 1), "'a1' 'b1' 'a2' 'a3' 'c1' 'c2' 'd1' 'd2' 'd3'");
    GIVES(turns(2, 2), "'a1' 'a2' 'b1' 'a3' 'c1' 'c2' 'd1' 'd2' 'd3'");
    GIVES(turns(4, 1), "'a1' 'b1' 'c1' 'd1' 'a2' 'c2' 'd2' 'a3' 'd3'");
    GIVES(turns(9, 1), "'a1' 'b1' 'c1' 'd1' 'a2' 'c2' 'd2' 'a3' 'd3'");
    GIVES(take(repeat(turns(3, 2), 2), 12), "'a1' 'a2' 'b1' 'c1' 'c2' 'a3' 'd1' 'd2' 'd3' 'a1' 'a2' 'b1'");
}

static void files_of_names_are_datasets_of_names(void **state) {
    (void)state;
    Text list = {0};
    put(&list, write_text("x", "x1\nx2"));
    put(&list, "\n");
    put(&list, write_text("y", "y1"));
    GIVES(lines(lines(file(write_out("list", list)), NULL), NULL), "'x1' 'x2' 'y1'");
}

static void what_makes_no_sense_is_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_dataset_t *out = NULL, *files = file("a"), *numbers = range(0, 3, 1);
    mdist_read_options_t options = reading();
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_dataset_tfrecords(numbers, &out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_dataset_fixed_records(files, 0, 0, 0, &out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_dataset_fixed_records(files, UINT64_MAX, 0, 0, &out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_dataset_fixed_records(files, 1, UINT64_MAX, 0, &out, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_dataset_fixed_records(files, 1, 0, UINT64_MAX, &out, NULL, &error));
    options.cycle_length = 1025;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_dataset_text_lines(files, &out, &options, &error));
    options = reading();
    options.compression = 3;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_dataset_text_lines(files, &out, &options, &error));
    options = reading();
    options.on_corrupt = 2;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_dataset_text_lines(files, &out, &options, &error));
    options = reading();
    options.max_record_bytes = UINT64_MAX;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_dataset_text_lines(files, &out, &options, &error));
    options = reading();
    options.parallel_files = 1025;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_dataset_text_lines(files, &out, &options, &error));
    options = reading();
    options.flags = 1;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_dataset_text_lines(files, &out, &options, &error));
    mdist_dataset_destroy(files);
    mdist_dataset_destroy(numbers);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_elements_in_their_order),
        cmocka_unit_test(patterns_give_sorted_names),
        cmocka_unit_test(lines_end_with_line_feeds_or_the_file),
        cmocka_unit_test(lines_may_be_longer_than_any_buffer),
        cmocka_unit_test(fixed_records_lie_between_header_and_footer),
        cmocka_unit_test(tfrecords_are_read),
        cmocka_unit_test(a_record_written_by_another_program_is_read),
        cmocka_unit_test(compressed_files_are_unpacked),
        cmocka_unit_test(large_records_come_whole_also_from_compressed_files),
        cmocka_unit_test(files_take_turns),
        cmocka_unit_test(files_of_names_are_datasets_of_names),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };
    // The same tests with files that are read ahead.
    int failed = cmocka_run_group_tests_name("on the thread that asks", tests, make_folder, remove_folder);
    parallel_files = 3;
    failed += cmocka_run_group_tests_name("ahead", tests, make_folder, remove_folder);
    return failed;
}
