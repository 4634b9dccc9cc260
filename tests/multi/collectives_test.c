// SPDX-License-Identifier: Apache-2.0
// Every collective gives the same bits on workers x replicas as in one process with as many replicas.
#include "random_calls.h"
#include "started.h"

#include <sys/stat.h>
#include <unistd.h>

static void same_bits(void) {
    compare_with_one_worker(0);
}

/// Worker 0 starts an operation and does something else until worker 1 has the result.
static int32_t busy_step(mdist_replica_t *replica, void *user_data) {
    const char *pipe_path = user_data;
    float x = (float)mdist_replica_id(replica) + 1;
    const mdist_buffer_t buffer = {&x, 1, MDIST_FLOAT32, 0};
    if (mdist_replica_id(replica) == 1) {
        if (mdist_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, NULL, NULL) != MDIST_OK || x != 3) return 1;
        FILE *told = fopen(pipe_path, "w"); // opens when worker 0 listens
        return told == NULL || fclose(told) != 0;
    }
    mdist_work_t *work = NULL;
    if (start_all_reduce(replica, MDIST_SUM, &buffer, &buffer, 1, &work, NULL, NULL) != MDIST_OK) return 2;
    FILE *heard = fopen(pipe_path, "r");
    if (heard == NULL || fgetc(heard) != EOF || fclose(heard) != 0) return 3;
    int32_t done = 0;
    const mdist_status_t status = mdist_work_wait(work, MDIST_FOREVER, &done, NULL);
    mdist_work_destroy(work);
    return status != MDIST_OK || !done || x != 3;
}

static void started_goes_on(void) {
    mdist_strategy_t *strategy = join();
    GIVES(MDIST_OK, mdist_run(strategy, busy_step, getenv("TEST_PIPE"), NULL, &error));
    mdist_strategy_destroy(strategy);
}

static void check(uint32_t workers, const char *devices, const char *const *environment) {
    const Workers job = {.scenario = "same_bits", .count = workers, .devices = devices, .environment = environment};
    assert_int_equal(run_workers(&job), 0);
}

static void two_workers_have_the_bits_of_one(void **unused) {
    (void)unused;
    check(2, "cpu*1", NULL);
    check(2, "cpu*2", NULL);
    check(2, "cpu*3", NULL); // three replicas make no subtree
}

static void three_and_four_workers_have_the_bits_of_one(void **unused) {
    (void)unused;
    check(3, "cpu*1", NULL);
    check(3, "cpu*3", NULL);
    check(4, "cpu*2", NULL);
}

static void workers_with_different_numbers_of_replicas_have_the_bits_of_one(void **unused) {
    (void)unused;
    static const char *const sockets[] = {"MDIST_COMMUNICATION_IMPLEMENTATION=tcp", NULL};
    check(2, "cpu*1|cpu*2", NULL); // single values, two of them on one worker
    check(3, "cpu*3|cpu*3|cpu*1", NULL);
    check(3, "cpu*1|cpu*4|cpu*2", sockets);
    check(4, "cpu*2|cpu*1|cpu*1|cpu*1", NULL);
    check(4, "cpu*1|cpu*1|cpu*1|cpu*2", sockets);
    if (!is_long()) return;
    check(2, "cpu*1|cpu*2", sockets);
    check(3, "cpu*3|cpu*3|cpu*1", sockets);
    check(3, "cpu*1|cpu*4|cpu*2", NULL);
    check(4, "cpu*2|cpu*1|cpu*1|cpu*1", sockets);
    check(4, "cpu*1|cpu*1|cpu*1|cpu*2", NULL);
}

static void sockets_give_the_bits_of_shared_memory(void **unused) {
    (void)unused;
    static const char *const sockets[] = {"MDIST_COMMUNICATION_IMPLEMENTATION=tcp", NULL};
    check(2, "cpu*2", sockets);
    check(3, "cpu*1", sockets);
}

static void a_started_operation_goes_on_while_its_replica_does_something_else(void **unused) {
    (void)unused;
    char folder[] = "/tmp/mdist-multi-XXXXXX", path[64], variable[80];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/pipe", folder);
    snprintf(variable, sizeof variable, "TEST_PIPE=%s", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    const char *const sockets[] = {variable, "MDIST_COMMUNICATION_IMPLEMENTATION=tcp", NULL};
    const char *const shared[] = {variable, NULL};
    const Workers over_sockets = {
        .scenario = "started_goes_on", .count = 2, .devices = "cpu*1", .environment = sockets};
    const Workers over_memory = {.scenario = "started_goes_on", .count = 2, .devices = "cpu*1", .environment = shared};
    const int failures = run_workers(&over_sockets) + run_workers(&over_memory);
    unlink(path);
    rmdir(folder);
    assert_int_equal(failures, 0);
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_workers_have_the_bits_of_one),
        cmocka_unit_test(three_and_four_workers_have_the_bits_of_one),
        cmocka_unit_test(workers_with_different_numbers_of_replicas_have_the_bits_of_one),
        cmocka_unit_test(sockets_give_the_bits_of_shared_memory),
        cmocka_unit_test(a_started_operation_goes_on_while_its_replica_does_something_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argument_count, char **arguments) {
    static const NamedScenario scenarios[] = {{"same_bits", same_bits}, {"started_goes_on", started_goes_on}};
    return multi_main(argument_count, arguments, scenarios, 2, test_all);
}
