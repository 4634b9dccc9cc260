// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/retired.h"

#include "device/gpu/polling.h"
#include "util/process_wide.h"
#include "util/thread.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

namespace mdist {
namespace {

class Retired {
  public:
    void add(std::function<void()> give_back) {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(give_back));
        pthread_t thread;
        if (!running_ && start_thread(&thread, main, this, "mdist-free") == 0) {
            running_ = true;
            pthread_detach(thread);
        }
        changed_.notify_one();
    }

    bool none() {
        const std::lock_guard lock(mutex_);
        return waiting_.empty();
    }

    uint64_t done() {
        const std::lock_guard lock(mutex_);
        return done_;
    }

  private:
    static void *main(void *self) {
        static_cast<Retired *>(self)->work();
        return nullptr;
    }

    void work() {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return !waiting_.empty(); });
            const std::function<void()> give_back = std::move(waiting_.front());
            lock.unlock();
            give_back();
            lock.lock();
            waiting_.pop_front(); // only now: none() means that nothing is left to give back
            ++done_;
        }
    }

    std::mutex mutex_; // guards what follows
    std::condition_variable changed_;
    std::deque<std::function<void()>> waiting_; // the first is being given back
    uint64_t done_ = 0;
    bool running_ = false;
};

} // namespace

void retire(std::function<void()> give_back) noexcept {
    try {
        process_wide<Retired>().add(std::move(give_back));
    } catch (const std::exception &) {
        // The header says what happens to the memory.
    }
}

uint64_t count_retired() noexcept {
    return process_wide<Retired>().done();
}

bool await_retired(uint64_t before, uint64_t timeout_ns) noexcept {
    poll_until([] { return process_wide<Retired>().none(); }, timeout_ns);
    return count_retired() != before;
}

} // namespace mdist
