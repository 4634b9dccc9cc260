// SPDX-License-Identifier: Apache-2.0
// Alarm: a descriptor for poll() and similar calls. It becomes readable when it is rung, or at a set time. Any number
// of readers can share it, since nobody reads from it. Functions: any thread.
#pragma once

#include "util/open_file.h"

#include <cstdint>

namespace mdist {

class Alarm {
  public:
    /// Makes an alarm that is neither rung nor set. Throws RESOURCE if the system refuses a descriptor.
    Alarm();

    /// Returns another descriptor for the same alarm. It keeps its state when this object goes. The caller closes it.
    /// Throws RESOURCE.
    int duplicate() const;
    /// Makes it readable from now on.
    void ring() noexcept;
    /// Makes it unreadable until it is rung or `monotonic_clock()` reaches `at_ns` (kNoDeadline: never).
    void set(uint64_t at_ns) noexcept;

  private:
    OpenFile descriptor_;
};

} // namespace mdist
