// SPDX-License-Identifier: Apache-2.0
// Writes TFRecord files: every byte follows the format, and a file is written completely or not at all.
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static mdist_record_writer_t *writer(const char *path, int32_t compression) {
    mdist_record_writer_t *out = NULL;
    mdist_error_t *error = NULL;
    OK(mdist_record_writer_create(
        path, &out, &(mdist_record_writer_options_t){sizeof(mdist_record_writer_options_t), compression}, &error));
    return out;
}
static void adds(mdist_record_writer_t *to, const void *data, size_t bytes) {
    mdist_error_t *error = NULL;
    OK(mdist_record_writer_write(to, data, bytes, &error));
}
static void ends(mdist_record_writer_t *to) {
    mdist_error_t *error = NULL;
    OK(mdist_record_writer_close(to, &error));
    OK(mdist_record_writer_close(to, &error)); // a second close does nothing
    mdist_record_writer_destroy(to);
}

static size_t files_in_folder(void) {
    DIR *entries = opendir(folder);
    size_t count = 0;
    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(entries);
    return count;
}

static void a_written_file_is_what_the_format_says(void **state) {
    (void)state;
    const char *path = path_of("plain");
    mdist_record_writer_t *to = writer(path, MDIST_COMPRESSION_NONE);
    adds(to, "alpha", 5);
    adds(to, NULL, 0);
    adds(to, "\0\n\xff", 3);
    ends(to);
    Text wanted = {0};
    put_record(&wanted, "alpha");
    put_record(&wanted, "");
    put_record_claiming(&wanted, 3, "\0\n\xff", 3);
    char got[256];
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    assert_int_equal(fread(got, 1, sizeof got, in), wanted.length);
    assert_memory_equal(got, wanted.data, wanted.length);
    fclose(in);
    free(wanted.data);
}

static void records_come_back_however_they_are_packed(void **state) {
    (void)state;
    enum { LARGE = 1000003 };
    char *large = malloc(LARGE);
    assert_non_null(large);
    uint32_t noise = 1;
    for (size_t i = 0; i < LARGE; ++i) large[i] = (char)((noise = noise * 1664525 + 1013904223) >> 24);
    for (int32_t compression = MDIST_COMPRESSION_NONE; compression <= MDIST_COMPRESSION_ZLIB; ++compression) {
        const char *path = path_of("packed");
        mdist_record_writer_t *to = writer(path, compression);
        adds(to, "small", 5);
        for (int i = 0; i < 3; ++i) adds(to, large, LARGE);
        adds(to, "last", 4);
        ends(to);
        mdist_read_options_t options = reading();
        options.compression = compression;
        mdist_dataset_t *records = tfrecords(file(path), &options);
        mdist_iterator_t *iterator = NULL;
        assert_int_equal(mdist_iterator_create(records, &iterator, NULL), MDIST_OK);
        for (int i = 0; i < 5; ++i) {
            mdist_value_t *value = NULL;
            mdist_tensor_t tensor;
            assert_int_equal(mdist_iterator_next(iterator, &value, 1, NULL), MDIST_OK);
            assert_int_equal(mdist_value_tensor(value, 0, &tensor, NULL), MDIST_OK);
            const char *wanted = i == 0 ? "small" : i == 4 ? "last" : large;
            assert_int_equal(tensor.shape[0], i == 0 ? 5 : i == 4 ? 4 : LARGE);
            assert_memory_equal(tensor.data, wanted, tensor.shape[0]);
            mdist_value_destroy(value);
        }
        mdist_value_t *value = NULL;
        assert_int_equal(mdist_iterator_next(iterator, &value, 1, NULL), MDIST_END);
        mdist_iterator_destroy(iterator);
        mdist_dataset_destroy(records);
    }
    free(large);
}

static void a_file_without_records_has_none(void **state) {
    (void)state;
    const char *path = path_of("empty");
    ends(writer(path, MDIST_COMPRESSION_GZIP));
    mdist_read_options_t options = reading();
    options.compression = MDIST_COMPRESSION_GZIP;
    GIVES(tfrecords(file(path), &options), "");
}

static void what_is_not_closed_was_never_there(void **state) {
    (void)state;
    const char *path = write_text("kept", "what was there before");
    const size_t before = files_in_folder();
    mdist_record_writer_t *to = writer(path, MDIST_COMPRESSION_NONE);
    adds(to, "alpha", 5);
    GIVES(lines(file(path), NULL), "'what was there before'");
    mdist_record_writer_destroy(to);
    GIVES(lines(file(path), NULL), "'what was there before'");
    mdist_record_writer_destroy(writer(path_of("new"), MDIST_COMPRESSION_GZIP));
    assert_int_equal(files_in_folder(), before);
    to = writer(path, MDIST_COMPRESSION_NONE);
    adds(to, "alpha", 5);
    ends(to);
    GIVES(tfrecords(file(path), NULL), "'alpha'");
}

static void refused(const char *path, mdist_status_t status, const char *words) {
    mdist_record_writer_t *out = NULL;
    mdist_error_t *error = NULL;
    const mdist_status_t got = mdist_record_writer_create(path, &out, NULL, &error);
    expect_status(status, got, error, "mdist_record_writer_create", __FILE__, __LINE__);
    WORDS(error, words);
    mdist_error_free(error);
    assert_null(out);
}

static void names_that_cannot_be_written_are_refused_before_a_record_is(void **state) {
    (void)state;
    refused("", MDIST_ERR_INVALID_ARGUMENT, "does not name a file");
    refused("/tmp/", MDIST_ERR_INVALID_ARGUMENT, "does not name a file");
    refused("/tmp/..", MDIST_ERR_INVALID_ARGUMENT, "does not name a file");
    refused(path_of("nowhere/file"), MDIST_ERR_NOT_FOUND, "nowhere");
    refused(NULL, MDIST_ERR_INVALID_ARGUMENT, "path is NULL");
    // A new file is first written under a temporary name. Here that name is a pipe that nobody reads, then a link.
    assert_int_equal(mkfifo(path_of(".taken.new"), 0600), 0);
    refused(path_of("taken"), MDIST_ERR_IO, "cannot create");
    assert_int_equal(symlink(path_of("elsewhere"), path_of(".linked.new")), 0);
    refused(path_of("linked"), MDIST_ERR_IO, "cannot create");
    mdist_record_writer_t *out = NULL;
    mdist_error_t *error = NULL;
    FAILS(MDIST_ERR_INVALID_ARGUMENT,
          mdist_record_writer_create(
              path_of("x"), &out, &(mdist_record_writer_options_t){sizeof(mdist_record_writer_options_t), 3}, &error));
    if (geteuid() == 0) return; // root may write everywhere
    refused("/proc/1/records", MDIST_ERR_IO, "cannot create");
}

static void handles_that_are_none_and_writers_that_are_closed_say_so(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_record_writer_t *to = writer(path_of("closed"), MDIST_COMPRESSION_NONE);
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_record_writer_write(to, NULL, 1, &error));
    OK(mdist_record_writer_close(to, &error));
    FAILS(MDIST_ERR_FAILED_PRECONDITION, mdist_record_writer_write(to, "a", 1, &error));
    mdist_record_writer_destroy(to);
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_record_writer_write(to, "a", 1, &error));
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_record_writer_close(NULL, &error));
}

/// Writes until a write or the close fails. The old content of the file must remain.
static void fails_with(const char *path, int code) {
    static char data[100000];
    mdist_error_t *error = NULL, *again = NULL;
    mdist_record_writer_t *to = writer(path, MDIST_COMPRESSION_NONE);
    mdist_status_t status = MDIST_OK;
    for (int i = 0; status == MDIST_OK && i < 20; ++i)
        status = mdist_record_writer_write(to, data, sizeof data, &error);
    assert_int_equal(status, MDIST_ERR_IO);
    assert_int_equal(mdist_error_native(error), code);
    WORDS(error, "cannot write");
    assert_int_equal(mdist_record_writer_close(to, &again), MDIST_ERR_IO);
    assert_string_equal(mdist_error_message(error), mdist_error_message(again));
    mdist_error_free(error);
    mdist_error_free(again);
    mdist_record_writer_destroy(to);
    GIVES(lines(file(path), NULL), "'before'");
}

static void a_full_disk_is_an_error_and_leaves_nothing(void **state) {
    (void)state;
    const char *path = write_text("full", "before\n");
    const size_t before = files_in_folder();
    struct rlimit was, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    limit = was;
    limit.rlim_cur = 700000;
    void (*const handler)(int) = signal(SIGXFSZ, SIG_DFL); // its signal would end this process
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    fails_with(path, EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    signal(SIGXFSZ, handler);
    // Puts a device that is always full in the place of the new file. Only some users may create one.
    if (mknod(path_of(".full.new"), S_IFCHR | 0600, makedev(1, 7)) == 0) {
        const int fd = open(path_of(".full.new"), O_WRONLY | O_CLOEXEC);
        if (fd >= 0) {
            close(fd);
            fails_with(path, ENOSPC);
        }
        unlink(path_of(".full.new"));
    }
    assert_int_equal(files_in_folder(), before);
}

static void a_folder_in_its_place_is_an_error_when_it_is_closed(void **state) {
    (void)state;
    const char *path = path_of("occupied");
    assert_int_equal(mkdir(path, 0700), 0);
    const size_t before = files_in_folder();
    mdist_error_t *error = NULL;
    mdist_record_writer_t *to = writer(path, MDIST_COMPRESSION_NONE);
    adds(to, "alpha", 5);
    FAILS(MDIST_ERR_IO, mdist_record_writer_close(to, &error));
    mdist_record_writer_destroy(to);
    assert_int_equal(files_in_folder(), before);
    assert_int_equal(rmdir(path), 0);
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_written_file_is_what_the_format_says),
        cmocka_unit_test(records_come_back_however_they_are_packed),
        cmocka_unit_test(a_file_without_records_has_none),
        cmocka_unit_test(what_is_not_closed_was_never_there),
        cmocka_unit_test(names_that_cannot_be_written_are_refused_before_a_record_is),
        cmocka_unit_test(handles_that_are_none_and_writers_that_are_closed_say_so),
        cmocka_unit_test(a_full_disk_is_an_error_and_leaves_nothing),
        cmocka_unit_test(a_folder_in_its_place_is_an_error_when_it_is_closed),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
