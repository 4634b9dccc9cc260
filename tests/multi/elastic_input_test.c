// SPDX-License-Identifier: Apache-2.0
// Input of elastic jobs: what replicas get does not depend on how many workers there are, or were.
#include "elastic_job.h"
#include "elastic_training.h"

static uint64_t reads_of(const Worker *worker) {
    const char *const told = strstr(worker->text, "reads ");
    assert_non_null(told);
    return strtoull(told + strlen("reads "), NULL, 10);
}

/// A survivor takes what it has kept of its input. With another number of bytes, or none, it reads again, and has the
/// same result.
static void survivors_go_back_in_their_input(void **state) {
    (void)state;
    Job job;
    char undisturbed[64];
    run_undisturbed(&job, 2, undisturbed);
    const uint64_t once = reads_of(&job.workers[0]);
    assert_int_equal(reads_of(&job.workers[1]), once);
    static const char *const limits[] = {NULL, "0", "150"}; // an element has 104 bytes
    for (size_t i = 0; i < 6; ++i) {
        const char *const limit = limits[i % 3];
        const int ahead = i >= 3;
        if (limit != NULL) setenv("MDIST_ELASTIC_REWIND_BYTES", limit, 1);
        if (ahead) setenv("MDIST_DATA_PREFETCH_ON_DEVICE", "true", 1);
        begin(&job, 3, 1, "1", "tcp");
        start(&job, "step 8 0"); // the last commit is of step 6
        start(&job, "step 16 99");
        start(&job, NULL);
        finish(&job);
        expect(&job, undisturbed, 2);
        const uint64_t read = reads_of(&job.workers[2]);
        if (limit == NULL && !ahead) assert_int_equal(read, once);
        if (limit == NULL && ahead) assert_in_range(read, once, once + 8 * 13); // one element for each of its replicas
        if (limit != NULL) assert_true(read > once + 8 * 13);
        unsetenv("MDIST_ELASTIC_REWIND_BYTES");
        unsetenv("MDIST_DATA_PREFETCH_ON_DEVICE");
    }
}

/// Each replica has a dataset of its own. Those of replicas 0 and 1 end before the training does.
static void datasets_of_replicas_go_on(void **state) {
    (void)state;
    setenv("TEST_FUNCTION", "by replica", 1);
    char result[64];
    for (uint32_t size = 1; size <= 4; ++size) {
        Job job;
        char again[64];
        run_undisturbed(&job, size, size == 1 ? result : again);
        if (size > 1) assert_string_equal(again, result);
    }
    static const char *const die[][2] = {{"step 7 0", "step 16 99"}, {"step 13 0", "save 21 99"}, {"step 22 2", NULL}};
    for (size_t i = 0; i < 6; ++i) {
        const int replace = i >= 3, ahead = i == 1 || i == 4;
        if (ahead) setenv("MDIST_DATA_PREFETCH_ON_DEVICE", "true", 1);
        Job job;
        begin(&job, 3, 1, "1", i % 2 == 0 ? "tcp" : "auto");
        job.keeps_size = replace;
        for (uint32_t k = 0; k < 3; ++k) start(&job, k < 2 ? die[i % 3][k] : NULL);
        finish(&job);
        expect(&job, result, i % 3 == 2 ? 1 : 2);
        unsetenv("MDIST_DATA_PREFETCH_ON_DEVICE");
    }
    unsetenv("TEST_FUNCTION");
}

/// A function that looks at the worker is found out when workers differ.
static void datasets_that_depend_on_workers_are_refused(void **state) {
    (void)state;
    setenv("TEST_FUNCTION", "by worker", 1);
    Job job;
    begin(&job, 2, 2, "1", "tcp");
    for (uint32_t i = 0; i < 2; ++i) start(&job, NULL);
    finish(&job);
    for (uint32_t i = 0; i < 2; ++i) {
        const char *const text = job.workers[i].text;
        print_message("%s", text);
        assert_non_null(strstr(text, "MISMATCH different_calls"));
        assert_non_null(strstr(text, "for replica 0 the dataset range(160 numbers from 0, step 1)"));
        assert_non_null(strstr(text, "shard(8, 1)"));
    }
    unsetenv("TEST_FUNCTION");
}

int main(int argc, char **argv) {
    if (is_worker(argc, argv)) return elastic_training();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survivors_go_back_in_their_input),
        cmocka_unit_test(datasets_of_replicas_go_on),
        cmocka_unit_test(datasets_that_depend_on_workers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
