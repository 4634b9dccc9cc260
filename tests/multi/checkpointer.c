// SPDX-License-Identifier: Apache-2.0
// A program that saves, for tests that disturb it:
//
//   checkpointer save FOLDER FROM TO KILOBYTES   saves checkpoints FROM to TO and keeps the last two. It prints each
//                                                number once it is saved. If FROM is 0, it goes on after the latest
//   checkpointer restore FOLDER KILOBYTES        prints the number of the latest, or "none"
//
// Checkpoint N holds "w", int32, whose elements are all N, and N as text "number". Restoring checks that. On a failure
// the program prints "STATUS errno message" and goes on.
//
// TEST_KILL_AT=N: saving is killed in its Nth call for a file. If that call writes, half of its bytes are written
// first.
#include <mdist/mdist.h>

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

// The calls by which the library saves. One thread: a strategy with one replica has no other.

static uint64_t calls_left; // until the kill; 0: none

static int is_last_call(void) {
    return calls_left != 0 && --calls_left == 0;
}

__attribute__((visibility("default"))) int fsync(int file) {
    if (is_last_call()) raise(SIGKILL);
    return (int)syscall(SYS_fsync, file);
}

__attribute__((visibility("default"))) int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    if (is_last_call()) raise(SIGKILL);
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
}

__attribute__((visibility("default"))) int openat(int folder, const char *path, int flags, ...) {
    if (is_last_call()) raise(SIGKILL);
    return (int)syscall(SYS_openat, folder, path, flags, 0666);
}

__attribute__((visibility("default"))) ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    const int is_last = is_last_call();
    const ssize_t written = syscall(SYS_pwrite64, file, bytes, is_last ? count / 2 : count, offset);
    if (is_last) raise(SIGKILL);
    return written;
}

typedef struct Program {
    mdist_strategy_t *strategy;
    mdist_variable_t *w;
    mdist_checkpoint_t *checkpoint;
    uint64_t elements;
    int32_t *numbers;
    mdist_error_t *error;
} Program;

static mdist_status_t say(Program *self, mdist_status_t status) {
    if (status == MDIST_OK) return status;
    printf("%s %" PRId64 " %s\n", mdist_status_name(status), mdist_error_native(self->error),
           mdist_error_message(self->error));
    fflush(stdout);
    mdist_error_free(self->error);
    self->error = NULL;
    return status;
}

static mdist_status_t make(Program *self, const char *folder, uint64_t kilobytes) {
    mdist_tensor_t tensor;
    self->elements = kilobytes * 256;
    mdist_status_t status = mdist_strategy_create(NULL, &self->strategy, &self->error);
    if (status == MDIST_OK)
        status = mdist_tensor_describe(NULL, MDIST_INT32, &self->elements, 1, &tensor, &self->error);
    if (status == MDIST_OK) status = mdist_variable_create(self->strategy, "w", &tensor, &self->w, NULL, &self->error);
    if (status == MDIST_OK) status = mdist_variable_tensor(self->w, 0, &tensor, &self->error);
    if (status == MDIST_OK) self->numbers = tensor.data;
    if (status == MDIST_OK)
        status = mdist_checkpoint_create(self->strategy, folder, 2, &self->checkpoint, &self->error);
    if (status == MDIST_OK) status = mdist_checkpoint_add(self->checkpoint, NULL, self->w, &self->error);
    return say(self, status);
}

static mdist_status_t save(Program *self, uint64_t number) {
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, number);
    for (uint64_t i = 0; i < self->elements; ++i) self->numbers[i] = (int32_t)number;
    mdist_status_t status = mdist_checkpoint_set_text(self->checkpoint, "number", text, &self->error);
    if (status == MDIST_OK) status = mdist_checkpoint_save(self->checkpoint, number, NULL, &self->error);
    if (status == MDIST_OK) {
        printf("%" PRIu64 "\n", number);
        fflush(stdout);
    }
    return say(self, status);
}

/// Checks that what was restored is checkpoint `number`; 0 if so.
static int wrong(const Program *self, uint64_t number) {
    char text[32] = "", wanted[32];
    snprintf(wanted, sizeof wanted, "%" PRIu64, number);
    if (mdist_checkpoint_text(self->checkpoint, "number", text, sizeof text, NULL, NULL) != MDIST_OK) return 1;
    if (strcmp(text, wanted) != 0) return 1;
    for (uint64_t i = 0; i < self->elements; ++i)
        if (self->numbers[i] != (int32_t)number) return 1;
    return 0;
}

static int restore(Program *self, uint64_t *number) {
    const mdist_status_t status = mdist_checkpoint_restore(self->checkpoint, MDIST_LATEST, number, NULL, &self->error);
    if (status == MDIST_ERR_NOT_FOUND && strcmp(mdist_error_reason(self->error), "no_checkpoint") == 0) {
        mdist_error_free(self->error);
        self->error = NULL;
        *number = 0;
        return 0;
    }
    if (say(self, status) != MDIST_OK) return 1;
    if (!wrong(self, *number)) return 0;
    printf("checkpoint %" PRIu64 " is not what was saved\n", *number);
    return 1;
}

/// Limits the size of files as TEST_FILE_LIMIT says. It is called late, since a sanitizer writes files before.
static int limit_files(void) {
    const char *const bytes = getenv("TEST_FILE_LIMIT");
    if (bytes == NULL) return 0;
    const struct rlimit limit = {strtoull(bytes, NULL, 10), RLIM_INFINITY};
    return setrlimit(RLIMIT_FSIZE, &limit);
}

int main(int argument_count, char **arguments) {
    Program self = {0};
    uint64_t number = 0;
    const int saves = argument_count == 6 && strcmp(arguments[1], "save") == 0;
    const int restores = argument_count == 4 && strcmp(arguments[1], "restore") == 0;
    if (!saves && !restores) return 2;
    signal(SIGXFSZ, SIG_DFL); // the parent process may ignore it
    if (limit_files() != 0) return 1;
    if (make(&self, arguments[2], strtoull(arguments[saves ? 5 : 3], NULL, 10)) != MDIST_OK) return 1;
    if (restores) {
        if (restore(&self, &number) != 0) return 1;
        if (number == 0)
            puts("none");
        else
            printf("%" PRIu64 "\n", number);
        return 0;
    }
    uint64_t from = strtoull(arguments[3], NULL, 10);
    if (from == 0 && restore(&self, &from) == 0) ++from;
    if (getenv("TEST_KILL_AT") != NULL) calls_left = strtoull(getenv("TEST_KILL_AT"), NULL, 10);
    int failures = 0;
    for (number = from; number <= strtoull(arguments[4], NULL, 10); ++number)
        failures += save(&self, number) != MDIST_OK;
    mdist_checkpoint_destroy(self.checkpoint);
    mdist_variable_destroy(self.w);
    mdist_strategy_destroy(self.strategy);
    return failures != 0;
}
