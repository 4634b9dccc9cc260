// SPDX-License-Identifier: Apache-2.0
// Discovery: asks the command of --discover again and again which hosts there are now. Main thread.
#pragma once

#include "launch/console.h"
#include "launch/placement.h"
#include "launch/process.h"

#include <optional>
#include <string>
#include <vector>

namespace mdist {

class Discovery {
  public:
    /// `command`: for sh. `known`: what it said last. `mask`: its signal mask.
    Discovery(std::string command, std::vector<Host> known, const sigset_t &mask)
        : command_(std::move(command)), known_(std::move(known)), mask_(mask) {}
    ~Discovery();
    Discovery(const Discovery &) = delete;
    Discovery &operator=(const Discovery &) = delete;

    /// Asks once, and waits for the answer. Throws UsageError if the command fails or names no host.
    static std::vector<Host> ask(const std::string &command);
    /// Call it several times a second. Returns the hosts if they are others than before. Says what is wrong with an
    /// answer that cannot be used.
    std::optional<std::vector<Host>> take(Console &console);

  private:
    void begin();
    bool read_all();
    std::vector<Host> answer() const;

    std::string command_;
    std::vector<Host> known_;
    sigset_t mask_;
    std::optional<Process> process_; // that runs now
    std::string said_;               // on its stdout
    std::string complained_;         // on its stderr
    std::string told_;               // the last complaint of ours
    Time began_ = {};                // when it was last asked
    Time next_ = Time::min();        // when to ask
};

/// "alpha:2, beta:1"
std::string text_of(const std::vector<Host> &hosts);

} // namespace mdist
