// SPDX-License-Identifier: Apache-2.0
// ShmMeeting: how the workers of a job that all share memory begin an operation. Each worker puts its header, and a
// payload if it has one, into its own segment, and reads those of all others.
//
// There are two slots, used alternately. Two are enough: a worker publishes round N + 2 only after every mate has come
// to round N + 1, here or by a message. A mate does that when it is done with round N, so that round's slot can be
// reused. One thread at a time.
#pragma once

#include "comm/call/operation_header.h"
#include "comm/shm/bell.h"
#include "comm/shm/mates.h"

#include <memory>

namespace mdist {

class ShmMeeting {
  public:
    ShmMeeting(std::shared_ptr<ShmMates> mates, std::shared_ptr<ShmBell> bell);

    /// The largest payload.
    std::size_t room() const { return room_; }
    /// Where to put this worker's payload of the next round.
    char *payload(std::size_t bytes) const { return next()->payload(bytes); }
    /// Asks for the lines of the next round's slot, whose bytes the mates have read last. Call it when all mates have
    /// come to this round: before that they may still read there.
    void prepare(std::size_t bytes) const noexcept;
    /// Begins the round. The payload must be in place. Mates that sleep do not wake before ring(), which may be called
    /// after await(): until the line of the slot has come to this core, the fence in ring() would hold up all loads.
    void publish(const OperationHeader &mine);
    void ring() { bell_->ring(); }
    /// Returns a mate's payload of this round, valid until the next round. Throws MISMATCH if the mate is in another
    /// operation, and what the bell throws.
    const char *await(uint32_t rank, std::size_t bytes, FunctionRef<void()> keep_going) const;
    /// Whether a mate has come to this round.
    bool has_come(uint32_t rank) const { return slot_of(rank)->round.load(std::memory_order_seq_cst) == round_; }
    /// What a mate has come to in this round; nullptr if it has not come.
    const OperationHeader *header_of(uint32_t rank) const { return has_come(rank) ? &slot_of(rank)->header : nullptr; }
    /// Throws MISMATCH if a mate has come to another operation in this round. Does not wait.
    void require_same() const;
    /// How many long waits there were on the bell.
    uint64_t waits() const { return bell_->long_waits(); }
    /// This worker's own.
    const char *own_payload(std::size_t bytes) const { return own_slot(round_)->payload(bytes); }

  private:
    ShmSlot *own_slot(uint64_t round) const {
        return reinterpret_cast<ShmSlot *>(mates_->own(mates_->layout().slot(round)));
    }
    const ShmSlot *slot_of(uint32_t rank) const {
        return reinterpret_cast<const ShmSlot *>(mates_->of(rank, mates_->layout().slot(round_)));
    }
    void require_same(uint32_t rank) const;
    ShmSlot *next() const { return own_slot(round_ + 1); }

    std::shared_ptr<ShmMates> mates_;
    std::shared_ptr<ShmBell> bell_;
    std::size_t room_;
    uint64_t round_ = 0;
};

} // namespace mdist
