// SPDX-License-Identifier: Apache-2.0
// Process: a child in a process group of its own, with pipes for what it writes. Main thread, which must be the one
// that lives longest: the kernel kills the child when the thread that started it ends.
#pragma once

#include "descriptor.h"

#include <string>
#include <system_error>
#include <vector>

#include <signal.h>
#include <sys/types.h>

namespace mdist {

/// The system will not run this program; code() says why.
struct CannotRun : std::system_error {
    using std::system_error::system_error;
};

enum class Input {
    kNone,      // /dev/null
    kInherited, // the launcher's
    kPipe,      // Process::input
};

struct Process {
    pid_t pid = -1; // and the id of its group
    Descriptor input;
    Descriptor output; // non-blocking, as `errors`
    Descriptor errors;
};

/// Runs words[0], looked for in PATH, in the given environment ("NAME=VALUE") and with the given mask of signals.
/// Throws CannotRun, and std::system_error where not even a child could be made; there is none then.
Process start_process(const std::vector<std::string> &words, const std::vector<std::string> &environment, Input input,
                      const sigset_t &mask);

} // namespace mdist
