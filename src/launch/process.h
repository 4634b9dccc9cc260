// SPDX-License-Identifier: Apache-2.0
// Process: a child in a process group of its own, with pipes for what it writes. Main thread, which must be the one
// that lives longest: the kernel kills the child when the thread that started it ends.
#pragma once

#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

namespace mdist {

/// An open file descriptor and the duty to close it.
class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int fd) : fd_(fd) {}
    ~Descriptor() { close(); }
    Descriptor(Descriptor &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor &operator=(Descriptor &&other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }

    int get() const { return fd_; }
    bool is_open() const { return fd_ >= 0; }
    void close() {
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }

  private:
    int fd_ = -1;
};

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
