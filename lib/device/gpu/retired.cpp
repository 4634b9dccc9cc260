// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/retired.h"

#include "device/gpu/polling.h"
#include "util/process_wide.h"
#include "util/thread.h"

#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <utility>

namespace mdist {
namespace {

/// What one thread has to give back.
class RetiredQueue {
  public:
    void add(std::function<void()> give_back) {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(give_back));
        pthread_t thread;
        if (running_ || start_thread(&thread, main, this, "mdist-free") != 0) return;
        running_ = true;
        pthread_detach(thread);
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
        static_cast<RetiredQueue *>(self)->work();
        return nullptr;
    }

    void work() {
        std::unique_lock lock(mutex_);
        while (!waiting_.empty()) {
            const std::function<void()> give_back = std::move(waiting_.front());
            lock.unlock();
            give_back();
            lock.lock();
            waiting_.pop_front(); // only now: none() means that nothing is left to give back
            ++done_;
        }
        running_ = false; // the next add() starts another thread
    }

    std::mutex mutex_;                          // guards what follows
    std::deque<std::function<void()>> waiting_; // the first is being given back
    uint64_t done_ = 0;
    bool running_ = false;
};

/// The queues, by card. They stay where they are, and are never destroyed.
class RetiredQueues {
  public:
    RetiredQueue &of(const GpuCard *card) {
        const std::lock_guard lock(mutex_);
        return queues_[card];
    }

    /// Returns nullptr if there was never anything to give back.
    RetiredQueue *find(const GpuCard *card) noexcept {
        const std::lock_guard lock(mutex_);
        const auto found = queues_.find(card);
        return found == queues_.end() ? nullptr : &found->second;
    }

  private:
    std::mutex mutex_;
    std::map<const GpuCard *, RetiredQueue> queues_;
};

} // namespace

void retire(const GpuCard *card, std::function<void()> give_back) noexcept {
    try {
        process_wide<RetiredQueues>().of(card).add(std::move(give_back));
    } catch (const std::exception &) {
        // The header says what happens to the memory.
    }
}

uint64_t count_retired(const GpuCard *card) noexcept {
    RetiredQueue *const queue = process_wide<RetiredQueues>().find(card);
    return queue == nullptr ? 0 : queue->done();
}

bool await_retired(const GpuCard *card, uint64_t before, uint64_t timeout_ns) noexcept {
    RetiredQueue *const queue = process_wide<RetiredQueues>().find(card);
    if (queue == nullptr) return false;
    poll_until([queue] { return queue->none(); }, timeout_ns);
    return queue->done() != before;
}

} // namespace mdist
