// SPDX-License-Identifier: Apache-2.0
// The library leaves the program's signals alone. A write that fails gives an error and raises no signal, even if
// SIGXFSZ and SIGPIPE have their defaults, which end the process. Handlers, masks and pending signals stay as they
// were.
#include "checkpoint_support.h"

#include <errno.h>
#include <fcntl.h>
#include <mdist/dataset_sources.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

enum { KILOBYTES = 200, LIMIT = 3000 };

typedef struct Signals {
    struct sigaction actions[NSIG];
    sigset_t mask, pending;
} Signals;

static Signals signals_now(void) {
    Signals now;
    memset(&now, 0, sizeof now);
    for (int number = 1; number < NSIG; ++number) sigaction(number, NULL, &now.actions[number]);
    pthread_sigmask(SIG_SETMASK, NULL, &now.mask);
    sigpending(&now.pending);
    return now;
}

static void expect_signals(const Signals *before) {
    const Signals now = signals_now();
    for (int number = 1; number < NSIG; ++number) {
        assert_ptr_equal(now.actions[number].sa_handler, before->actions[number].sa_handler);
        assert_int_equal(sigismember(&now.mask, number), sigismember(&before->mask, number));
        assert_int_equal(sigismember(&now.pending, number), sigismember(&before->pending, number));
    }
}

static void limit_files(rlim_t bytes) {
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/// Saves under a limit on the size of files, as after `ulimit -f`. Nothing is asserted under the limit: the message of
/// a failed assertion may go to a file.
static void save_under_a_limit(const char *folder) {
    mdist_strategy_t *strategy = make_strategy(1, NULL);
    mdist_variable_t *w = scalar_variable(strategy, "w", 1, MDIST_SYNC_AUTO, MDIST_AGGREGATION_NONE);
    mdist_checkpoint_t *checkpoint = checkpoint_of(strategy, folder, 1, &w, 1);
    mdist_error_t *error = NULL, *refused = NULL;
    OK(mdist_checkpoint_save(checkpoint, 1, NULL, &error));
    const Signals before = signals_now();
    for (rlim_t bytes = 0; bytes < 200; bytes += 50) {
        limit_files(bytes);
        const mdist_status_t status = mdist_checkpoint_save(checkpoint, 2, NULL, &refused);
        limit_files(RLIM_INFINITY);
        assert_int_equal(status, MDIST_ERR_IO);
        assert_int_equal(mdist_error_native(refused), EFBIG);
        WORDS(refused, "File too large");
        mdist_error_free(refused);
        expect_files(folder, "checkpoint-1.safetensors checkpoints.json");
        expect_signals(&before);
    }
    destroy_all(strategy, checkpoint, &w, 1);
}

static void a_checkpoint_beyond_the_limit_on_files_is_an_error(void **state) {
    save_under_a_limit(*state);
}

/// The signal may be blocked and pending.
static void what_the_program_does_with_the_signal_is_left_alone(void **state) {
    sigset_t raised, before;
    sigemptyset(&raised);
    sigaddset(&raised, SIGXFSZ);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &raised, &before), 0);
    assert_int_equal(raise(SIGXFSZ), 0);
    save_under_a_limit(*state); // pending before, so it must be pending afterwards
    int number = 0;
    assert_int_equal(sigwait(&raised, &number), 0);
    assert_int_equal(number, SIGXFSZ);
    remove_file(*state, "checkpoint-1.safetensors");
    save_under_a_limit(*state); // not pending before, so it must not be pending afterwards
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
}

/// For each compression. The failure may come in a write or in the close.
static void records_beyond_the_limit_on_files_are_an_error(void **state) {
    static char noise[KILOBYTES * 1024];
    uint64_t random = 1;
    for (size_t i = 0; i < sizeof noise; ++i) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        noise[i] = (char)(random >> 56);
    }
    const Signals before = signals_now();
    for (int32_t compression = MDIST_COMPRESSION_NONE; compression <= MDIST_COMPRESSION_ZLIB; ++compression) {
        char path[512];
        mdist_error_t *error = NULL;
        mdist_record_writer_t *writer = NULL;
        snprintf(path, sizeof path, "%s/records", (const char *)*state);
        OK(mdist_record_writer_create(
            path, &writer, &(mdist_record_writer_options_t){sizeof(mdist_record_writer_options_t), compression},
            &error));
        limit_files(LIMIT);
        mdist_status_t status = MDIST_OK;
        for (int i = 0; i < 3 && status == MDIST_OK; ++i)
            status = mdist_record_writer_write(writer, noise, sizeof noise, &error);
        if (status == MDIST_OK) status = mdist_record_writer_close(writer, &error);
        limit_files(RLIM_INFINITY);
        assert_int_equal(status, MDIST_ERR_IO);
        assert_int_equal(mdist_error_native(error), EFBIG);
        mdist_error_free(error);
        mdist_record_writer_destroy(writer);
        expect_files(*state, "");
        expect_signals(&before);
    }
}

/// Makes the library write a warning to the log.
static void warn(void) {
    mdist_config_t *config = NULL;
    mdist_error_t *error = NULL;
    mdist_config_create(&config, NULL);
    mdist_config_load_environment(config, &error);
    mdist_config_destroy(config);
    mdist_error_free(error);
}

static void a_log_that_nobody_can_read_is_lost_alone(void **state) {
    int ends[2];
    char path[512];
    snprintf(path, sizeof path, "%s/log", (const char *)*state);
    const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), own = dup(STDERR_FILENO);
    assert_true(file >= 0 && own >= 0 && pipe(ends) == 0);
    close(ends[0]); // a pipe without a reader
    assert_int_equal(setenv("MDIST_BOGUS", "1", 1), 0);
    const Signals before = signals_now();
    dup2(ends[1], STDERR_FILENO);
    warn();
    dup2(file, STDERR_FILENO);
    limit_files(0);
    warn();
    limit_files(RLIM_INFINITY);
    warn();
    dup2(own, STDERR_FILENO);
    expect_signals(&before);
    assert_true(lseek(file, 0, SEEK_END) > 0); // the warning was written
    unsetenv("MDIST_BOGUS");
    close(ends[1]), close(file), close(own);
}

int main(void) {
    signal(SIGXFSZ, SIG_DFL); // the parent process may have set them to be ignored
    signal(SIGPIPE, SIG_DFL);
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(a_checkpoint_beyond_the_limit_on_files_is_an_error),
        IN_A_FOLDER(what_the_program_does_with_the_signal_is_left_alone),
        IN_A_FOLDER(records_beyond_the_limit_on_files_are_an_error),
        IN_A_FOLDER(a_log_that_nobody_can_read_is_lost_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
