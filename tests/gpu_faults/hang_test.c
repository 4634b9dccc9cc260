// SPDX-License-Identifier: Apache-2.0
// A GPU that never ends what it has begun: the training program is told in time, and can be ended.
#include "training.h"

#include <sys/wait.h>

static char folder[] = "/tmp/mdist-gpu-hang-XXXXXX";

static unsigned hangs_at;

static void plan_hang(void) {
    char fault[32];
    snprintf(fault, sizeof fault, "job@%u:hang", hangs_at);
    if (!controls()->plan(fault)) _exit(99);
}

/// The program, in whose first step a stream's job number `at` hangs; 0 if it ended as it should. In a child.
static int hang_at(const char *devices, unsigned at) {
    setenv("MDIST_FAKE_GPU", "devices=2", 1);
    setenv("MDIST_CUDA_MODULE", MDIST_TEST_FAKE_GPU, 1);
    alarm(60); // whoever hangs, too
    quiet_log();
    Training t = {0};
    t.devices = devices;
    t.folder = folder;
    t.blocking = "false";
    t.timeout = "300ms";
    t.before_step = plan_hang;
    hangs_at = at;
    training_run(&t);
    // What the step waited for itself is its own failure.
    const int good = t.status == MDIST_ERR_TIMEOUT || t.status == MDIST_ERR_ABORTED || t.status == MDIST_ERR_CALLBACK;
    if (!good)
        fprintf(stderr, "%s, job %u: at %s: %s: %s\n", devices, at, t.at == NULL ? "the end" : t.at,
                mdist_status_name(t.status), mdist_error_message(t.error));
    mdist_error_free(t.error);
    return !good;
}

static void expect_timeout(const char *devices, unsigned at) {
    const pid_t child = fork();
    int status = -1;
    if (child == 0) _exit(hang_at(devices, at));
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status != 0) print_error("%s, job %u: status %d\n", devices, at, status);
    assert_int_equal(status, 0);
}

static void logical_devices_that_hang_are_told(void **state) {
    (void)state;
    for (unsigned at = 1; at <= 7; at += 3) expect_timeout("gpu:0*2", at);
}
static void gpus_that_hang_are_told(void **state) {
    (void)state;
    for (unsigned at = 1; at <= 7; at += 3) expect_timeout("gpu:0,gpu:1", at);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logical_devices_that_hang_are_told),
        cmocka_unit_test(gpus_that_hang_are_told),
    };
    if (mkdtemp(folder) == NULL) return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) != 0 || failed != 0;
}
