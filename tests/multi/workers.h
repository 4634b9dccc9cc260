// SPDX-License-Identifier: Apache-2.0
// Workers for tests: child processes that run a function and report lines of text. The test's own process starts no
// thread of the library unless a test says so. It never waits for a child without a limit.
#pragma once

#include "membership/membership.h"
#include "random.h"
#include "util/text.h"

#include <mdist/status.h>

#include <functional>
#include <string>
#include <vector>

namespace mdist::test {

inline constexpr uint64_t kSecond = 1'000'000'000;
/// For limits that must not run out, even on the busiest machine.
inline constexpr uint64_t kLongEnough = 90 * kSecond;
inline constexpr uint64_t kMillisecond = 1'000'000;
/// For a limit that is to run out while everything else gets done in time (support/time_limits.h).
inline constexpr uint64_t kFirstLimitMs = 2000;

/// Sends a line from a worker to its parent; see WorkerTeam::next_line.
using Say = std::function<void(const std::string &)>;
using Work = std::function<void(uint32_t rank, const Say &say)>;

/// A team of processes that end with the test, however it ends.
class WorkerTeam {
  public:
    WorkerTeam() = default;
    WorkerTeam(const WorkerTeam &) = delete;
    WorkerTeam &operator=(const WorkerTeam &) = delete;
    /// Kills the processes that are left.
    ~WorkerTeam();

    /// Starts a child that runs `work(rank, say)`. A failure that it throws is said, too: "PEER_LOST left worker 1:
    /// sentence".
    void start(uint32_t rank, const Work &work);
    void signal(uint32_t rank, int number) const;
    /// Waits for the next line that this worker says. Returns "" if it has ended, or says nothing for long.
    std::string next_line(uint32_t rank);
    /// Waits for the end of a worker, but not forever. Returns whether it ended by itself with status 0.
    bool join(uint32_t rank);

  private:
    struct Child {
        uint32_t rank;
        int pid;
        int pipe;
        std::string unread;
        bool joined = false;
    };
    Child *child(uint32_t rank);
    std::vector<Child> children_;
};

/// Returns an address on this host that no other test process uses: 127.x.y.z, made from the process id.
std::string own_host();
/// Makes options with short limits, for `size` workers that meet at `store`.
MembershipOptions options_for(uint32_t rank, uint32_t size, const std::string &store);
/// "PEER_LOST left worker 1: sentence"
std::string told(const Failure &failure);

} // namespace mdist::test
