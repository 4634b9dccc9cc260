// SPDX-License-Identifier: Apache-2.0
// The store for launchers: addresses, progress, restarts and refusals. tests/multi joins real workers through it.
#include "mdist_test.h"

static mdist_store_t *make_store(const char *address) {
    mdist_error_t *error = NULL;
    mdist_store_t *store = NULL;
    OK(mdist_store_create(address, 2, "job", 1, NULL, &store, &error));
    return store;
}

static void the_address_has_the_host_as_given_and_the_true_port(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_store_t *store = make_store("localhost:0");
    char text[64];
    size_t needed = 0;
    OK(mdist_store_address(store, text, sizeof text, &needed, &error));
    assert_int_equal(needed, strlen(text) + 1);
    assert_int_equal(strncmp(text, "localhost:", 10), 0);
    assert_in_range(atoi(text + 10), 1, 65535);

    mdist_store_t *second = NULL;
    mdist_store_create(text, 2, "job", 1, NULL, &second, &error);
    assert_int_equal(mdist_error_status(error), MDIST_ERR_RESOURCE);
    assert_string_equal(mdist_error_reason(error), "address_in_use");
    mdist_error_free(error);
    error = NULL;
    mdist_store_destroy(store);
    OK(mdist_store_create(text, 2, "job", 1, NULL, &second, &error));
    mdist_store_destroy(second);
}

static void progress_names_the_missing(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_store_t *store = make_store("127.0.0.1:0");
    char text[128];
    uint32_t joined = 7;
    OK(mdist_store_progress(store, &joined, text, sizeof text, NULL, &error));
    assert_int_equal(joined, 0);
    assert_string_equal(text, "0 of 2 workers have joined; missing: 0, 1");
    OK(mdist_store_restart(store, 3, 2, &error));
    OK(mdist_store_progress(store, NULL, text, sizeof text, NULL, &error));
    assert_string_equal(text, "0 of 3 workers have joined; missing: 0, 1, 2");
    uint32_t worker = 7;
    OK(mdist_store_first_gone(store, &worker, &error));
    assert_int_equal(worker, MDIST_NONE);
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_store_first_gone(store, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_store_restart(store, 3, 2, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_store_restart(store, 0, 3, &error));
    mdist_store_destroy(store);
}

static void what_cannot_be_served_is_refused(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_store_t *store = NULL;
    char job[300];
    memset(job, 'j', sizeof job);
    job[sizeof job - 1] = '\0';
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_store_create(NULL, 2, "", 0, NULL, &store, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_store_create("127.0.0.1:0", 0, "", 0, NULL, &store, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_store_create("127.0.0.1:0", 2, job, 0, NULL, &store, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_store_create("127.0.0.1:0", 2, "", 0, NULL, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_store_create("127.0.0.1:0", 2, "", 0, "hunter2", &store, &error));
    FAILS(MDIST_ERR_CONFIG, mdist_store_create("127.0.0.1", 2, "", 0, NULL, &store, &error));
    FAILS(MDIST_ERR_CONFIG, mdist_store_create("::1:4400", 2, "", 0, NULL, &store, &error));
    mdist_store_create("[fe80::1]:4400", 2, "", 0, NULL, &store, &error);
    assert_int_equal(mdist_error_status(error), MDIST_ERR_CONFIG);
    assert_non_null(strstr(mdist_error_message(error), "[fe80::1%eth0]:4400"));
    mdist_error_free(error);
    error = NULL;
    FAILS(MDIST_ERR_CONFIG, mdist_store_create("127.0.0.1:65536", 2, "", 0, NULL, &store, &error));
    FAILS(MDIST_ERR_CONFIG, mdist_store_create("192.0.2.1:0", 2, "", 0, NULL, &store, &error));
    assert_null(store);
}

static void the_store_of_an_elastic_job_says_whether_the_job_is_over(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_config_t *config = NULL;
    OK(mdist_config_create(&config, &error));
    OK(mdist_config_set(config, "elastic.replicas", "2", &error));
    mdist_store_t *store = NULL;
    OK(mdist_store_create_elastic("127.0.0.1:0", config, "job", NULL, &store, &error));
    mdist_config_destroy(config);
    int32_t ended = 7, committed = 7;
    OK(mdist_store_ended(store, &ended, &committed, &error));
    assert_int_equal(ended, 0);
    assert_int_equal(committed, 0);
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_store_ended(store, NULL, &committed, &error));
    mdist_store_destroy(store);
    store = make_store("127.0.0.1:0");
    FAILS(MDIST_ERR_FAILED_PRECONDITION, mdist_store_ended(store, &ended, &committed, &error));
    mdist_store_destroy(store);
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_address_has_the_host_as_given_and_the_true_port),
        cmocka_unit_test(progress_names_the_missing),
        cmocka_unit_test(what_cannot_be_served_is_refused),
        cmocka_unit_test(the_store_of_an_elastic_job_says_whether_the_job_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
