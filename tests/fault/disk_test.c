// SPDX-License-Identifier: Apache-2.0
// Checkpoints on a disk that fails: each call for a file, and each request for memory, refused in turn; calls that are
// interrupted or do only a part. The checkpoints that were there always still are.
#include "checkpoint_support.h"
#include "shortage.h"

#include <errno.h>
#include <fcntl.h>
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

int fsync(int fd) {
    if (refused()) return errno = EIO, -1;
    return (int)syscall(SYS_fsync, fd);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    if (refused()) return errno = EIO, -1;
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
}

int openat(int folder, const char *path, int flags, ...) {
    if (refused()) return errno = EIO, -1;
    return (int)syscall(SYS_openat, folder, path, flags, 0666);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    if (refused()) return errno = EIO, -1;
    if (interrupted()) return errno = EINTR, -1;
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

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(each_call_may_fail_while_saving),
        IN_A_FOLDER(a_checkpoint_that_is_replaced_is_the_old_or_the_new_one),
        IN_A_FOLDER(each_call_may_fail_while_restoring),
        IN_A_FOLDER(calls_that_are_interrupted_or_partial_are_continued),
        IN_A_FOLDER(each_request_for_memory_may_be_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
