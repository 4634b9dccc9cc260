// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"

#include "bench/report.h"

#include <algorithm>
#include <iostream>
#include <limits>

namespace mdist {
namespace {

constexpr std::size_t kMib = 1 << 20;
constexpr uint32_t kMostReplicas = 8;

/// Index of the floor that is fastest in a few rounds; its time and the library's in `floor_ns` and `library_ns`.
std::size_t best_floor(World &world, const Side &library, const std::vector<Side> &floors, double &floor_ns,
                       double &library_ns) {
    constexpr unsigned kRounds = 4;
    std::vector<Side> sides = floors;
    sides.push_back(library);
    const Samples trial = world.measure(sides, kRounds);
    std::size_t best = 0;
    floor_ns = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < floors.size(); ++i) {
        // Round 0 finds caches cold.
        const double ns = *std::min_element(trial[i].begin() + 1, trial[i].end());
        if (ns >= floor_ns) continue;
        floor_ns = ns;
        best = i;
    }
    library_ns = *std::min_element(trial.back().begin() + 1, trial.back().end());
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
    double floor_ns = 0;
    double library_ns = 0;
    Side floor = floors[best_floor(world, library, floors, floor_ns, library_ns)];
    floor.batch = batch_for(floor_ns);
    library.batch = batch_for(library_ns);
    const unsigned rounds = rounds_for(floor_ns * floor.batch + library_ns * library.batch);
    const Samples samples = world.measure({floor, library}, rounds);
    Row row;
    row.replicas = world.replicas();
    row.floor = floor.name;
    row.set_times(samples[1], samples[0]);
    return row;
}

int run_bench(const BenchOptions &options, bool json) {
    Bench bench(options);
    bench_all_reduce(bench);
    bench_run(bench);
    bench_sweep(bench);
    bench_exchange(bench);
    if (bench.rows().empty()) {
        std::cerr << "mdist: no case has a name with \"" << options.filter << "\" in it\n";
        return 1;
    }
    if (json) {
        print_json(bench);
    } else {
        print_table(bench);
    }
    return 0;
}

} // namespace mdist
