// SPDX-License-Identifier: Apache-2.0
// A GPU whose work never ends: the training program gets an error in time, and can end.
#include "training.h"

#include <sys/wait.h>

static char folder[] = "/tmp/mdist-gpu-hang-XXXXXX";

static unsigned hangs_at;

static void plan_hang(void) {
    char fault[32];
    snprintf(fault, sizeof fault, "job@%u:hang", hangs_at);
    if (!controls()->plan(fault)) _exit(99);
}

/// Runs the program in a child. Job number `at` of a stream hangs in its first step. Returns 0 if it ends as it should.
static int hang_at(const char *devices, unsigned at) {
    setenv("MDIST_FAKE_GPU", "devices=2", 1);
    setenv("MDIST_CUDA_MODULE", MDIST_TEST_FAKE_GPU, 1);
    alarm(60); // in case the test itself hangs
    quiet_log();
    Training t = {0};
    t.devices = devices;
    t.folder = folder;
    t.blocking = "false";
    t.timeout = "300ms";
    t.before_step = plan_hang;
    hangs_at = at;
    training_run(&t);
    // If the step itself waited for the work, the failure is the step's.
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
