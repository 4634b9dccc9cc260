// SPDX-License-Identifier: Apache-2.0
// ShmBell: how workers of one host wait for what their mates write.
//
// Who has published something calls ring(), which costs a look at each mate as long as nobody sleeps. Who waits looks
// for a while, as long as its patience says; then says in its own segment that it sleeps, looks again, and sleeps on
// its mates' bells, which are theirs to ring. What is published, and what is looked at here, must be atomic and
// sequentially consistent: then either the sleeper sees what was published or the publisher sees the sleeper. Still no
// sleep is longer than some milliseconds, after which a mate that has ended is noticed too.
// Who sleeps on other things as well does so in poll(), with descriptor() among them, between listen() and heard().
// Any thread, ring() the one that published.
#pragma once

#include "comm/shm/mates.h"
#include "util/function_ref.h"

#include <atomic>
#include <cstdint>
#include <vector>

namespace mdist {

class ShmBell {
  public:
    explicit ShmBell(std::shared_ptr<ShmMates> mates);

    void ring() noexcept {
        for (const std::atomic<uint32_t> *asleep : asleep_)
            if (asleep->load(std::memory_order_seq_cst) != 0) return wake();
    }

    /// Waits until ready(). Now and then calls keep_going, which throws where waiting is over; throws PEER_LOST, naming
    /// the worker, if the mate has closed or ended before.
    template <typename Ready>
    void await(uint32_t rank, const Ready &ready, FunctionRef<void()> keep_going) {
        for (uint32_t i = 0; i < looks_; ++i) {
            if (ready()) return;
            relax();
        }
        await_long(rank, ready, keep_going);
    }

    /// Sleeps until one of these mates rings, interrupt(), or so long; not at all if ready().
    void sleep(const std::vector<uint32_t> &ranks, FunctionRef<bool()> ready, uint64_t timeout_ns) noexcept;
    /// One thread at a time. Look at what you wait for after listen().
    int descriptor() const noexcept { return mates_->doorbell().descriptor(); }
    void listen() noexcept;
    void heard() noexcept;
    /// Looks for a while, without sleeping; whether ready().
    bool look(FunctionRef<bool()> ready) const noexcept;
    /// Wakes this worker's own sleepers.
    void interrupt() noexcept;

    bool closed(uint32_t rank) const noexcept { return mates_->of(rank).closed.load(std::memory_order_acquire) != 0; }
    /// Tells the mates that this worker takes part in nothing more.
    void close() noexcept;

  private:
    static void relax() noexcept {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
    }
    void await_long(uint32_t rank, FunctionRef<bool()> ready, FunctionRef<void()> keep_going);
    void wake() noexcept;

    std::shared_ptr<ShmMates> mates_;
    std::vector<const std::atomic<uint32_t> *> asleep_; // of the mates
    std::vector<uint32_t> ranks_;                       // of the mates
    Patience patience_;
    uint32_t looks_;
};

} // namespace mdist
