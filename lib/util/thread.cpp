// SPDX-License-Identifier: Apache-2.0
#include "util/thread.h"

#include <initializer_list>

namespace mdist {

SignalsBlocked::SignalsBlocked() noexcept {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&blocked, fault);
    pthread_sigmask(SIG_SETMASK, &blocked, &before_); // inherited by new threads
}

SignalsBlocked::~SignalsBlocked() {
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int start_thread(pthread_t *thread, void *(*function)(void *), void *argument, const char *name) noexcept {
    const SignalsBlocked blocked;
    const int failed = pthread_create(thread, nullptr, function, argument);
    if (failed == 0) pthread_setname_np(*thread, name);
    return failed;
}

} // namespace mdist
