// SPDX-License-Identifier: Apache-2.0
// World: a strategy with some CPU replicas, and the clock around what its replica threads do.
//
// measure() lines all threads up before each sample; the time is from the last to start until the last to end. Threads
// that have no part in a side sleep meanwhile. Main thread.
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

    /// Keeps the first failure for the end of the run: leaving the run at once would leave other threads waiting.
    void note(mdist_status_t status, mdist_error_t *const &error) const;
};

/// One of the things compared: `run` does `batch` operations, on the first `parties` replicas' threads at once.
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
    /// CPU replicas of this process alone.
    World(uint32_t replicas, uint32_t cpus);
    /// A worker of a job: every worker has to measure the same.
    World(StrategyHandle strategy, uint32_t cpus);

    uint32_t replicas() const { return replicas_; }
    uint32_t cpus() const { return cpus_; }
    mdist_strategy_t *strategy() const { return strategy_.get(); }

    /// All sides in turn, `rounds` times, inside of one mdist_run. Throws std::runtime_error if the library failed.
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
