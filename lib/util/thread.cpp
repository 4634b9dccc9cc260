// SPDX-License-Identifier: Apache-2.0
#include "util/thread.h"

#include <csignal>
#include <initializer_list>

namespace mdist {

int start_thread(pthread_t *thread, void *(*function)(void *), void *argument, const char *name) noexcept {
    sigset_t blocked;
    sigset_t before;
    sigfillset(&blocked);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&blocked, fault);
    pthread_sigmask(SIG_SETMASK, &blocked, &before); // inherited by the new thread
    const int failed = pthread_create(thread, nullptr, function, argument);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (failed == 0) pthread_setname_np(*thread, name);
    return failed;
}

} // namespace mdist
