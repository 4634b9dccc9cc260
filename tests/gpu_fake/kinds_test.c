// SPDX-License-Identifier: Apache-2.0
// All workers of a job are on CPUs, or all are on GPUs. A worker that differs from worker 0 gets an error and does not
// join.
#include "gpu_support.h"
#include "time_limits.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/// Returns a port that is free at this moment.
static uint16_t some_port(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    const int bound = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(bound >= 0 && bind(bound, (struct sockaddr *)&address, size) == 0);
    assert_int_equal(getsockname(bound, (struct sockaddr *)&address, &size), 0);
    close(bound);
    return ntohs(address.sin_port);
}

enum { WELL, WAS_LATE, IS_WRONG };

/// Runs one of two workers. It is to fail with that status and message; a TIMEOUT instead tells that the other was
/// late.
static int join_in_vain(int rank, const char *devices, uint16_t port, uint64_t limit_ms, mdist_status_t status,
                        const char *words) {
    char store[32], limit[32];
    mdist_error_t *error = NULL;
    mdist_strategy_t *strategy = NULL;
    snprintf(store, sizeof store, "127.0.0.1:%u", (unsigned)port);
    setenv("MDIST_STORE", store, 1);
    setenv("MDIST_SIZE", "2", 1);
    setenv("MDIST_RANK", rank == 0 ? "0" : "1", 1);
    setenv("MDIST_DEVICES", devices, 1);
    snprintf(limit, sizeof limit, "%ums", (unsigned)limit_ms);
    setenv("MDIST_COMMUNICATION_JOIN_TIMEOUT", limit, 1);
    quiet_log();
    const mdist_status_t got = mdist_strategy_create(NULL, &strategy, &error);
    const int wrong = got != status || strstr(mdist_error_message(error), words) == NULL;
    if (wrong) fprintf(stderr, "worker %d got %s: %s\n", rank, mdist_status_name(got), mdist_error_message(error));
    mdist_error_free(error);
    return !wrong ? WELL : got == MDIST_ERR_TIMEOUT ? WAS_LATE : IS_WRONG;
}

static void workers_of_two_kinds_form_no_job(void **state) {
    (void)state;
    Tries tries = {.what = "workers of two kinds", .limit_ms = 2000};
    while (another_try(&tries)) {
        const uint16_t port = some_port();
        pid_t workers[2];
        for (int rank = 0; rank < 2; ++rank) { // this process makes no call of the library
            workers[rank] = fork();
            assert_true(workers[rank] >= 0);
            if (workers[rank] != 0) continue;
            _exit(rank == 0 ? join_in_vain(0, "cpu", port, tries.limit_ms, MDIST_ERR_TIMEOUT, "\"devices = gpu\"")
                            : join_in_vain(1, "gpu:0", port, tries.limit_ms, MDIST_ERR_CONFIG,
                                           "\"devices = cpu\" there, \"devices = gpu\" here"));
        }
        for (int rank = 0; rank < 2; ++rank) {
            int how = 0;
            assert_int_equal(waitpid(workers[rank], &how, 0), workers[rank]);
            assert_true(WIFEXITED(how) && WEXITSTATUS(how) <= WAS_LATE);
            if (WEXITSTATUS(how) == WAS_LATE) tries.late = 1;
        }
    }
    assert_false(tries.late);
}

GPU_TESTS("devices=1", cmocka_unit_test(workers_of_two_kinds_form_no_job))
