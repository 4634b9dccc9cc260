// SPDX-License-Identifier: Apache-2.0
// Alertness: learns whether it pays to stay awake at the begin of a wait for something from outside, such as a message.
//
// Sleeping and being woken costs tens of microseconds, and the kernel often wakes a thread beside another one while a
// core is idle. Staying awake saves that if what the wait is for comes soon, and if nobody else needs the core. Neither
// is known beforehand: other processes and other containers share the cores. So a wait that stays awake gives its core
// away between two looks, and measures how long the core was away. Others who wait for messages, too, give it back
// after microseconds. Whoever computes keeps it for a time slice.
//
// What such waits have saved and lost is an account (account.h). A wait that found something adds what a sleep costs.
// One that lost its core for long, or stayed awake for nothing, takes off what that cost. While the account is
// overdrawn, waits sleep at once.
#pragma once

#include "util/account.h"
#include "util/clock.h"
#include "util/function_ref.h"

#include <cstdint>

namespace mdist {

/// Any thread.
class Alertness {
  public:
    /// Gives the core to other threads for a moment.
    using GiveAway = void (*)();
    static void give_core_away();

    /// Waits stay awake for `awake_ns` at most, without the time that others have the core. 0: never. `made_good_ns` is
    /// the account's.
    explicit Alertness(uint64_t awake_ns, const Clock &clock = monotonic_clock(), GiveAway give_away = give_core_away,
                       uint64_t made_good_ns = Account::kMadeGoodNs)
        : awake_ns_(awake_ns), clock_(clock), give_away_(give_away), account_(made_good_ns) {}

    /// Calls ready() until it returns true, as long as it pays, and for `timeout_ns` at most. Returns what it returned.
    /// If that is false, the caller sleeps.
    bool look(uint64_t timeout_ns, FunctionRef<bool()> ready);

  private:
    const uint64_t awake_ns_;
    const Clock &clock_;
    const GiveAway give_away_;
    Account account_; // of staying awake
};

} // namespace mdist
