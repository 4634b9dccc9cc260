// SPDX-License-Identifier: Apache-2.0
// World: a strategy with some CPU replicas, and a clock around the work of its replica threads.
//
// measure() lines all threads up before each sample. The time runs from the last thread's start to the last thread's
// end. Threads without a part in a side sleep meanwhile. Main thread.
#pragma once

#include "handles.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace mdist {

inline double now_ns() {
    return static_cast<double>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
}

class World;

/// A replica's thread inside a run.
struct Seat {
    World &world;
    uint32_t index;
    mdist_replica_t *replica;

    /// Keeps the first failure until the end of the run. If a thread left the run at once, others would wait for it.
    void note(mdist_status_t status, mdist_error_t *const &error) const;
};

/// One side of a comparison. `run` does `batch` operations on the threads of the first `parties` replicas at once.
struct Side {
    std::string name;
    uint32_t parties = 0; // 0: all
    std::function<void(const Seat &, unsigned batch)> run;
    unsigned batch = 1;
};

/// ns per operation, by side and round.
using Samples = std::vector<std::vector<double>>;

class World {
  public:
    /// Creates CPU replicas of this process alone.
    World(uint32_t replicas, uint32_t cpus);
    /// Uses a worker of a job. Every worker must measure the same sides.
    World(StrategyHandle strategy, uint32_t cpus);

    uint32_t replicas() const { return replicas_; }
    uint32_t cpus() const { return cpus_; }
    mdist_strategy_t *strategy() const { return strategy_.get(); }

    /// Runs all sides in turn, `rounds` times, inside one mdist_run. Throws std::runtime_error if the library failed.
    Samples measure(const std::vector<Side> &sides, unsigned rounds);

    void note(const std::string &failure);

  private:
    const uint32_t replicas_;
    const uint32_t cpus_;
    StrategyHandle strategy_;
    std::mutex lock_;
    std::string failure_;
};

} // namespace mdist
