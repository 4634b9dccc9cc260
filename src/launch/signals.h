// SPDX-License-Identifier: Apache-2.0
// Signals: what arrives for the launcher, as something to poll. Main thread, before any other thread begins: the
// signals are blocked from construction on.
#pragma once

#include "descriptor.h"

#include <string>
#include <vector>

#include <signal.h>

namespace mdist {

class Signals {
  public:
    Signals();
    ~Signals();
    Signals(const Signals &) = delete;
    Signals &operator=(const Signals &) = delete;

    int fd() const { return arrivals_.get(); }
    /// What has arrived since, SIGCHLD included; never waits.
    std::vector<int> take();
    /// The mask from before, for the children.
    const sigset_t &original_mask() const { return original_; }

  private:
    Descriptor arrivals_;
    sigset_t original_;
};

/// INT, TERM, HUP: the job is to end.
bool asks_to_end(int signal);
/// "SIGTERM"
std::string signal_name(int signal);

} // namespace mdist
