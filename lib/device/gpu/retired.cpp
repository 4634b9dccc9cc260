// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/retired.h"

#include "device/gpu/polling.h"
#include "util/thread.h"

#include <exception>
#include <utility>

namespace mdist {

void RetiredQueue::retire(std::function<void()> give_back) noexcept {
    try {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(give_back));
        pthread_t thread;
        if (running_ || start_thread(&thread, main, this, "mdist-free") != 0) return;
        running_ = true;
        pthread_detach(thread);
    } catch (const std::exception &) {
        // The header says what happens to the memory.
    }
}

uint64_t RetiredQueue::count() noexcept {
    const std::lock_guard lock(mutex_);
    return done_;
}

bool RetiredQueue::wait(uint64_t before, uint64_t timeout_ns) noexcept {
    poll_until([this] { return none(); }, timeout_ns);
    return count() != before;
}

void *RetiredQueue::main(void *self) {
    static_cast<RetiredQueue *>(self)->work();
    return nullptr;
}

bool RetiredQueue::none() noexcept {
    const std::lock_guard lock(mutex_);
    return waiting_.empty();
}

void RetiredQueue::work() {
    std::unique_lock lock(mutex_);
    while (!waiting_.empty()) {
        const std::function<void()> give_back = std::move(waiting_.front());
        lock.unlock();
        give_back();
        lock.lock();
        waiting_.pop_front(); // only now: none() means that nothing is left to give back
        ++done_;
    }
    running_ = false; // the next retire() starts another thread
}

} // namespace mdist
