// SPDX-License-Identifier: Apache-2.0
// Runs random programs on strategies of one process, in turn.
#pragma once

#include "../support/mdist_test.h"
#include "compare.h"

enum { MOST_STRATEGIES = 8 };

/// Runs the programs of consecutive seeds, each on one of the strategies. If it is one seed only, runs its program on
/// all of them.
MDIST_TEST_HELPER void programs_on(const char *const *devices, const uint32_t *replicas, uint32_t strategy_count,
                                   uint32_t quick, uint32_t thorough) {
    const uint64_t first = test_seed(1), count = seed_count(quick, thorough);
    quiet_log();
    mdist_strategy_t *strategies[MOST_STRATEGIES] = {NULL};
    int differences = 0;
    for (uint32_t n = 0; n < strategy_count; ++n) assert_non_null(strategies[n] = strategy_on(devices[n]));
    for (uint64_t seed = first; seed < first + count && differences < 3; ++seed)
        for (uint32_t n = 0; n < strategy_count; ++n) {
            if (count != 1 && seed % strategy_count != n) continue;
            Layout layout = layout_of(1, &replicas[n]);
            layout.has_nccl = strncmp(devices[n], "gpu", 3) == 0 && strchr(devices[n], '*') == NULL && replicas[n] > 1;
            if (!differs_and_print(strategies[n], make_program(seed, &layout))) continue;
            ++differences;
            print_message("# on %s\n", devices[n]);
            shrink_and_print(devices[n], make_program(seed, &layout));
            mdist_strategy_destroy(strategies[n]);
            assert_non_null(strategies[n] = strategy_on(devices[n]));
        }
    for (uint32_t n = 0; n < strategy_count; ++n) mdist_strategy_destroy(strategies[n]);
    forget_tensors();
    assert_int_equal(differences, 0);
}
