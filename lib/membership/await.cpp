// SPDX-License-Identifier: Apache-2.0
#include "membership/await.h"

#include "util/clock.h"

#include <algorithm>

namespace mdist {
namespace {

std::chrono::nanoseconds not_too_long(uint64_t ns) {
    constexpr uint64_t kLongestNs = uint64_t{1} << 60;
    return std::chrono::nanoseconds(std::min(ns, kLongestNs));
}

} // namespace

Deadline deadline_after(uint64_t timeout_ns) {
    return std::chrono::steady_clock::now() + not_too_long(timeout_ns);
}

bool await(std::unique_lock<std::mutex> &hold, std::condition_variable &changed, Deadline deadline,
           FunctionRef<bool()> ready, LongWait::Describe describe) {
    bool in_time = true;
    LongWait long_wait(monotonic_clock().now_ns());
    while (!ready() && in_time) {
        const Deadline end = std::min(deadline, deadline_after(long_wait.slice_ns()));
        if (changed.wait_until(hold, end, ready)) break;
        in_time = end < deadline;
        if (long_wait.slice_ns() != 0) continue;
        const WaitText text = describe();
        hold.unlock(); // the program's log sink may be slow, and others wait for heartbeats
        long_wait.look([&] { return text; });
        hold.lock();
    }
    const bool done = ready();
    if (!long_wait.told()) return done;
    hold.unlock();
    long_wait.end();
    hold.lock();
    return done;
}

} // namespace mdist
