// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"

#include "bench/costs.h"
#include "bench/report.h"

#include <algorithm>
#include <iostream>

namespace mdist {
namespace {

constexpr std::size_t kMib = 1 << 20;
constexpr uint32_t kMostReplicas = 8;

/// Returns the best of a few rounds of each side, at its current batch size.
std::vector<double> trial(World &world, const std::vector<Side> &sides) {
    constexpr unsigned kRounds = 4;
    std::vector<double> best;
    for (const std::vector<double> &samples : world.measure(sides, kRounds))
        best.push_back(*std::min_element(samples.begin() + 1, samples.end())); // caches are cold in round 0
    return best;
}

} // namespace

Bench::Bench(const BenchOptions &options) : options_(options), machine_(this_machine()) {}

Arena &Bench::arena() {
    if (!arena_) arena_ = std::make_unique<Arena>(kMostReplicas, quick() ? 8 * kMib : 100 * kMib);
    return *arena_;
}

World &Bench::world(uint32_t replicas) {
    std::unique_ptr<World> &world = worlds_[replicas];
    if (!world) world = std::make_unique<World>(replicas, machine_.usable_cpus);
    return *world;
}

unsigned Bench::rounds_for(double round_ns) const {
    const double most = quick() ? 9 : 501;
    return static_cast<unsigned>(std::clamp(budget_ns() / std::max(round_ns, 1.0), quick() ? 3.0 : 15.0, most));
}

unsigned Bench::batch_for(double operation_ns) {
    constexpr double kSampleNs = 100e3;
    return static_cast<unsigned>(std::clamp(kSampleNs / std::max(operation_ns, 1.0), 1.0, 1000.0));
}

Row Bench::compare(World &world, Side library, std::vector<Side> floors) {
    std::vector<Side> sides = std::move(floors);
    sides.push_back(std::move(library));
    std::vector<double> ns;
    // Runs twice, because a single short operation says little about many in a row. From 100 us up, one is enough.
    for (int times = 0; times < 2; ++times) {
        ns = trial(world, sides);
        for (std::size_t i = 0; i < sides.size(); ++i) sides[i].batch = batch_for(ns[i]);
        if (sides.back().batch == 1) break;
    }
    const auto best = static_cast<std::size_t>(std::min_element(ns.begin(), ns.end() - 1) - ns.begin());
    const Side &floor = sides[best];
    const unsigned rounds = rounds_for(1.25 * (ns[best] * floor.batch + ns.back() * sides.back().batch));
    // Measures in slices. If the machine gets busy after the trial, the deadline can still end this.
    const double deadline = now_ns() + 2 * budget_ns();
    Samples samples(2);
    while (samples[0].size() < rounds && (samples[0].empty() || now_ns() < deadline)) {
        const Samples slice = world.measure({floor, sides.back()}, std::max(rounds / 8, 1u));
        for (std::size_t i = 0; i < 2; ++i) samples[i].insert(samples[i].end(), slice[i].begin(), slice[i].end());
    }
    Row row;
    row.replicas = world.replicas();
    row.floor = floor.name;
    row.set_times(samples[1], samples[0]);
    return row;
}

int conclude_bench(const Bench &bench, bool json) {
    if (bench.rows().empty()) {
        std::cerr << "mdist: no case has a name that contains \"" << bench.filter() << "\"\n";
        return 1;
    }
    print_bench(bench, json);
    return 0;
}

int run_bench(const BenchOptions &options, bool json) {
    Bench bench(options);
    bench_all_reduce(bench);
    bench_run(bench);
    bench_sweep(bench);
    bench_exchange(bench);
    bench_costs(bench);
    return conclude_bench(bench, json);
}

} // namespace mdist
