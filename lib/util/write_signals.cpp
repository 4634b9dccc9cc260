// SPDX-License-Identifier: Apache-2.0
#include "util/write_signals.h"

#include <cerrno>
#include <ctime>
#include <initializer_list>

namespace mdist {

WriteSignalsHeld::WriteSignalsHeld() noexcept {
    sigset_t pending;
    sigemptyset(&ours_);
    sigemptyset(&pending);
    for (const int raised : {SIGPIPE, SIGXFSZ}) sigaddset(&ours_, raised);
    pthread_sigmask(SIG_BLOCK, &ours_, &before_);
    sigpending(&pending);
    for (const int raised : {SIGPIPE, SIGXFSZ})
        if (sigismember(&pending, raised) == 1) sigdelset(&ours_, raised);
}

WriteSignalsHeld::~WriteSignalsHeld() {
    const int kept = errno;
    const timespec now{};
    while (sigtimedwait(&ours_, nullptr, &now) > 0 || errno == EINTR) continue;
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = kept;
}

} // namespace mdist
