// SPDX-License-Identifier: Apache-2.0
// The store for launchers: addresses, progress, restarts and refusals. tests/multi joins real workers through it.
#include "stores.h"

static mdist_status_t create(const char *address, uint32_t worker_count, const char *job, const char *secret,
                             mdist_store_t **out, mdist_error_t **error) {
    const mdist_store_options_t options = {
        .struct_size = sizeof options, .worker_count = worker_count, .restart = 1, .job = job, .secret = secret};
    return mdist_store_create(address, out, &options, error);
}

static mdist_store_t *make_store(const char *address) {
    mdist_error_t *error = NULL;
    mdist_store_t *store = NULL;
    OK(create(address, 2, "job", NULL, &store, &error));
    return store;
}

static void the_address_has_the_host_as_given_and_the_true_port(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_store_t *store = make_store("localhost:0"), *second = NULL;
    const mdist_store_info_t info = describe_store(store);
    assert_int_equal(strncmp(info.address, "localhost:", 10), 0);
    assert_in_range(atoi(info.address + 10), 1, 65535);

    create(info.address, 2, "job", NULL, &second, &error);
    assert_int_equal(mdist_error_status(error), MDIST_ERR_RESOURCE);
    assert_string_equal(mdist_error_reason(error), "address_in_use");
    mdist_error_free(error);
    error = NULL;
    mdist_store_destroy(store);
    OK(create(info.address, 2, "job", NULL, &second, &error));
    mdist_store_destroy(second);
}

static void a_description_names_the_missing(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_store_t *store = make_store("127.0.0.1:0");
    mdist_store_info_t info = describe_store(store);
    assert_int_equal(info.joined, 0);
    assert_string_equal(info.progress, "0 of 2 workers have joined; missing: 0, 1");
    OK(mdist_store_restart(store, 3, 2, &error));
    info = describe_store(store);
    assert_string_equal(info.progress, "0 of 3 workers have joined; missing: 0, 1, 2");
    assert_int_equal(info.first_gone, MDIST_NONE);
    assert_true(info.ended == 0 && info.committed == 0);
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_store_describe(store, NULL, &error));
    info.struct_size = 4;
    FAILS(MDIST_ERR_INVALID_ARGUMENT, mdist_store_describe(store, &info, &error));
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
    FAILS(MDIST_ERR_INVALID_ARGUMENT, create(NULL, 2, "", NULL, &store, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, create("127.0.0.1:0", 65537, "", NULL, &store, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, create("127.0.0.1:0", 2, job, NULL, &store, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, create("127.0.0.1:0", 2, "", NULL, NULL, &error));
    FAILS(MDIST_ERR_INVALID_ARGUMENT, create("127.0.0.1:0", 2, "", "hunter2", &store, &error));
    FAILS(MDIST_ERR_CONFIG, create("127.0.0.1", 2, "", NULL, &store, &error));
    FAILS(MDIST_ERR_CONFIG, create("::1:4400", 2, "", NULL, &store, &error));
    create("[fe80::1]:4400", 2, "", NULL, &store, &error);
    assert_int_equal(mdist_error_status(error), MDIST_ERR_CONFIG);
    assert_non_null(strstr(mdist_error_message(error), "[fe80::1%eth0]:4400"));
    mdist_error_free(error);
    error = NULL;
    FAILS(MDIST_ERR_CONFIG, create("127.0.0.1:65536", 2, "", NULL, &store, &error));
    FAILS(MDIST_ERR_CONFIG, create("192.0.2.1:0", 2, "", NULL, &store, &error));
    assert_null(store);
}

static void expect_refused(const mdist_store_options_t *options, const char *words) {
    mdist_error_t *error = NULL;
    mdist_store_t *store = NULL;
    assert_int_equal(mdist_store_create("127.0.0.1:0", &store, options, &error), MDIST_ERR_INVALID_ARGUMENT);
    WORDS(error, words);
    mdist_error_free(error);
    assert_null(store);
}

static void a_job_has_a_fixed_size_or_is_elastic(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_config_t *config = NULL;
    OK(mdist_config_create(&config, &error));
    OK(mdist_config_set(config, "elastic.replicas", "2", &error));
    mdist_store_options_t options = {.struct_size = sizeof options};
    expect_refused(NULL, "worker_count is 0 and config is NULL");
    expect_refused(&options, "worker_count is 0 and config is NULL");
    options.config = config;
    options.worker_count = 4;
    expect_refused(&options, "worker_count is 4 and config is not NULL");
    options.worker_count = 0;
    options.restart = 3;
    expect_refused(&options, "restart is 3 and config is not NULL");
    options.restart = 0;
    options.reserved = 1;
    expect_refused(&options, "reserved");
    mdist_config_destroy(config);
    options.reserved = 0;
    mdist_store_t *store = NULL;
    FAILS(MDIST_ERR_BAD_HANDLE, mdist_store_create("127.0.0.1:0", &store, &options, &error));
    assert_null(store);
}

static void the_store_of_an_elastic_job_says_whether_the_job_is_over(void **state) {
    (void)state;
    mdist_error_t *error = NULL;
    mdist_config_t *config = NULL;
    OK(mdist_config_create(&config, &error));
    OK(mdist_config_set(config, "elastic.replicas", "2", &error));
    mdist_store_t *store = NULL;
    OK(create_elastic_store(config, "job", &store, &error));
    mdist_config_destroy(config);
    const mdist_store_info_t info = describe_store(store);
    assert_true(info.ended == 0 && info.committed == 0 && info.first_gone == MDIST_NONE);
    assert_string_equal(info.progress, "0 of 2 workers are connected; the job has not begun");
    FAILS(MDIST_ERR_FAILED_PRECONDITION, mdist_store_restart(store, 2, 1, &error));
    mdist_store_destroy(store);
}

int main(void) {
    quiet_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_address_has_the_host_as_given_and_the_true_port),
        cmocka_unit_test(a_description_names_the_missing),
        cmocka_unit_test(what_cannot_be_served_is_refused),
        cmocka_unit_test(a_job_has_a_fixed_size_or_is_elastic),
        cmocka_unit_test(the_store_of_an_elastic_job_says_whether_the_job_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
