// SPDX-License-Identifier: Apache-2.0
// Measures the cost of mdist_run itself: an empty step, back to back and after a pause.
#include "bench/barrier.h"
#include "bench/bench.h"
#include "bench/fork_join.h"

#include <time.h>

namespace mdist {
namespace {

constexpr double kBackToBackGoalNs = 1000; // above the floor
constexpr double kPauseGoal = 1.2;
constexpr double kOneReplicaGoalNs = 300;
constexpr double kPauseNs = 1e6;

int32_t empty_step(mdist_replica_t *, void *) {
    return 0;
}

void run_steps(World &world, unsigned batch) {
    for (unsigned i = 0; i < batch; ++i) {
        mdist_error_t *error = nullptr;
        const mdist_status_t status = mdist_run(world.strategy(), empty_step, nullptr, NULL, &error);
        require_ok(status, error);
    }
}

/// Keeps the calling thread computing.
void work_for(double ns) {
    const double end = now_ns() + ns;
    while (now_ns() < end) relax();
}

/// Lets the calling thread sleep; both cores may sleep, too.
void sleep_for(double ns) {
    const timespec time = {0, static_cast<long>(ns)};
    nanosleep(&time, nullptr);
}

template <class Operation>
double timed(unsigned batch, Operation &&operation) {
    const double start = now_ns();
    operation(batch);
    return (now_ns() - start) / batch;
}

void one_replica(Bench &bench) {
    Row row;
    row.name = "run 1, back to back";
    if (!bench.wanted(row.name)) return;
    World &world = bench.world(1);
    const auto runs = [&](unsigned batch) { run_steps(world, batch); };
    const unsigned batch = Bench::batch_for(timed(100, runs));
    std::vector<double> samples;
    for (unsigned i = 0; i < bench.rounds_for(100e3); ++i) samples.push_back(timed(batch, runs));
    row.replicas = 1;
    row.set_times(samples, {});
    row.set_goal(Measure::kTime, kOneReplicaGoalNs);
    bench.add(std::move(row));
}

void back_to_back(Bench &bench, uint32_t replicas) {
    Row row;
    row.name = "run " + std::to_string(replicas) + ", back to back";
    if (!bench.wanted(row.name)) return;
    World &world = bench.world(replicas);
    const bool compared = replicas == 2;
    ForkJoin floor;
    const auto forks = [&](unsigned batch) { floor.run(batch); };
    const auto runs = [&](unsigned batch) { run_steps(world, batch); };
    std::vector<double> library;
    std::vector<double> bare;
    run_steps(world, 10);
    const unsigned batch = Bench::batch_for(timed(100, runs));
    for (unsigned i = 0; i < bench.rounds_for(400e3); ++i) {
        if (compared) {
            work_for(200e3); // the library's threads fall asleep
            floor.wait_by(ForkJoin::Wait::kSpin);
            floor.run(100);
            bare.push_back(timed(500, forks));
            floor.wait_by(ForkJoin::Wait::kFutex);
        }
        run_steps(world, 3);
        library.push_back(timed(batch, runs));
    }
    row.replicas = replicas;
    if (compared) row.floor = "fork and join of 2 spinning threads";
    row.set_times(library, bare);
    if (compared) row.set_goal(Measure::kDifference, kBackToBackGoalNs);
    bench.add(std::move(row));
}

void after_pause(Bench &bench, const char *what, void (*pause)(double)) {
    Row row;
    row.name = std::string("run 2, after 1 ms ") + what;
    if (!bench.wanted(row.name)) return;
    World &world = bench.world(2);
    ForkJoin floor;
    std::vector<double> library;
    std::vector<double> bare;
    for (unsigned i = 0; i < bench.rounds_for(2.5 * kPauseNs); ++i) {
        pause(kPauseNs);
        bare.push_back(timed(1, [&](unsigned batch) { floor.run(batch); }));
        pause(kPauseNs);
        library.push_back(timed(1, [&](unsigned batch) { run_steps(world, batch); }));
    }
    row.replicas = 2;
    row.floor = "futex wake of a sleeping thread, and its answer";
    row.set_times(library, bare);
    row.set_goal(Measure::kRatio, kPauseGoal);
    bench.add(std::move(row));
}

} // namespace

void bench_run(Bench &bench) {
    one_replica(bench);
    for (const uint32_t replicas : {2u, 4u, 8u}) back_to_back(bench, replicas);
    after_pause(bench, "of work", work_for);
    after_pause(bench, "of sleep", sleep_for);
}

} // namespace mdist
