// SPDX-License-Identifier: Apache-2.0
#include "util/alarm.h"

#include "util/clock.h"
#include "util/event_count.h"
#include "util/failure.h"
#include "util/text.h"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/timerfd.h>

namespace mdist {
namespace {

/// A time in the past. The kernel takes time 0 as switching the timer off.
constexpr uint64_t kLongAgo = 1;

void arm(int descriptor, uint64_t at_ns) noexcept {
    itimerspec timer = {};
    if (at_ns != kNoDeadline) timer.it_value = timespec_of(at_ns);
    timerfd_settime(descriptor, TFD_TIMER_ABSTIME, &timer, nullptr); // also makes it unreadable again
}

int checked(int descriptor) {
    if (descriptor < 0)
        throw Failure(MDIST_ERR_RESOURCE, text("cannot make a timer: ", std::generic_category().message(errno)))
            .native(errno);
    return descriptor;
}

} // namespace

// A timer serves for both: ringing sets it to a time in the past.
Alarm::Alarm() : descriptor_(checked(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK))) {}

int Alarm::duplicate() const {
    return checked(fcntl(descriptor_.get(), F_DUPFD_CLOEXEC, 0));
}

void Alarm::ring() noexcept {
    arm(descriptor_.get(), kLongAgo);
}

void Alarm::set(uint64_t at_ns) noexcept {
    arm(descriptor_.get(), at_ns);
}

} // namespace mdist
