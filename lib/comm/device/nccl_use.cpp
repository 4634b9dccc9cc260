// SPDX-License-Identifier: Apache-2.0
#include "comm/device/nccl_use.h"

#include "util/clock.h"
#include "util/failure.h"
#include "util/process_wide.h"
#include "util/text.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>

namespace mdist {

/// What NCCL does on one card.
struct NcclUse::Card {
    uint64_t last = 0;                  // the use whose operation was given last; this and `mark` belong to the turn
    Event mark;                         // after it
    std::vector<uint64_t> with_workers; // uses of strategies with other workers; guarded by Cards::mutex

    /// Returns false if others had the card all the time.
    bool take(uint64_t timeout_ns) {
        std::unique_lock lock(mutex_);
        const std::chrono::nanoseconds limit(std::min<uint64_t>(timeout_ns, INT64_MAX / 4));
        if (!left_.wait_for(lock, limit, [this] { return !taken_; })) return false;
        taken_ = true;
        return true;
    }
    void leave() noexcept {
        {
            const std::lock_guard lock(mutex_);
            taken_ = false;
        }
        left_.notify_one();
    }

  private:
    std::mutex mutex_; // not a std::timed_mutex: gcc 12's thread sanitizer does not see its timed lock
    std::condition_variable left_;
    bool taken_ = false;
};

struct NcclUse::Cards {
    std::mutex mutex;
    std::map<int32_t, Card> all; // by the number of the GPU
    uint64_t uses = 0;

    uint64_t count() {
        const std::lock_guard lock(mutex);
        return ++uses;
    }
};

NcclUse::NcclUse(Lanes &lanes, bool has_workers)
    : lanes_(lanes), number_(process_wide<Cards>().count()), has_workers_(has_workers) {
    Cards &cards = process_wide<Cards>();
    const std::lock_guard lock(cards.mutex);
    for (const auto &lane : lanes_.all()) {
        const int32_t index = lane->gpu().index();
        Card &card = cards.all[index];
        cards_.push_back(&card);
        if (!has_workers_) continue;
        card.with_workers.reserve(card.with_workers.size() + 1);
        if (!card.with_workers.empty() && obstacle_.empty())
            obstacle_ = text("another strategy of this process uses NCCL on gpu:", index,
                             " with other workers, and operations of two such strategies could wait for each other. "
                             "Destroy that strategy first, or give this one other GPUs");
    }
    // From here on nothing can fail: without a destructor that runs, a use would keep its cards for ever.
    for (Card *const card : cards_)
        if (has_workers_) card->with_workers.push_back(number_);
}

NcclUse::~NcclUse() {
    const std::lock_guard lock(process_wide<Cards>().mutex);
    for (Card *const card : cards_) std::erase(card->with_workers, number_);
}

NcclUse::Turn::Turn(NcclUse &use, uint64_t timeout_ns) : use_(use) {
    if (use_.cards_.size() < 2) return;
    const uint64_t begin = monotonic_clock().now_ns();
    std::vector<std::size_t> order(use_.cards_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto number = [&](std::size_t i) { return use_.lanes_.all()[i]->gpu().index(); };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return number(a) < number(b); });
    taken_.reserve(order.size());
    try {
        for (const std::size_t i : order) {
            Card &card = *use_.cards_[i];
            const uint64_t left = timeout_ns - std::min(timeout_ns, monotonic_clock().now_ns() - begin);
            if (!card.take(left))
                throw Failure(
                    MDIST_ERR_TIMEOUT,
                    text("gpu:", number(i), ": another strategy or group of this process has kept NCCL busy for ",
                         timeout_ns / 1'000'000, " ms; let its operations end first, or raise communication.timeout"))
                    .reason("nccl_timeout");
            taken_.push_back(&card);
            if (card.last != use_.number_) use_.lanes_.all()[i]->wait_for(card.mark);
        }
    } catch (...) {
        leave();
        throw;
    }
}

NcclUse::Turn::~Turn() {
    leave();
}

void NcclUse::Turn::leave() noexcept {
    for (Card *const card : taken_) card->leave();
    taken_.clear();
}

void NcclUse::Turn::mark() {
    for (std::size_t i = 0; i < use_.cards_.size() && !taken_.empty(); ++i) {
        use_.cards_[i]->mark = use_.lanes_.all()[i]->record();
        use_.cards_[i]->last = use_.number_;
    }
}

} // namespace mdist
