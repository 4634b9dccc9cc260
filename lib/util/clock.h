// SPDX-License-Identifier: Apache-2.0
// Clock: a time in nanoseconds that never goes back. Code that compares times takes a Clock, so that a simulator can
// pass its own. Nothing in the library reads the time of day. Safe from any thread.
#pragma once

#include <cstdint>
#include <ctime>

namespace mdist {

class Clock {
  public:
    virtual ~Clock() = default;
    virtual uint64_t now_ns() const = 0;
};

/// CLOCK_MONOTONIC.
const Clock &monotonic_clock();

/// The same time, or length of time, as system calls take it.
inline timespec timespec_of(uint64_t ns) {
    constexpr uint64_t kSecond = 1'000'000'000;
    return {static_cast<time_t>(ns / kSecond), static_cast<long>(ns % kSecond)};
}

} // namespace mdist
