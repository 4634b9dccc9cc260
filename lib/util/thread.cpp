// SPDX-License-Identifier: Apache-2.0
#include "util/thread.h"

#include <cstdint>
#include <initializer_list>
#include <utility>

#include <sys/syscall.h>
#include <unistd.h>

namespace mdist {
namespace {

/// Of the calling thread.
struct Turns {
    bool are_short = false;
    uint64_t usual_ns = 0;
};
thread_local Turns turns;

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

/// Asks the kernel for turns of that length, and returns their length before. 0: the kernel's default, or unknown.
uint64_t change_turns(uint64_t ns) noexcept {
    SchedulingAttributes attributes = {};
    attributes.size = sizeof attributes;
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return 0;
    if (attributes.policy != SCHED_OTHER && attributes.policy != SCHED_BATCH) return 0;
    const uint64_t before_ns = std::exchange(attributes.runtime, ns);
    syscall(SYS_sched_setattr, 0, &attributes, 0);
    return before_ns;
}

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
    if (std::exchange(turns.are_short, true)) return;
    turns.usual_ns = change_turns(kShortTurnNs);
}

void take_usual_turns() noexcept {
    if (std::exchange(turns.are_short, false)) change_turns(turns.usual_ns);
}

int start_thread(pthread_t *thread, void *(*function)(void *), void *argument, const char *name) noexcept {
    const SignalsBlocked blocked;
    const int failed = pthread_create(thread, nullptr, function, argument);
    if (failed == 0) pthread_setname_np(*thread, name);
    return failed;
}

} // namespace mdist
