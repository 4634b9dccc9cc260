// SPDX-License-Identifier: Apache-2.0
// Stores, as launchers make them at a free port of this host, and what they say of themselves.
#pragma once

#include "mdist_test.h"

/// Makes the store of an elastic job. Without a config, the environment describes the job.
MDIST_TEST_HELPER mdist_status_t create_elastic_store(const mdist_config_t *config, const char *job,
                                                      mdist_store_t **store, mdist_error_t **out_error) {
    mdist_error_t *error = NULL;
    mdist_config_t *environment = NULL;
    OK(mdist_config_create(&environment, &error));
    OK(mdist_config_load_environment(environment, &error));
    const mdist_store_options_t options = {
        .struct_size = sizeof options, .job = job, .config = config != NULL ? config : environment};
    const mdist_status_t status = mdist_store_create("127.0.0.1:0", store, &options, out_error);
    mdist_config_destroy(environment);
    return status;
}

MDIST_TEST_HELPER mdist_store_info_t describe_store(const mdist_store_t *store) {
    mdist_error_t *error = NULL;
    mdist_store_info_t info = {.struct_size = sizeof info};
    OK(mdist_store_describe(store, &info, &error));
    return info;
}

/// Makes the store of the elastic job that the environment describes, and writes its address.
MDIST_TEST_HELPER mdist_store_t *begin_elastic_store(const char *job, char *address, size_t capacity) {
    mdist_error_t *error = NULL;
    mdist_store_t *store = NULL;
    OK(create_elastic_store(NULL, job, &store, &error));
    assert_true(snprintf(address, capacity, "%s", describe_store(store).address) < (int)capacity);
    return store;
}
