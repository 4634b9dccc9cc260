// SPDX-License-Identifier: Apache-2.0
// Signals: receives the launcher's signals through a descriptor that can be polled. Main thread, before any other
// thread starts: the signals are blocked from construction on.
#pragma once

#include "descriptor.h"

#include <exception>
#include <string>
#include <vector>

#include <signal.h>

namespace mdist {

/// The launcher was killed, so this process, its keeper, must end everything.
struct LauncherGone : std::exception {};

/// The signal with which the kernel tells the keeper about it.
inline int launchers_end() {
    return SIGRTMIN;
}

class Signals {
  public:
    Signals();
    ~Signals();
    Signals(const Signals &) = delete;
    Signals &operator=(const Signals &) = delete;

    int fd() const { return arrivals_.get(); }
    /// Returns the signals that have arrived since the last call, SIGCHLD included. Never waits. Throws LauncherGone.
    std::vector<int> take();
    /// Lets signals do again what they did before.
    void release();
    /// The signal mask from before, for the children.
    const sigset_t &original_mask() const { return original_; }

  private:
    pid_t launcher_; // the process that constructed this, also in its keeper
    Descriptor arrivals_;
    sigset_t original_;
};

/// Whether the signal asks the job to end: INT, TERM, HUP.
bool asks_to_end(int signal);
/// "SIGTERM"
std::string signal_name(int signal);

} // namespace mdist
