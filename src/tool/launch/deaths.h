// SPDX-License-Identifier: Apache-2.0
// Deaths: the order in which child processes ended. wait() reports that children ended, but not their order if several
// ended since the last call. Main thread.
#pragma once

#include "descriptor.h"

#include <map>
#include <vector>

#include <sys/types.h>

namespace mdist {

class Deaths {
  public:
    Deaths();

    /// Does nothing if the kernel has no descriptors for processes (before 5.3).
    void watch(pid_t child);
    bool watches(pid_t child) const { return watched_.count(child) != 0; }
    /// Returns the watched children that have ended since the last call, in order. They are no longer watched, and not
    /// yet reaped.
    std::vector<pid_t> take();

  private:
    Descriptor ready_; // epoll keeps events in order
    std::map<pid_t, Descriptor> watched_;
};

} // namespace mdist
