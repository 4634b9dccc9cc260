// SPDX-License-Identifier: Apache-2.0
// PartyWork: what one party does in a collective, in the way that fits the call: nothing beyond the meeting, a
// reduction or an exchange among the parties of one process (local/), or leading for all (led_collective.h). Blocking
// calls and started operations do the same.
//
//   PartyWork(...)          before the meeting; may throw
//   run() or start()   after it: does the pieces of work that nobody has done yet, and returns how many; see
//                      Group::do_work()
//   total()            number of pieces in all; 0: parties need not wait for each other's work
//   check()            when all work is done: throws what went wrong
#pragma once

#include "comm/led_collective.h"
#include "comm/local/exchange.h"
#include "comm/local/reduce.h"

#include <functional>
#include <variant>

namespace mdist {

class PartyWork {
  public:
    /// Refers to the call.
    PartyWork(Executors &executors, uint32_t party, const Call &call, uint64_t timeout_ns);

    uint64_t total() const { return total_; }
    /// Whether the executors' workers or GPUs do the work, and one party leads.
    bool is_led() const { return std::holds_alternative<LedCollective>(way_); }
    uint64_t run();
    /// The same without waiting for other workers: a thread of the library leads, counts the work as done, and calls
    /// `then`.
    uint64_t start(const std::function<void()> &then);
    void check() const;

  private:
    const Group &group_;
    std::variant<std::monostate, StagedReduce, ChunkedReduce, Exchange, LedCollective> way_;
    uint64_t total_ = 0;
};

} // namespace mdist
