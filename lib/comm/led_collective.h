// SPDX-License-Identifier: Apache-2.0
// LedCollective: one party's part in a collective of several workers, or of GPUs.
//
// All local parties meet. Then one of them leads: it talks to the other workers for all, while the other parties wait.
// On the GPUs of one worker, the leader only gives the GPUs their work, which takes no longer than a meeting. All
// parties leave with the same outcome. The leading is the only piece of work (party_work.h).
#pragma once

#include "comm/executors.h"

#include <functional>

namespace mdist {

class LedCollective {
  public:
    LedCollective(Executors &executors, uint64_t timeout_ns) : executors_(executors), timeout_ns_(timeout_ns) {}

    uint64_t total() const { return 1; }
    /// Leads, unless another party already does.
    uint64_t run();
    /// The same without waiting: a thread of the library leads, counts the work as done, and calls `then`. With one
    /// worker the caller leads itself.
    uint64_t start(std::function<void()> then);
    /// Throws what went wrong. Call it when all work is done.
    void check() const { executors_.check_led(); }

  private:
    Executors &executors_;
    const uint64_t timeout_ns_;
};

} // namespace mdist
