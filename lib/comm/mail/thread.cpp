// SPDX-License-Identifier: Apache-2.0
// The library's thread: carries while something is under way and nobody waits in a call, and tells the program of posts
// that are over.
#include "util/thread.h"
#include "comm/mail/mail.h"

#include <chrono>

namespace mdist {

Mail::~Mail() {
    leave();
}

/// Wakes the thread, which looks whether there is something to do; starts it first if need be.
void Mail::need_thread() {
    if (!has_thread_ && !stop_) {
        if (const int refused = start_thread(&thread_, thread_main, this, "mdist-mail"); refused != 0)
            throw Failure(MDIST_ERR_RESOURCE, "the system refused a thread for started messages").native(refused);
        has_thread_ = true;
    }
    work_for_thread_.notify_all();
}

void *Mail::thread_main(void *self) {
    prefer_short_turns();
    static_cast<Mail *>(self)->serve();
    return nullptr;
}

void Mail::serve() {
    constexpr uint64_t kSleepNs = 100'000'000;
    Lock lock(mutex_);
    while (!stop_) {
        turned_away_ = turned_away_ || carrying_;
        const bool has_work = carrier_->busy() && !carrying_ && waiters_.load(std::memory_order_seq_cst) == 0;
        if (has_work && group_.ready()) {
            carry_now(lock, kThread, kSleepNs);
            // Whoever came to wait meanwhile carries from now on.
            if (waiters_.load(std::memory_order_seq_cst) != 0) wake_waiters();
        } else if (listening_.load(std::memory_order_acquire) != 0) {
            work_for_thread_.wait_for(lock, std::chrono::nanoseconds(kSleepNs)); // somebody's time may be over by then
        } else {
            work_for_thread_.wait(lock);
        }
        lock.unlock();
        notice();
        lock.lock();
    }
}

void Mail::leave() noexcept {
    Lock lock(mutex_);
    if (std::exchange(stop_, true) || !carrier_) return; // after the first time, there may be no link any more
    work_for_thread_.notify_all();
    carrier_->link().interrupt();
    if (has_thread_) {
        has_thread_ = false;
        lock.unlock();
        pthread_join(thread_, nullptr);
        lock.lock();
    }
    // Messages that were sent, and that the system had no room for yet, or no connection.
    constexpr uint64_t kLongestNs = 5'000'000'000;
    const uint64_t begin = monotonic_clock().now_ns();
    for (uint64_t sleep = 0; carrier_->has_to_send() && group_.ready(); sleep = kLongestNs / 500) {
        if (monotonic_clock().now_ns() - begin > kLongestNs) break;
        carry_now(lock, kThread, sleep);
    }
    carrier_->leave();
}

} // namespace mdist
