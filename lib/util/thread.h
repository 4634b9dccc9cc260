// SPDX-License-Identifier: Apache-2.0
// Starting threads of the library.
#pragma once

#include <csignal>

#include <pthread.h>

namespace mdist {

/// While it lives, threads that this one starts begin with all signals blocked: the program's handlers must not run on
/// threads it does not know of. Except those that a fault raises in the thread itself: blocked, they would end the
/// process without its handlers. For threads that another library starts; our own come from start_thread.
class SignalsBlocked {
  public:
    SignalsBlocked() noexcept;
    ~SignalsBlocked();
    SignalsBlocked(const SignalsBlocked &) = delete;
    SignalsBlocked &operator=(const SignalsBlocked &) = delete;

  private:
    sigset_t before_;
};

/// Asks the kernel to let the calling thread run soon after it wakes, for a short while at a time: for one that moves
/// bytes beside others that compute. Its share of the core stays the same. Linux 6.12 or later; else nothing happens.
void prefer_short_turns() noexcept;

/// pthread_create, with signals blocked as above. Returns 0 or the error.
int start_thread(pthread_t *thread, void *(*function)(void *), void *argument, const char *name) noexcept;

} // namespace mdist
