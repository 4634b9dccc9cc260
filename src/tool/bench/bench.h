// SPDX-License-Identifier: Apache-2.0
// Bench: `mdist bench`. It compares every figure of the library with a floor: a minimal program that does the same work
// and nothing else. Both are measured in the same run, in turns (floor, library, floor, library ...), on the same
// memory. Main thread.
#pragma once

#include "bench/arena.h"
#include "bench/row.h"
#include "bench/world.h"
#include "machine.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mdist {

struct BenchOptions {
    bool quick = false;
    std::string filter;
};

/// Shared by all cases: the machine, memory, strategies, and the rows of results.
class Bench {
  public:
    explicit Bench(const BenchOptions &options);

    bool quick() const { return options_.quick; }
    const std::string &filter() const { return options_.filter; }
    const Machine &machine() const { return machine_; }
    const std::vector<Row> &rows() const { return rows_; }
    Arena &arena();
    /// Returns the strategy with this many CPU replicas. It is kept from case to case.
    World &world(uint32_t replicas);
    bool wanted(const std::string &name) const { return name.find(options_.filter) != std::string::npos; }
    void add(Row row) { rows_.push_back(std::move(row)); }

    /// Time to spend on one comparison.
    double budget_ns() const { return quick() ? 20e6 : 1e9; }
    /// How many rounds of `round_ns` each to run.
    unsigned rounds_for(double round_ns) const;
    /// How many operations of `operation_ns` each make a sample long enough that the clock's own cost is negligible.
    static unsigned batch_for(double operation_ns);

    /// Measures `library` against the best of `floors`, which a short trial finds. Fills in a row except for its goal.
    Row compare(World &world, Side library, std::vector<Side> floors);

  private:
    BenchOptions options_;
    Machine machine_;
    std::unique_ptr<Arena> arena_;
    std::map<uint32_t, std::unique_ptr<World>> worlds_;
    std::vector<Row> rows_;
};

void bench_all_reduce(Bench &bench);
void bench_run(Bench &bench);
void bench_sweep(Bench &bench);
void bench_exchange(Bench &bench);

/// Prints the rows and returns the exit status: 1 if there are none.
int conclude_bench(const Bench &bench, bool json);

/// Prints to stdout and returns the exit status. A missed goal is not a failure.
int run_bench(const BenchOptions &options, bool json);

} // namespace mdist
