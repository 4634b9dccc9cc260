// SPDX-License-Identifier: Apache-2.0
#include "comm/done_calls.h"

#include <utility>

namespace mdist {
namespace {

/// Whose call this thread is in. Calls do not nest: the program's function may end other operations, and a function of
/// theirs above it on the stack would soon need too much of it.
thread_local const DoneCalls *making = nullptr;

} // namespace

void DoneCalls::add(List &functions, mdist_status_t status) noexcept {
    if (functions.empty()) return;
    for (One &each : functions) each.status = status;
    const std::lock_guard lock(mutex_);
    open_.fetch_add(functions.size(), std::memory_order_release);
    waiting_.splice(waiting_.end(), functions);
}

void DoneCalls::make() noexcept {
    if (open_.load(std::memory_order_acquire) == 0 || making == this) return;
    const DoneCalls *const outer = std::exchange(making, this);
    for (;;) {
        List one;
        {
            const std::lock_guard lock(mutex_);
            if (waiting_.empty()) break;
            one.splice(one.begin(), waiting_, waiting_.begin());
            ++running_;
        }
        one.front().function(one.front().status);
        one.clear(); // before it counts as finished: what it holds may be the caller's
        const std::lock_guard lock(mutex_);
        --running_;
        open_.fetch_sub(1, std::memory_order_release);
        changed_.notify_all();
    }
    making = outer;
}

void DoneCalls::finish() noexcept {
    make();
    if (open_.load(std::memory_order_acquire) == 0 || making == this) return;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return running_ == 0; });
}

} // namespace mdist
