// SPDX-License-Identifier: Apache-2.0
// Alarm: a descriptor for poll() and its kin that is readable once it was rung, or from a set time on. Readers share
// it: nothing is read from it, so that who looks takes nothing away from others. Functions: any thread.
#pragma once

#include <cstdint>

namespace mdist {

class Alarm {
  public:
    /// Neither rung nor set. Throws RESOURCE if the system refuses a descriptor.
    Alarm();
    ~Alarm();
    Alarm(const Alarm &) = delete;
    Alarm &operator=(const Alarm &) = delete;

    /// Another descriptor for the same alarm, which stays as it is when this goes; the caller closes it. Throws
    /// RESOURCE.
    int duplicate() const;
    /// Readable from now on.
    void ring() noexcept;
    /// Not readable until it is rung or `monotonic_clock()` says `at_ns` (kNoDeadline: never).
    void set(uint64_t at_ns) noexcept;

  private:
    int descriptor_;
};

} // namespace mdist
