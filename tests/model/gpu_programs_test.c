// SPDX-License-Identifier: Apache-2.0
// Compares random programs with the model, on logical devices of one GPU and on two GPUs. Operands lie on the host or
// on the GPUs, by chance. The GPUs are fake ones. The host cannot touch their memory, and their streams run late.
#include "random_programs.h"

static void programs_on_gpus_do_what_the_model_says(void **state) {
    (void)state;
    static const char *const devices[] = {"gpu:0", "gpu:0*2", "gpu:0*3", "gpu:0,gpu:1", "gpu:0*2,gpu:1"};
    static const uint32_t replicas[] = {1, 2, 3, 2, 3};
    programs_on(devices, replicas, 5, 150, 2000); // 0.05 s of the processor for each
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs_on_gpus_do_what_the_model_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
