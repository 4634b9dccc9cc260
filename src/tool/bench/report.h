// SPDX-License-Identifier: Apache-2.0
// Prints the rows to stdout, as a table for people or as JSON for programs.
#pragma once

#include "bench/bench.h"

namespace mdist {

void print_table(const Bench &bench);
void print_json(const Bench &bench);
/// Prints in one of the two forms.
inline void print_bench(const Bench &bench, bool json) {
    json ? print_json(bench) : print_table(bench);
}

/// "4 KiB", "100 MiB", "4 B"
std::string size_text(uint64_t bytes);

} // namespace mdist
