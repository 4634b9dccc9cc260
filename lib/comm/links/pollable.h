// SPDX-License-Identifier: Apache-2.0
// Pollable: a link that one poll() can wait for together with others (links/routed.h). Used by the thread that uses the
// link.
#pragma once

#include <cstdint>
#include <vector>

#include <poll.h>

namespace mdist {

class Pollable {
  public:
    virtual ~Pollable() = default;

    /// Whether progress() has something to do, or the wait is to end. Looks without sleeping. If this returns true, the
    /// wait ends, so an interrupt is spent.
    virtual bool stirs() = 0;
    /// Appends the descriptors to poll. Returns the longest time to wait; 0 if progress() already has something to do.
    virtual uint64_t begin_wait(std::vector<pollfd> &descriptors) = 0;
    /// Follows each begin_wait(). `found` points at what begin_wait() appended, as poll() left it.
    virtual void end_wait(const pollfd *found) = 0;
};

} // namespace mdist
