// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/polling.h"

#include "util/clock.h"

#include <algorithm>
#include <ctime>

#include <sched.h>

namespace mdist {
namespace {

constexpr uint64_t kAwakeNs = 100'000;
constexpr uint64_t kShortestNapNs = 20'000;
constexpr uint64_t kLongestNapNs = 200'000;

void nap(uint64_t ns) {
    const timespec time = {0, static_cast<long>(ns)};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr); // a signal may cut it short, which does no harm
}

} // namespace

bool poll_until(FunctionRef<bool()> done, uint64_t timeout_ns) {
    if (done()) return true;
    const uint64_t start = monotonic_clock().now_ns();
    for (;;) {
        const uint64_t waited = monotonic_clock().now_ns() - start;
        if (waited >= timeout_ns) return done();
        if (waited < kAwakeNs) {
            sched_yield(); // a fake GPU's thread may need this core
        } else {
            // Long work may be noticed late, by a small part of the time that it took.
            const uint64_t nap_ns = std::clamp(waited / 16, kShortestNapNs, kLongestNapNs);
            nap(std::min(nap_ns, timeout_ns - waited));
        }
        if (done()) return true;
    }
}

} // namespace mdist
