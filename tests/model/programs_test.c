// SPDX-License-Identifier: Apache-2.0
// Random programs against the model, with 1, 2 and 3 replicas in one process.
//
// A difference prints the seed, the program, and what is left of it without all operations that the difference does
// not need. MDIST_TEST_SEED repeats one seed.
//
// What it is good for was tried with 22 small faults of the library, one at a time; these were found, after so many
// programs: in structures and steps (positions with gaps 8, replica 0's part of a merge for all 9, a nested failure
// kept 2, a partial reduce_scatter 1), reductions (plain values gathered once 6, MEAN over axes by one replica's count
// 20, a tree that splits in the middle 2696, MEAN of rows not divided 141, fetch of a per-replica value 37, an output
// written on failure 15), and variables (ONLY_FIRST_REPLICA summed 1, update of copy 0 14, rows of MEAN not divided 41,
// MEAN read as SUM 43, MAX of rows with SUM 65, SUM divided by nobody 115, rows of ONLY_FIRST_REPLICA from all 114,
// integers divided downwards 403 to 1878).
#include "../support/mdist_test.h"
#include "compare.h"

#include <time.h>

static void programs_do_what_the_model_says(void **state) {
    (void)state;
    const char *const tier = getenv("MDIST_TEST_TIER"), *const given = getenv("MDIST_TEST_SEED");
    const uint64_t count = given != NULL ? 1 : tier != NULL && strcmp(tier, "long") == 0 ? 10000 : 200;
    const uint64_t first = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) * 100000;
    print_message("# seeds %llu to %llu; MDIST_TEST_SEED=... repeats one\n", (unsigned long long)first,
                  (unsigned long long)(first + count - 1));
    quiet_log();
    mdist_strategy_t *strategies[4] = {NULL};
    int differences = 0;
    for (uint32_t n = 1; n <= 3; ++n) strategies[n] = make_strategy(n, NULL);
    const time_t enough = time(NULL) + 300; // on a machine that does much else; fewer programs are no failure
    uint64_t seed = first;
    for (; seed < first + count && differences < 3 && time(NULL) < enough; ++seed)
        for (uint32_t n = 1; n <= 3; ++n) {
            if (given == NULL && seed % 3 + 1 != n) continue;
            if (!differs_and_print(strategies[n], make_program(seed, 1, n))) continue;
            ++differences;
            shrink_and_print(n, make_program(seed, 1, n));
            mdist_strategy_destroy(strategies[n]);
            strategies[n] = make_strategy(n, NULL);
        }
    for (uint32_t n = 1; n <= 3; ++n) mdist_strategy_destroy(strategies[n]);
    forget_tensors();
    print_message("# %llu programs\n", (unsigned long long)(seed - first));
    assert_int_equal(differences, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs_do_what_the_model_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
