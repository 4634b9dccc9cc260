// SPDX-License-Identifier: Apache-2.0
// Control: where a launcher takes requests from `mdist launch --resize`. It listens at an abstract socket that is named
// after the user and the job, and hears only this user's processes and root's. Main thread.
#pragma once

#include "descriptor.h"

#include <cstdint>
#include <functional>
#include <string>

namespace mdist {

class Control {
  public:
    /// Throws std::system_error if another launcher of this user runs a job with this name.
    explicit Control(const std::string &job);

    /// Readable when a request has come.
    int fd() const { return socket_.get(); }
    /// Takes one request and answers it with what `resize` returns. Waits at most a moment for its text.
    void answer(const std::function<std::string(uint32_t workers)> &resize);

  private:
    Descriptor socket_;
};

/// What begins the answer to a request that was granted.
constexpr const char *kGranted = "ok: ";

/// Asks the launcher of that job to run so many workers, and prints its answer. Returns the exit status.
int ask_to_resize(const std::string &job, uint32_t workers);

} // namespace mdist
