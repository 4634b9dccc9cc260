// SPDX-License-Identifier: Apache-2.0
// Alertness: learns whether it pays to stay awake at the begin of a wait for something from outside, such as a message.
//
// Sleeping and being woken costs tens of microseconds. Staying awake saves that if what the wait is for comes soon, and if
// nobody else needs the core. Neither is known beforehand: other processes and other containers share the cores. So a wait
// that stays awake offers its core to others between two looks, and the kernel counts whether one took it. A wait that lost
// its core, or stayed awake for nothing, makes later waits sleep at once (doubt.h).
#pragma once

#include "util/doubt.h"
#include "util/function_ref.h"

#include <cstdint>

namespace mdist {

/// One thread at a time.
class Alertness {
  public:
    /// Returns how often others have had this thread's core while it wanted to go on.
    using Displaced = long (*)();
    static long times_displaced();

    /// Waits stay awake for `awake_ns` at most. 0: never.
    explicit Alertness(uint64_t awake_ns, Displaced displaced = times_displaced)
        : awake_ns_(awake_ns), displaced_(displaced) {}

    /// Calls ready() until it returns true, as long as it pays, and for `timeout_ns` at most. Returns what it returned. If
    /// that is false, the caller sleeps.
    bool look(uint64_t timeout_ns, FunctionRef<bool()> ready);

  private:
    const uint64_t awake_ns_;
    const Displaced displaced_;
    Doubt doubt_;
};

} // namespace mdist
