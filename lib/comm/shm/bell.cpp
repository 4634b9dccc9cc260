// SPDX-License-Identifier: Apache-2.0
#include "comm/shm/bell.h"

#include "util/clock.h"
#include "util/failure.h"
#include "util/text.h"

#include <algorithm>
#include <cerrno>
#include <climits>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mdist {
namespace {

constexpr uint64_t kSliceNs = 5'000'000;
/// Spinning without a yield for longer than this only keeps the core from others.
constexpr uint64_t kAloneNs = 3000;
/// About the cost of the wake that staying awake may save.
constexpr uint64_t kAwakeNs = 50'000;
/// More than for sockets, so that waits stay awake again sooner: here a sleep costs several times as much as what it
/// waits for.
constexpr uint64_t kMadeGoodNs = 10'000;

// Waking and waiting only read the word, so this works on words that this process cannot write.
void wake_all(const std::atomic<uint32_t> &word) noexcept {
    syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

struct Word {
    const std::atomic<uint32_t> *at;
    uint32_t seen;
};

/// Sleeps until one of these words changes or is woken. Returns false on kernels that cannot do it (before 5.16, or
/// forbidden).
bool wait_any(const Word *words, std::size_t count, uint64_t timeout_ns) noexcept {
#ifdef SYS_futex_waitv
    constexpr std::size_t kMost = FUTEX_WAITV_MAX;
    struct futex_waitv waiters[kMost] = {};
    count = std::min(count, kMost);
    for (std::size_t i = 0; i < count; ++i)
        waiters[i] = {words[i].seen, reinterpret_cast<uintptr_t>(words[i].at), FUTEX_32, 0};
    const timespec until = timespec_of(monotonic_clock().now_ns() + timeout_ns);
    return syscall(SYS_futex_waitv, waiters, count, 0, &until, CLOCK_MONOTONIC) >= 0 ||
           (errno != ENOSYS && errno != EPERM);
#else
    return false;
#endif
}

void wait_one(const Word &word, uint64_t timeout_ns) noexcept {
    const timespec time = timespec_of(timeout_ns);
    syscall(SYS_futex, word.at, FUTEX_WAIT, word.seen, &time, nullptr, 0);
}

} // namespace

ShmBell::ShmBell(std::shared_ptr<ShmMates> mates)
    : mates_(std::move(mates)),
      patience_(mates_->patience()),
      alertness_(kAwakeNs, monotonic_clock(), Alertness::give_core_away, kMadeGoodNs) {
    for (uint32_t rank = 0; rank < mates_->workers(); ++rank) {
        if (!mates_->shares(rank)) continue;
        asleep_.push_back(&mates_->of(rank).asleep);
        ranks_.push_back(rank);
    }
    looks_ = patience_.spin_ns != 0 ? 100 : 4;
}

void ShmBell::wake() noexcept {
    wake_sleepers();
    for (const uint32_t rank : ranks_) wake_polling(rank);
}

void ShmBell::wake(uint32_t rank) noexcept {
    wake_sleepers();
    wake_polling(rank);
}

/// Wakes those who sleep on this worker's bell.
void ShmBell::wake_sleepers() noexcept {
    std::atomic<uint32_t> &rings = mates_->own().rings;
    rings.fetch_add(1, std::memory_order_seq_cst);
    wake_all(rings);
}

void ShmBell::wake_polling(uint32_t rank) noexcept {
    if (mates_->of(rank).polling.load(std::memory_order_seq_cst) != 0) mates_->doorbell(rank).ring();
}

void ShmBell::interrupt() noexcept {
    wake();
    mates_->doorbell().ring();
}

void ShmBell::listen() noexcept {
    ShmControl &own = mates_->own();
    own.polling.fetch_add(1, std::memory_order_seq_cst);
    own.asleep.fetch_add(1, std::memory_order_seq_cst);
}

void ShmBell::heard(bool rung) noexcept {
    ShmControl &own = mates_->own();
    if (rung) mates_->doorbell().silence(); // first, so that no thread that begins to poll now loses its ring
    own.asleep.fetch_sub(1, std::memory_order_seq_cst);
    own.polling.fetch_sub(1, std::memory_order_seq_cst);
}

void ShmBell::close() noexcept {
    mates_->own().closed.store(1, std::memory_order_seq_cst);
    wake();
}

bool ShmBell::look(FunctionRef<bool()> ready) noexcept {
    // Where each thread has a core, looks are cheaper than giving it away. Otherwise a mate may need it at once.
    const bool has_core = patience_.spin_ns != 0;
    if (has_core && spin(kAloneNs, ready)) return true;
    const auto often = [&] { return look_often(ready); };
    return alertness_.look(kNoDeadline, has_core ? FunctionRef<bool()>(often) : ready) || ready();
}

void ShmBell::sleep(const std::vector<uint32_t> &ranks, FunctionRef<bool()> ready, uint64_t timeout_ns) noexcept {
    // This worker's own bell is the last, for interrupt().
    constexpr std::size_t kMost = 128;
    Word words[kMost];
    std::size_t count = 0;
    for (const uint32_t rank : ranks) {
        if (count == kMost - 1) break;
        const std::atomic<uint32_t> &rings = mates_->of(rank).rings;
        words[count++] = {&rings, rings.load(std::memory_order_seq_cst)};
    }
    ShmControl &own = mates_->own();
    words[count++] = {&own.rings, own.rings.load(std::memory_order_seq_cst)};

    own.asleep.fetch_add(1, std::memory_order_seq_cst);
    if (!ready()) {
        constexpr uint64_t kBlindNs = 1'000'000; // used when only one bell can be listened to
        if (!wait_any(words, count, timeout_ns)) wait_one(words[0], std::min(timeout_ns, kBlindNs));
    }
    own.asleep.fetch_sub(1, std::memory_order_seq_cst);
}

void ShmBell::await_long(uint32_t rank, FunctionRef<bool()> ready, FunctionRef<void()> keep_going) {
    ++long_waits_;
    ring();
    if (look(ready)) return;
    const std::vector<uint32_t> ranks{rank};
    const auto stirs = [&] { return ready() || closed(rank); };
    for (;;) {
        const bool lost = closed(rank) || mates_->gone(rank); // before the last ready(): it may have published
        if (ready()) return;
        if (lost)
            throw Failure(MDIST_ERR_PEER_LOST,
                          text("worker ", mates_->job_rank(rank), " has left, or its process has ended"))
                .worker(mates_->job_rank(rank));
        try {
            keep_going();
        } catch (const Failure &) {
            if (ready()) return; // the mate came before it, or another, ended the job
            throw;
        }
        sleep(ranks, stirs, kSliceNs);
    }
}

} // namespace mdist
