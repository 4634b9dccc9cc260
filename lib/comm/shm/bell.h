// SPDX-License-Identifier: Apache-2.0
// ShmBell: how the workers of one host wait for what their mates write.
//
// A worker that has published something for all mates calls ring(), or ring(mate) if only that one waits for it. While
// nobody sleeps, this costs one look at each. A worker that waits first looks for a while, if that has paid lately.
// Then it says in its own segment that it sleeps, looks once more, and sleeps on its mates' bells, which only they
// ring.
//
// Publishing is a release store, and ready() a sequentially consistent load. ring() has a sequentially consistent fence
// between the store and its look for sleepers. A sleeper says so, in one order with all fences, before its last look.
// If the publisher does not see the sleeper, its fence is the earlier one, and the sleeper's look finds what is
// published. Still, no sleep is longer than some milliseconds; after that a mate that has ended is noticed too.
// Between publishing and ring() a worker may look for what its mates publish: those that are awake see the store
// meanwhile. A long wait of await() begins with ring().
//
// A thread that waits for other things as well sleeps in poll(), with descriptor() among them, between listen() and
// heard(). Any thread may call these functions; the publishing thread calls ring().
#pragma once

#include "comm/shm/mates.h"
#include "util/alertness.h"
#include "util/function_ref.h"
#include "util/spin.h"

#include <atomic>
#include <cstdint>
#include <vector>

namespace mdist {

class ShmBell {
  public:
    explicit ShmBell(std::shared_ptr<ShmMates> mates);

    void ring() noexcept {
        __sync_synchronize(); // std::atomic_thread_fence() is the same, but gcc warns of it with the thread sanitizer
        for (const std::atomic<uint32_t> *asleep : asleep_)
            if (asleep->load(std::memory_order_seq_cst) != 0) return wake();
    }
    void ring(uint32_t rank) noexcept {
        __sync_synchronize();
        if (mates_->of(rank).asleep.load(std::memory_order_seq_cst) != 0) wake(rank);
    }

    /// Waits until ready() returns true. From time to time calls keep_going, which throws to end the wait. Throws
    /// PEER_LOST, naming the worker, if the mate has closed or ended before.
    template <typename Ready>
    void await(uint32_t rank, const Ready &ready, FunctionRef<void()> keep_going) {
        for (uint32_t i = 0; i < looks_; ++i) {
            if (ready()) return;
            relax();
        }
        await_long(rank, ready, keep_going);
    }

    /// Sleeps until one of these mates rings, somebody calls interrupt(), or the time is over. Does not sleep if
    /// ready().
    void sleep(const std::vector<uint32_t> &ranks, FunctionRef<bool()> ready, uint64_t timeout_ns) noexcept;
    /// For poll(). After listen(), look at what you wait for before you sleep. If several threads poll, one may take
    /// the ring of another, so sleep only for a few milliseconds.
    int descriptor() const noexcept { return mates_->doorbell().descriptor(); }
    void listen() noexcept;
    /// `rung`: poll() has found the descriptor readable.
    void heard(bool rung) noexcept;
    /// Looks for a while, without sleeping. Returns whether ready(). Where other programs need the cores, most calls
    /// look only for microseconds: whoever gives its core to them waits a whole time slice to get it back.
    bool look(FunctionRef<bool()> ready) noexcept;
    /// Wakes this worker's own sleepers.
    void interrupt() noexcept;

    /// How many waits of await() were more than a look: each ends when a mate has done its next step.
    uint64_t long_waits() const noexcept { return long_waits_; }

    bool closed(uint32_t rank) const noexcept { return mates_->of(rank).closed.load(std::memory_order_acquire) != 0; }
    /// Tells the mates that this worker takes part in nothing any more.
    void close() noexcept;

  private:
    void await_long(uint32_t rank, FunctionRef<bool()> ready, FunctionRef<void()> keep_going);
    void wake() noexcept;
    void wake(uint32_t rank) noexcept;
    void wake_sleepers() noexcept;
    void wake_polling(uint32_t rank) noexcept;

    std::shared_ptr<ShmMates> mates_;
    std::vector<const std::atomic<uint32_t> *> asleep_; // the mates' words
    std::vector<uint32_t> ranks_;                       // the mates
    Patience patience_;
    Alertness alertness_;
    uint32_t looks_;
    uint64_t long_waits_ = 0;
};

} // namespace mdist
