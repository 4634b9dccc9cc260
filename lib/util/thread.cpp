// SPDX-License-Identifier: Apache-2.0
#include "util/thread.h"

#include <cstdint>
#include <initializer_list>

#include <sys/syscall.h>
#include <unistd.h>

namespace mdist {
namespace {

/// The shortest turn that the kernel accepts; its default is some milliseconds.
constexpr uint64_t kShortTurnNs = 100'000;

/// The kernel's sched_attr, as of Linux 3.14. <linux/sched/types.h> contradicts the C library's headers.
struct SchedulingAttributes {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime;
    uint64_t deadline;
    uint64_t period;
};

} // namespace

SignalsBlocked::SignalsBlocked() noexcept {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&blocked, fault);
    pthread_sigmask(SIG_SETMASK, &blocked, &before_); // new threads inherit the mask
}

SignalsBlocked::~SignalsBlocked() {
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void prefer_short_turns() noexcept {
    SchedulingAttributes attributes = {};
    attributes.size = sizeof attributes;
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
    if (attributes.policy != SCHED_OTHER && attributes.policy != SCHED_BATCH) return;
    attributes.runtime = kShortTurnNs;
    syscall(SYS_sched_setattr, 0, &attributes, 0);
}

int start_thread(pthread_t *thread, void *(*function)(void *), void *argument, const char *name) noexcept {
    const SignalsBlocked blocked;
    const int failed = pthread_create(thread, nullptr, function, argument);
    if (failed == 0) pthread_setname_np(*thread, name);
    return failed;
}

} // namespace mdist
