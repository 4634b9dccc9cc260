// SPDX-License-Identifier: Apache-2.0
#include "comm/shm/meeting.h"

#include <algorithm>

namespace mdist {

ShmMeeting::ShmMeeting(std::shared_ptr<ShmMates> mates, std::shared_ptr<ShmBell> bell)
    : mates_(std::move(mates)), bell_(std::move(bell)), room_(mates_->layout().sizes().small_bytes) {}

void ShmMeeting::publish(const OperationHeader &mine) {
    ShmSlot *const slot = next();
    slot->sequence = mine.sequence;
    slot->print = mine.print;
    slot->header = mine;
    slot->round.store(++round_, std::memory_order_seq_cst);
    bell_->ring();
}

void ShmMeeting::prepare(std::size_t bytes) const noexcept {
    constexpr std::size_t kLine = 64;
    constexpr std::size_t kMost = 512; // the processor goes on with longer payloads by itself
    const char *const slot = reinterpret_cast<const char *>(next());
    const std::size_t end = bytes <= ShmSlot::kTiny ? kLine : sizeof(ShmSlot) + std::min(bytes, kMost);
    for (std::size_t at = 0; at < end; at += kLine) __builtin_prefetch(slot + at, 1);
}

const char *ShmMeeting::await(uint32_t rank, std::size_t bytes, FunctionRef<void()> keep_going) const {
    const auto *const slot = reinterpret_cast<const ShmSlot *>(mates_->of(rank, mates_->layout().slot(round_)));
    bell_->await(
        rank, [&] { return slot->round.load(std::memory_order_seq_cst) == round_; }, keep_going);
    const OperationHeader &mine = own_slot(round_)->header;
    if (slot->sequence != mine.sequence || slot->print != mine.print)
        check_same(mine, mates_->job_rank(mates_->rank()), slot->header, mates_->job_rank(rank));
    return slot->payload(bytes);
}

} // namespace mdist
