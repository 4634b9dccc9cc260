// SPDX-License-Identifier: Apache-2.0
// Commits and regroups of an elastic job, with each request for memory of the caller refused in turn: a status with an
// error to read, and a job that goes on or says why it cannot; never a crash or a deadlock.
#include "elastic_alone.h"

#include "shortage.h"

enum { REPLICAS = 3 };

typedef struct Job {
    mdist_store_t *store;
    mdist_strategy_t *strategy;
    mdist_variable_t *variable;
    mdist_blob_t *blob;
} Job;

static int32_t save(uint32_t replica_id, void *to, size_t bytes, void *user_data) {
    (void)replica_id, (void)user_data;
    memset(to, 1, bytes);
    return 0;
}

static int32_t restore(uint32_t replica_id, const void *from, size_t bytes, void *user_data) {
    (void)replica_id, (void)from, (void)bytes, (void)user_data;
    return 0;
}

static int32_t count(mdist_replica_t *replica, void *variable) {
    const float one = 1;
    const mdist_tensor_t number = tensor_of((void *)&one, MDIST_FLOAT32, 0);
    return mdist_replica_assign(replica, variable, MDIST_ASSIGN_ADD, &number, NULL, NULL) == MDIST_OK ? 0 : 1;
}

static mdist_status_t run(Job *job, mdist_error_t **error) {
    return mdist_run(job->strategy, count, job->variable, NULL, error);
}

static mdist_status_t commit(Job *job, mdist_error_t **error) {
    return mdist_commit(job->strategy, 1, NULL, error);
}

static mdist_status_t regroup(Job *job, mdist_error_t **error) {
    return mdist_regroup(job->strategy, NULL, NULL, error);
}

static void begin(Job *job) {
    mdist_error_t *error = NULL;
    const float zero = 0;
    const mdist_tensor_t initial = tensor_of((void *)&zero, MDIST_FLOAT32, 0);
    const mdist_variable_options_t options = {.struct_size = sizeof options, .aggregation = MDIST_AGGREGATION_SUM};
    begin_alone(&job->store, &job->strategy);
    OK(mdist_variable_create(job->strategy, "count", &initial, &job->variable, &options, &error));
    OK(mdist_blob_create(job->strategy, "numbers", 8, save, restore, NULL, NULL, &job->blob, &error));
    OK(run(job, &error));
    OK(commit(job, &error));
    OK(run(job, &error));
}

static void end(Job *job) {
    mdist_variable_destroy(job->variable);
    mdist_blob_destroy(job->blob);
    mdist_strategy_destroy(job->strategy);
    mdist_store_destroy(job->store);
}

/// Calls it with the nth request refused, for nth from 1 on until it needs no more than it got. Then calls all there
/// is.
static void call_with_little(mdist_status_t (*call)(Job *, mdist_error_t **), int for_good) {
    uint64_t refused = 1, failed = 0, nth = 1;
    for (; refused != 0; ++nth) {
        Job job = {0};
        mdist_error_t *error = NULL;
        begin(&job);
        shortage_start(SHORT_OF_MEMORY_HERE, nth, for_good);
        const mdist_status_t status = call(&job, &error);
        refused = shortage_stop();
        if ((status == MDIST_OK) != (error == NULL) || mdist_error_status(error) != status)
            fail_msg("request %llu: status %s, and error %s", (unsigned long long)nth, mdist_status_name(status),
                     mdist_status_name(mdist_error_status(error)));
        if (refused == 0) assert_int_equal(status, MDIST_OK);
        failed += status != MDIST_OK;
        mdist_error_free(error);
        mdist_status_t (*const all[])(Job *, mdist_error_t **) = {run, commit, regroup, run};
        for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
            error = NULL;
            const mdist_status_t after = all[i](&job, &error);
            if ((after == MDIST_OK) != (error == NULL))
                fail_msg("request %llu: no error after it", (unsigned long long)nth);
            if (status == MDIST_OK && after != MDIST_OK)
                fail_msg("request %llu: %s afterwards", (unsigned long long)nth, mdist_error_message(error));
            mdist_error_free(error);
        }
        end(&job);
    }
    print_message("# %llu requests, %llu failed\n", (unsigned long long)nth - 1, (unsigned long long)failed);
    assert_true(failed != 0);
}

/// In turn without one request, and without all from one on. libc++ has too little memory of its own for exceptions.
static void call_in_shortages(mdist_status_t (*call)(Job *, mdist_error_t **)) {
    call_with_little(call, 0);
#ifndef MDIST_TEST_LIBCXX
    call_with_little(call, 1);
#endif
}

static void commits_with_little_memory(void **state) {
    (void)state;
    call_in_shortages(commit);
}

static void regroups_with_little_memory(void **state) {
    (void)state;
    call_in_shortages(regroup);
}

/// As where a sandbox refuses getsockname.
static void sockets_without_an_address_are_no_bug(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_store_t *store = NULL;
    mdist_strategy_t *strategy = NULL;
    char address[64];
    shortage_start(SHORT_OF_ADDRESSES, 1, 1);
    const mdist_status_t refused = create_elastic_store(NULL, "shortage", &store, &error);
    assert_true(shortage_stop() != 0);
    assert_int_equal(refused, MDIST_ERR_RESOURCE);
    assert_int_equal(mdist_error_native(error), 1); // EPERM
    WORDS(error, "cannot read the address of a socket");
    mdist_error_free(error);
    store = begin_elastic_store("shortage", address, sizeof address);
    setenv("MDIST_STORE", address, 1);
    shortage_start(SHORT_OF_ADDRESSES, 1, 1);
    const mdist_status_t status = mdist_strategy_create(NULL, &strategy, &error);
    assert_true(shortage_stop() != 0);
    assert_int_equal(status, MDIST_ERR_RESOURCE);
    WORDS(error, "cannot read the address of a socket");
    mdist_error_free(error);
    mdist_store_destroy(store);
}

int main(void) {
    quiet_log();
    be_the_only_worker("shortage");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commits_with_little_memory),
        cmocka_unit_test(regroups_with_little_memory),
        cmocka_unit_test(sockets_without_an_address_are_no_bug),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
