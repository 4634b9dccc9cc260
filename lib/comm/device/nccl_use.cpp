// SPDX-License-Identifier: Apache-2.0
#include "comm/device/nccl_use.h"

#include "util/clock.h"
#include "util/failure.h"
#include "util/process_wide.h"
#include "util/text.h"

#include <algorithm>
#include <chrono>
#include <map>

namespace mdist {

/// What NCCL does on one card.
struct NcclUse::Card {
    std::timed_mutex turn;              // guards `last` and `mark`
    uint64_t last = 0;                  // the use whose operation was given last
    Event mark;                         // after it
    std::vector<uint64_t> with_workers; // uses of strategies with other workers; guarded by Cards::mutex
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
        if (!card.with_workers.empty() && obstacle_.empty())
            obstacle_ = text("another strategy of this process uses NCCL on gpu:", index,
                             " with other workers, and operations of two such strategies could wait for each other. "
                             "Destroy that strategy first, or give this one other GPUs");
        card.with_workers.push_back(number_);
    }
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
    for (const std::size_t i : order) {
        Card &card = *use_.cards_[i];
        const uint64_t left = timeout_ns - std::min(timeout_ns, monotonic_clock().now_ns() - begin);
        std::unique_lock lock(card.turn, std::defer_lock);
        if (!lock.try_lock_for(std::chrono::nanoseconds(std::min<uint64_t>(left, INT64_MAX / 4))))
            throw Failure(MDIST_ERR_TIMEOUT,
                          text("gpu:", number(i), ": another strategy of this process has kept NCCL busy for ",
                               timeout_ns / 1'000'000, " ms"))
                .reason("nccl_timeout");
        locks_.push_back(std::move(lock));
        if (card.last != use_.number_) use_.lanes_.all()[i]->wait_for(card.mark);
    }
}

void NcclUse::Turn::mark() {
    for (std::size_t i = 0; i < use_.cards_.size() && !locks_.empty(); ++i) {
        use_.cards_[i]->mark = use_.lanes_.all()[i]->record();
        use_.cards_[i]->last = use_.number_;
    }
}

} // namespace mdist
