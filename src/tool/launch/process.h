// SPDX-License-Identifier: Apache-2.0
// Process: a child in its own process group, with pipes for its output. Main thread, which must outlive all other
// threads: the kernel kills the child when the thread that started it ends.
#pragma once

#include "descriptor.h"

#include <string>
#include <system_error>
#include <vector>

#include <signal.h>
#include <sys/types.h>

namespace mdist {

/// The system cannot run this program; code() says why.
struct CannotRun : std::system_error {
    using std::system_error::system_error;
};

enum class Input {
    kNone,      // /dev/null
    kInherited, // the launcher's
    kPipe,      // Process::input
};

struct Process {
    pid_t pid = -1; // also the id of its group
    Descriptor input;
    Descriptor output; // non-blocking, like `errors`
    Descriptor errors;
};

/// Runs words[0], found in PATH, with this environment ("NAME=VALUE") and signal mask. Throws CannotRun if it cannot
/// run, and std::system_error if no child could be made. There is no child in either case.
Process start_process(const std::vector<std::string> &words, const std::vector<std::string> &environment, Input input,
                      const sigset_t &mask);

} // namespace mdist
