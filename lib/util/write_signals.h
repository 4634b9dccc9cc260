// SPDX-License-Identifier: Apache-2.0
// Keeps the signals that a failed write raises away from the program.
#pragma once

#include <csignal>

namespace mdist {

/// While it lives, no write of this thread ends the process. A write to a closed pipe or socket gives EPIPE without
/// SIGPIPE. A write beyond the limit on file sizes (ulimit -f) gives EFBIG without SIGXFSZ. The kernel sends both
/// signals to the writing thread. So it is enough to block them there, and to take back those that came. No handler is
/// set and none runs. A signal that was pending before stays pending. Costs four system calls. For one scope of one
/// thread.
class WriteSignalsHeld {
  public:
    WriteSignalsHeld() noexcept;
    ~WriteSignalsHeld();
    WriteSignalsHeld(const WriteSignalsHeld &) = delete;
    WriteSignalsHeld &operator=(const WriteSignalsHeld &) = delete;

  private:
    sigset_t before_; // the thread's mask
    sigset_t ours_;   // the signals that were not pending before
};

} // namespace mdist
