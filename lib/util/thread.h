// SPDX-License-Identifier: Apache-2.0
// Starts threads of the library.
#pragma once

#include <csignal>

#include <pthread.h>

namespace mdist {

/// While it lives, threads that this thread starts begin with signals blocked. The program's signal handlers must not
/// run on threads that it does not know. Signals that a fault raises in the thread itself are not blocked: blocked,
/// they would end the process without calling its handlers. It is for threads that another library starts. The
/// library's own threads come from start_thread.
class SignalsBlocked {
  public:
    SignalsBlocked() noexcept;
    ~SignalsBlocked();
    SignalsBlocked(const SignalsBlocked &) = delete;
    SignalsBlocked &operator=(const SignalsBlocked &) = delete;

  private:
    sigset_t before_;
};

/// Asks the kernel to run the calling thread soon after it wakes, for a short while at a time. It is for threads of the
/// library that move bytes beside threads that compute. The thread's share of the core stays the same. Does nothing
/// before Linux 6.12.
void prefer_short_turns() noexcept;

/// Calls pthread_create with signals blocked as above. Returns 0 or the error.
int start_thread(pthread_t *thread, void *(*function)(void *), void *argument, const char *name) noexcept;

} // namespace mdist
