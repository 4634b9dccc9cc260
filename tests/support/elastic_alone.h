// SPDX-License-Identifier: Apache-2.0
// An elastic job of one worker with three replicas, whose store is in this process. Its worker can regroup at any time.
#pragma once

#include "stores.h"

/// Sets the variables that such a worker reads, but for the store. Call it once, first.
MDIST_TEST_HELPER void be_the_only_worker(const char *job) {
    setenv("MDIST_ELASTIC_REPLICAS", "3", 1);
    setenv("MDIST_BOOTSTRAP", "env", 1);
    setenv("MDIST_STORE_OWNER", "launcher", 1);
    setenv("MDIST_JOB_ID", job, 1);
    setenv("MDIST_RANK", "0", 1);
    setenv("MDIST_SIZE", "2", 1); // one worker alone needs no store
    setenv("MDIST_WORKER_ID", "1", 1);
    setenv("MDIST_ELASTIC_MAX_WORKERS", "1", 1);
}

/// Starts the store of the job, and makes the strategy.
MDIST_TEST_HELPER void begin_alone(mdist_store_t **store, mdist_strategy_t **strategy) {
    mdist_error_t *error = NULL;
    char address[64];
    *store = begin_elastic_store(getenv("MDIST_JOB_ID"), address, sizeof address);
    setenv("MDIST_STORE", address, 1);
    OK(mdist_strategy_create(NULL, strategy, &error));
}
