// SPDX-License-Identifier: Apache-2.0
// tests [workers|in_graph|failing_blob|elastic]: all tests of one worker, or what each worker of a job runs.
#include <string_view>

#include "check.hpp"

int main(int argc, char **argv) {
    const std::string_view which = argc > 1 ? argv[1] : "";
    if (which == "workers") check_workers();
    if (which == "in_graph") check_in_graph();
    if (which == "failing_blob") check_failing_blob();
    if (which == "elastic") elastic_training();
    if (!which.empty()) return checks_failed == 0 ? 0 : 1;
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
    check_elastic_mistakes();
    return checks_failed == 0 ? 0 : 1;
}
