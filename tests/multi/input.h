// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of input: deals datasets out, and checks what each worker gets.
#pragma once

#include "multi.h"

#include "dealt.h"

/// What each worker is to get, by rank, and the rows of all replicas in each step.
typedef struct Expected {
    const char *of_worker[3];
    const char *rows;
} Expected;

static inline void require_dealt(mdist_strategy_t *strategy, mdist_dataset_t *distributed, const Expected *expected) {
    for (int iteration = 0; iteration < 2; ++iteration) {
        const Dealt got = dealt_by(strategy, distributed);
        const int well = got.status == MDIST_END && strcmp(got.text, expected->of_worker[rank]) == 0 &&
                         strcmp(got.rows, expected->rows) == 0;
        if (!well)
            fprintf(stderr, "worker %u: %s %s\n got    %s, rows %s\n wanted %s, rows %s\n", rank,
                    mdist_status_name(got.status), got.why, got.text, got.rows, expected->of_worker[rank],
                    expected->rows);
        REQUIRE(well);
    }
    mdist_dataset_destroy(distributed);
}

static inline mdist_dataset_t *dealt_out(mdist_strategy_t *strategy, mdist_dataset_t *source,
                                         const mdist_input_options_t *options) {
    mdist_dataset_t *distributed = NULL;
    GIVES(MDIST_OK, mdist_distribute_dataset(strategy, source, &distributed, options, &error));
    mdist_dataset_destroy(source);
    return distributed;
}
