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
    slot->round.store(++round_, std::memory_order_release);
}

void ShmMeeting::prepare(std::size_t bytes) const noexcept {
    constexpr std::size_t kLine = 64;
    constexpr std::size_t kMost = 512; // the processor goes on with longer payloads by itself
    const char *const slot = reinterpret_cast<const char *>(next());
    const std::size_t end = bytes <= ShmSlot::kTiny ? kLine : sizeof(ShmSlot) + std::min(bytes, kMost);
    for (std::size_t at = 0; at < end; at += kLine) __builtin_prefetch(slot + at, 1);
}

const char *ShmMeeting::await(uint32_t rank, std::size_t bytes, FunctionRef<void()> keep_going) const {
    bell_->await(
        rank, [&] { return has_come(rank); }, keep_going);
    require_same(rank);
    return slot_of(rank)->payload(bytes);
}

/// The mate must have come.
void ShmMeeting::require_same(uint32_t rank) const {
    const ShmSlot &theirs = *slot_of(rank);
    const OperationHeader &mine = own_slot(round_)->header;
    if (theirs.sequence != mine.sequence || theirs.print != mine.print)
        check_same(mine, mates_->job_rank(mates_->rank()), theirs.header, mates_->job_rank(rank));
}

void ShmMeeting::require_same() const {
    for (uint32_t rank = 0; rank < mates_->workers(); ++rank)
        if (rank != mates_->rank() && has_come(rank)) require_same(rank);
}

} // namespace mdist
