// SPDX-License-Identifier: Apache-2.0
// tests [workers|in_graph]: all tests of one worker, or those that each of two workers runs.
#include <string_view>

#include "check.hpp"

int main(int argc, char **argv) {
    const std::string_view which = argc > 1 ? argv[1] : "";
    if (which == "workers" || which == "in_graph") {
        which == "workers" ? check_workers() : check_in_graph();
        return checks_failed == 0 ? 0 : 1;
    }
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
    check_groups_and_calls();
    check_names_and_loops();
    return checks_failed == 0 ? 0 : 1;
}
