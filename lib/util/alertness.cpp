// SPDX-License-Identifier: Apache-2.0
#include "util/alertness.h"

#include "util/clock.h"

#include <algorithm>

#include <sched.h>
#include <sys/resource.h>

namespace mdist {

long Alertness::times_displaced() {
    rusage usage = {};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
}

bool Alertness::look(uint64_t timeout_ns, FunctionRef<bool()> ready) {
    if (awake_ns_ == 0) return false;
    if (doubt_.rests()) return false;
    const long displaced = displaced_();
    const uint64_t start = monotonic_clock().now_ns();
    uint64_t awake = 0;
    bool found = false;
    while (!(found = ready()) && awake < std::min(awake_ns_, timeout_ns)) {
        sched_yield(); // displaces this thread if another one could run
        awake = monotonic_clock().now_ns() - start;
    }
    if (found || awake >= awake_ns_) doubt_.learn(found && displaced_() == displaced);
    return found;
}

} // namespace mdist
