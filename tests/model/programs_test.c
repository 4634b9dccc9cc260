// SPDX-License-Identifier: Apache-2.0
// Compares random programs with the model, with 1, 2 and 3 replicas in one process.
//
// On a difference it prints the seed, the program, and the program without the operations that the difference does not
// need. MDIST_TEST_SEED repeats one seed.
//
// To measure what the test finds, 22 small faults were put into the library, one at a time. It found these, each after
// the given number of programs:
// - structures and steps: positions with gaps (8), replica 0's part of a merge for all (9), a nested failure kept (2),
//   a partial reduce_scatter (1);
// - reductions: plain values gathered once (6), MEAN over axes by one replica's count (20), a tree that splits in the
//   middle (2696), MEAN of rows not divided (141), fetch of a per-replica value (37), an output written on failure
//   (15);
// - variables: ONLY_FIRST_REPLICA summed (1), update of copy 0 (14), rows of MEAN not divided (41), MEAN read as SUM
//   (43), MAX of rows with SUM (65), SUM not divided (115), rows of ONLY_FIRST_REPLICA from all (114), integers
//   divided downwards (403 to 1878).
#include "random_programs.h"

static void programs_do_what_the_model_says(void **state) {
    (void)state;
    static const char *const devices[] = {"cpu*1", "cpu*2", "cpu*3"};
    static const uint32_t replicas[] = {1, 2, 3};
    programs_on(devices, replicas, 3, 200, 10000);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs_do_what_the_model_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
