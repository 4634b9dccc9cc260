// SPDX-License-Identifier: Apache-2.0
#include "check.hpp"

int main() {
    check_types();
    check_failures();
    check_replicas();
    check_threads();
    check_input();
    check_lifetimes();
    check_structures();
    check_checkpoints();
    check_gradients();
    check_datasets();
    return checks_failed == 0 ? 0 : 1;
}
