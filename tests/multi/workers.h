// SPDX-License-Identifier: Apache-2.0
// Workers for tests: child processes that run a function and report one line of text each. The test's own process
// starts no thread of the library unless a test says so, and never waits for a child without a limit.
#pragma once

#include "comm/membership/membership.h"
#include "util/text.h"

#include <mdist/status.h>

#include <functional>
#include <string>
#include <vector>

namespace mdist::test {

inline constexpr uint64_t kSecond = 1'000'000'000;

/// What a worker says goes to its parent; see WorkerTeam::reports.
using Say = std::function<void(const std::string &)>;
using Work = std::function<void(uint32_t rank, const Say &say)>;

/// Processes that end with the test, whatever becomes of it.
class WorkerTeam {
  public:
    WorkerTeam() = default;
    WorkerTeam(const WorkerTeam &) = delete;
    WorkerTeam &operator=(const WorkerTeam &) = delete;
    /// Kills who is left.
    ~WorkerTeam();

    /// A child that runs `work(rank, say)`, what it throws being said too: "PEER_LOST left worker 1: sentence".
    void start(uint32_t rank, const Work &work);
    void signal(uint32_t rank, int number) const;
    /// Waits until that worker has said something that it had not said when last asked; "" if it ended or after 60 s.
    std::string next_line(uint32_t rank);
    /// Waits for the end of a worker, 60 s at most; whether it ended by itself with status 0.
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

/// An address on this host that no other test process uses: 127.x.y.z by its id.
std::string own_host();
/// Options with short limits, for `size` workers that meet at `store`.
MembershipOptions options_for(uint32_t rank, uint32_t size, const std::string &store);
/// "PEER_LOST left worker 1: sentence"
std::string told(const Failure &failure);
/// The long tier's count, or the quick one's.
uint32_t tiered(uint32_t quick, uint32_t slow);

} // namespace mdist::test
