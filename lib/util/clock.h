// SPDX-License-Identifier: Apache-2.0
// Clock: nanoseconds that only go forward. Everything that compares times takes a Clock, so that a simulator can give
// its own; nothing in the library looks at the time of day. Safe from any thread.
#pragma once

#include <cstdint>

namespace mdist {

class Clock {
  public:
    virtual ~Clock() = default;
    virtual uint64_t now_ns() const = 0;
};

/// CLOCK_MONOTONIC.
const Clock &monotonic_clock();

} // namespace mdist
