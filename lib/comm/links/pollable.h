// SPDX-License-Identifier: Apache-2.0
// Pollable: a link that can be waited for together with others, in one poll() (links/routed.h). Used by the thread that
// uses the link.
#pragma once

#include <cstdint>
#include <vector>

#include <poll.h>

namespace mdist {

class Pollable {
  public:
    virtual ~Pollable() = default;

    /// Whether progress() has something to do. A look, without sleeping.
    virtual bool stirs() = 0;
    /// Appends what to poll for, and returns for how long at most, 0 if progress() has something to do already.
    virtual uint64_t begin_wait(std::vector<pollfd> &descriptors) = 0;
    /// Follows each begin_wait(); `found` is what it appended, as poll() left it.
    virtual void end_wait(const pollfd *found) = 0;
};

} // namespace mdist
