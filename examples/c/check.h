// SPDX-License-Identifier: Apache-2.0
// Check: the shortest error handling for a short program. It prints what went wrong and ends the program. Use it in
// main, on the main thread. Steps return non-zero instead; the run then reports why.
#pragma once

#include <mdist/mdist.h>
#include <stdio.h>
#include <stdlib.h>

static mdist_error_t *problem; // where the library stores the error: must(mdist_something(..., &problem))

static inline void must(mdist_status_t status) {
    if (status == MDIST_OK) return;
    fprintf(stderr, "%s: %s\n", mdist_status_name(status), mdist_error_message(problem));
    mdist_error_free(problem);
    exit(1);
}

// A strategy on devices such as "cpu*2", with the workers that a launcher has started, or alone.
static inline mdist_strategy_t *strategy_on(const char *devices) {
    mdist_config_t *config = NULL;
    mdist_strategy_t *strategy = NULL;
    must(mdist_config_create(&config, &problem));
    must(mdist_config_load_environment(config, &problem));
    must(mdist_config_set(config, "devices", devices, &problem));
    must(mdist_strategy_create(config, &strategy, &problem));
    mdist_config_destroy(config);
    return strategy;
}
