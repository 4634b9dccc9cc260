// SPDX-License-Identifier: Apache-2.0
// Checkpoints on a disk that fails: each call for a file, and each request for memory, refused in turn; calls that are
// interrupted or do only a part. The checkpoints that were there always still are. And files that would survive a crash
// of the system: each is flushed before it gets its name, and its name before anything relies on it.
#include "checkpoint_support.h"
#include "shortage.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

// ---- The disk. One thread: a strategy with one replica has no other.

static uint64_t calls, fails_at; // 0: none
static int hesitant;             // every other call is interrupted, and those that are not do little

static int refused(void) {
    return fails_at != 0 && ++calls == fails_at;
}

static int interrupted(void) {
    return hesitant && ++calls % 2 == 0;
}

static size_t part_of(size_t bytes) {
    return hesitant && bytes > 100 ? 100 : bytes;
}

// ---- What a crash of the system would lose: files and folders that were changed and not flushed since.

enum { MOST_CHANGED = 16 };
static ino_t changed[MOST_CHANGED];
static int renames;
static char lost[256]; // the first name that was given to content that could be lost

static int find_changed(ino_t file) {
    for (int i = 0; i < MOST_CHANGED; ++i)
        if (changed[i] == file) return i;
    return -1;
}

static void change(ino_t file) {
    const int at = find_changed(file) < 0 ? find_changed(0) : -1;
    if (at >= 0) changed[at] = file;
}

static void change_opened(int fd) {
    struct stat status;
    if (fstat(fd, &status) == 0) change(status.st_ino);
}

static void change_folder_of(int folder, const char *path) {
    char parent[512];
    const char *const slash = strrchr(path, '/');
    snprintf(parent, sizeof parent, "%.*s", slash == NULL ? 1 : (int)(slash - path), slash == NULL ? "." : path);
    struct stat status;
    if (fstatat(folder, parent, &status, 0) == 0) change(status.st_ino);
}

static void flushed(int fd) {
    struct stat status;
    if (fstat(fd, &status) != 0) return;
    const int at = find_changed(status.st_ino);
    if (at >= 0) changed[at] = 0;
}

/// `to` must have all its content on the disk. So must all folders, since `to` may be a list of their files.
static void note_rename(int folder, const char *from, const char *to) {
    struct stat status;
    ++renames;
    if (lost[0] != '\0' || fstatat(folder, from, &status, 0) != 0) return;
    for (int i = 0; i < MOST_CHANGED; ++i)
        if (changed[i] != 0)
            snprintf(lost, sizeof lost, "%s, while %s is not flushed", to,
                     changed[i] == status.st_ino ? "it" : "another file or folder");
}

static void forget_changes(void) {
    memset(changed, 0, sizeof changed);
    renames = 0;
    lost[0] = '\0';
}

static void expect_safe(int files) {
    assert_string_equal(lost, "");
    assert_int_equal(renames, files);
    for (int i = 0; i < MOST_CHANGED; ++i) assert_int_equal(changed[i], 0);
}

// ---- The calls.

int fsync(int fd) {
    if (refused()) return errno = EIO, -1;
    const int result = (int)syscall(SYS_fsync, fd);
    if (result == 0) flushed(fd);
    return result;
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    if (refused()) return errno = EIO, -1;
    note_rename(from_folder, from, to);
    const int result = (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
    if (result == 0) change_folder_of(to_folder, to);
    return result;
}

int rename(const char *from, const char *to) {
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int mkdir(const char *path, mode_t mode) {
    const int result = (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
    if (result == 0) change_folder_of(AT_FDCWD, path);
    return result;
}

int openat(int folder, const char *path, int flags, ...) {
    if (refused()) return errno = EIO, -1;
    const int fd = (int)syscall(SYS_openat, folder, path, flags, 0666);
    if (fd >= 0 && (flags & O_CREAT) != 0) change_opened(fd);
    return fd;
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    if (refused()) return errno = EIO, -1;
    if (interrupted()) return errno = EINTR, -1;
    change_opened(fd);
    return syscall(SYS_pwrite64, fd, bytes, part_of(count), offset);
}

ssize_t pread(int fd, void *bytes, size_t count, off_t offset) {
    if (refused()) return errno = EIO, -1;
    if (interrupted()) return errno = EINTR, -1;
    return syscall(SYS_pread64, fd, bytes, part_of(count), offset);
}

// ---- The checkpoints.

typedef struct World {
    mdist_strategy_t *strategy;
    mdist_variable_t *variables[2];
    mdist_checkpoint_t *checkpoint;
} World;

/// Checkpoint 1, of ones.
static World make_world(const char *folder) {
    World w = {.strategy = make_strategy(1, NULL)};
    mdist_error_t *error = NULL;
    w.variables[0] = scalar_variable(w.strategy, "a", 1, MDIST_SYNC_AUTO, MDIST_AGGREGATION_NONE);
    w.variables[1] = scalar_variable(w.strategy, "b", 1, MDIST_SYNC_AUTO, MDIST_AGGREGATION_NONE);
    w.checkpoint = checkpoint_of(w.strategy, folder, 1, w.variables, 2);
    OK(mdist_checkpoint_save(w.checkpoint, 1, NULL, &error));
    return w;
}

static void set(const World *w, float number) {
    set_copies(w->variables[0], number, 0);
    set_copies(w->variables[1], number, 0);
}

static int are(const World *w, float number) {
    return copy_of(w->variables[0], 0) == number && copy_of(w->variables[1], 0) == number;
}

static void expect_latest(const World *w, uint64_t wanted, float number) {
    mdist_error_t *error = NULL;
    uint64_t restored = 0;
    set(w, -1);
    OK(mdist_checkpoint_restore(w->checkpoint, MDIST_LATEST, &restored, NULL, &error));
    assert_int_equal(restored, wanted);
    assert_true(are(w, number));
}

static void end_world(const World *w) {
    destroy_all(w->strategy, w->checkpoint, w->variables, 2);
}

static void expect_disk_error(const mdist_error_t *error) {
    assert_int_equal(mdist_error_status(error), MDIST_ERR_IO);
    assert_int_equal(mdist_error_native(error), EIO);
    WORDS(error, "Input/output error");
}

static void each_call_may_fail_while_saving(void **state) {
    const World w = make_world(*state);
    mdist_error_t *error = NULL;
    uint64_t nth = 1;
    for (;; ++nth) {
        set(&w, 2);
        calls = 0;
        fails_at = nth;
        const mdist_status_t status = mdist_checkpoint_save(w.checkpoint, 2, NULL, &error);
        fails_at = 0;
        if (status == MDIST_OK) break;
        expect_disk_error(error);
        mdist_error_free(error);
        error = NULL;
        expect_files(*state, "checkpoint-1.safetensors checkpoints.json");
        expect_latest(&w, 1, 1);
    }
    assert_true(nth > 10); // opened, written, flushed, renamed, two files of it
    expect_files(*state, "checkpoint-2.safetensors checkpoints.json");
    expect_latest(&w, 2, 2);
    end_world(&w);
}

static void a_checkpoint_that_is_replaced_is_the_old_or_the_new_one(void **state) {
    const World w = make_world(*state);
    for (uint64_t nth = 1;; ++nth) {
        mdist_error_t *error = NULL;
        set(&w, (float)(nth + 1));
        calls = 0;
        fails_at = nth;
        const mdist_status_t status = mdist_checkpoint_save(w.checkpoint, 1, NULL, NULL);
        fails_at = 0;
        OK(mdist_checkpoint_restore(w.checkpoint, 1, NULL, NULL, &error));
        const float number = copy_of(w.variables[0], 0);
        assert_true(are(&w, number) && (number == 1 || number == (float)(nth + 1)));
        if (status == MDIST_OK) break;
        set(&w, 1);
        OK(mdist_checkpoint_save(w.checkpoint, 1, NULL, &error));
    }
    end_world(&w);
}

static void each_call_may_fail_while_restoring(void **state) {
    const World w = make_world(*state);
    mdist_error_t *error = NULL;
    uint64_t nth = 1, begun = 0;
    for (;; ++nth) {
        set(&w, 9);
        calls = 0;
        fails_at = nth;
        const mdist_status_t status = mdist_checkpoint_restore(w.checkpoint, MDIST_LATEST, NULL, NULL, &error);
        fails_at = 0;
        if (status == MDIST_OK) break;
        expect_disk_error(error);
        // All has been read and verified once before the first variable changes.
        if (strstr(mdist_error_message(error), "Some variables") != NULL)
            ++begun;
        else
            assert_true(are(&w, 9));
        mdist_error_free(error);
        error = NULL;
    }
    assert_int_equal(begun, 2); // a piece of each variable
    assert_true(nth > 6 && are(&w, 1));
    end_world(&w);
}

static void calls_that_are_interrupted_or_partial_are_continued(void **state) {
    const World w = make_world(*state);
    mdist_error_t *error = NULL;
    set(&w, 2);
    hesitant = 1;
    OK(mdist_checkpoint_save(w.checkpoint, 2, NULL, &error));
    expect_latest(&w, 2, 2);
    hesitant = 0;
    expect_latest(&w, 2, 2);
    end_world(&w);
}

static void each_request_for_memory_may_be_refused(void **state) {
    const World w = make_world(*state);
    mdist_error_t *error = NULL;
    for (uint64_t nth = 1, failures = 1; failures != 0; ++nth) {
        set(&w, 2);
        shortage_start(SHORT_OF_MEMORY, nth, 0);
        mdist_status_t status = mdist_checkpoint_save(w.checkpoint, 2, NULL, NULL);
        failures = shortage_stop();
        if (status != MDIST_OK) assert_int_equal(status, MDIST_ERR_OUT_OF_MEMORY);
        if (failures == 0) assert_int_equal(status, MDIST_OK);
        expect_latest(&w, status == MDIST_OK ? 2 : 1, status == MDIST_OK ? 2 : 1);
        if (failures == 0) break;
        set(&w, 1);
        OK(mdist_checkpoint_save(w.checkpoint, 1, NULL, &error));
    }
    for (uint64_t nth = 1, failures = 1; failures != 0; ++nth) {
        set(&w, 9);
        shortage_start(SHORT_OF_MEMORY, nth, 0);
        const mdist_status_t status = mdist_checkpoint_restore(w.checkpoint, 2, NULL, NULL, NULL);
        failures = shortage_stop();
        if (status != MDIST_OK) assert_int_equal(status, MDIST_ERR_OUT_OF_MEMORY);
        assert_true(are(&w, status == MDIST_OK ? 2 : 9));
    }
    end_world(&w);
}

static void a_checkpoint_and_its_list_are_flushed_before_they_get_their_names(void **state) {
    char inner[512];
    snprintf(inner, sizeof inner, "%s/new", (const char *)*state);
    forget_changes();
    const World w = make_world(inner); // in a folder that does not exist yet
    expect_safe(2);
    for (int replaced = 0; replaced < 2; ++replaced) {
        mdist_error_t *error = NULL;
        forget_changes();
        set(&w, 2);
        OK(mdist_checkpoint_save(w.checkpoint, 2, NULL, &error));
        expect_safe(2);
    }
    end_world(&w);
    remove_file(inner, "checkpoint-2.safetensors");
    remove_file(inner, "checkpoints.json");
    rmdir(inner);
}

static void records_are_flushed_before_their_file_gets_its_name(void **state) {
    char path[512];
    snprintf(path, sizeof path, "%s/records", (const char *)*state);
    for (int32_t compression = MDIST_COMPRESSION_NONE; compression <= MDIST_COMPRESSION_ZLIB; ++compression) {
        mdist_error_t *error = NULL;
        mdist_record_writer_t *writer = NULL;
        forget_changes();
        OK(mdist_record_writer_create(
            path, &writer, &(mdist_record_writer_options_t){sizeof(mdist_record_writer_options_t), compression},
            &error));
        for (int i = 0; i < 100; ++i) OK(mdist_record_writer_write(writer, "some bytes", 10, &error));
        assert_int_equal(renames, 0);
        OK(mdist_record_writer_close(writer, &error));
        expect_safe(1);
        mdist_record_writer_destroy(writer);
    }
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(each_call_may_fail_while_saving),
        IN_A_FOLDER(a_checkpoint_that_is_replaced_is_the_old_or_the_new_one),
        IN_A_FOLDER(each_call_may_fail_while_restoring),
        IN_A_FOLDER(calls_that_are_interrupted_or_partial_are_continued),
        IN_A_FOLDER(each_request_for_memory_may_be_refused),
        IN_A_FOLDER(a_checkpoint_and_its_list_are_flushed_before_they_get_their_names),
        IN_A_FOLDER(records_are_flushed_before_their_file_gets_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
