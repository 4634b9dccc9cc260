// SPDX-License-Identifier: Apache-2.0
// Runs random programs on strategies of one process, in turn.
#pragma once

#include "../support/mdist_test.h"
#include "compare.h"

#include <time.h>

enum { MOST_STRATEGIES = 8 };

/// Runs the programs of consecutive seeds, each on one of the strategies. If MDIST_TEST_SEED is set, runs the program
/// of that seed on all of them.
MDIST_TEST_HELPER void programs_on(const char *const *devices, const uint32_t *replicas, uint32_t strategy_count,
                                   uint64_t quick, uint64_t thorough) {
    const char *const tier = getenv("MDIST_TEST_TIER"), *const given = getenv("MDIST_TEST_SEED");
    const uint64_t count = given != NULL ? 1 : tier != NULL && strcmp(tier, "long") == 0 ? thorough : quick;
    const uint64_t first = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) * 100000;
    print_message("# seeds %llu to %llu; MDIST_TEST_SEED=... repeats one\n", (unsigned long long)first,
                  (unsigned long long)(first + count - 1));
    quiet_log();
    mdist_strategy_t *strategies[MOST_STRATEGIES] = {NULL};
    int differences = 0;
    for (uint32_t n = 0; n < strategy_count; ++n) assert_non_null(strategies[n] = strategy_on(devices[n]));
    // The limit is for a busy machine, and for a fake GPU, whose threads take turns. Fewer programs are no failure.
    const time_t enough = time(NULL) + (getenv("MDIST_CUDA_MODULE") != NULL ? 100 : 300);
    uint64_t seed = first;
    for (; seed < first + count && differences < 3 && time(NULL) < enough; ++seed)
        for (uint32_t n = 0; n < strategy_count; ++n) {
            if (given == NULL && seed % strategy_count != n) continue;
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
    print_message("# %llu programs\n", (unsigned long long)(seed - first));
    assert_int_equal(differences, 0);
}
