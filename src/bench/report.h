// SPDX-License-Identifier: Apache-2.0
// The same rows for people and for programs, on stdout.
#pragma once

#include "bench/bench.h"

namespace mdist {

void print_table(const Bench &bench);
void print_json(const Bench &bench);
/// One of them.
inline void print_bench(const Bench &bench, bool json) {
    json ? print_json(bench) : print_table(bench);
}

/// "4 KiB", "100 MiB", "4 B"
std::string size_text(uint64_t bytes);

} // namespace mdist
