// SPDX-License-Identifier: Apache-2.0
// ShmMeeting: how the workers of a job that all share memory begin an operation: everybody puts its header, and a
// payload if it has one, into its segment, and reads everybody else's.
//
// There are two slots, used in turn. That is enough: who publishes in a round has read all of the round before last,
// since nobody publishes before it has read the round before. One thread at a time.
#pragma once

#include "comm/operation_header.h"
#include "comm/shm/bell.h"
#include "comm/shm/mates.h"

#include <memory>

namespace mdist {

class ShmMeeting {
  public:
    ShmMeeting(std::shared_ptr<ShmMates> mates, std::shared_ptr<ShmBell> bell);

    /// The largest payload.
    std::size_t room() const { return room_; }
    /// Where this worker's payload of the next round goes.
    char *payload(std::size_t bytes) const { return next()->payload(bytes); }
    /// Begins the round; the payload is in place.
    void publish(const OperationHeader &mine);
    /// A mate's payload of this round, to be read until the next. Throws MISMATCH where the mate is in another
    /// operation, and what the bell throws.
    const char *await(uint32_t rank, std::size_t bytes, FunctionRef<void()> keep_going) const;
    /// Whether a mate has come to this round.
    bool has_come(uint32_t rank) const {
        return reinterpret_cast<const ShmSlot *>(mates_->of(rank, mates_->layout().slot(round_)))->round.load() ==
               round_;
    }
    /// This worker's own.
    const char *own_payload(std::size_t bytes) const { return own_slot(round_)->payload(bytes); }

  private:
    ShmSlot *own_slot(uint64_t round) const {
        return reinterpret_cast<ShmSlot *>(mates_->own(mates_->layout().slot(round)));
    }
    ShmSlot *next() const { return own_slot(round_ + 1); }

    std::shared_ptr<ShmMates> mates_;
    std::shared_ptr<ShmBell> bell_;
    std::size_t room_;
    uint64_t round_ = 0;
};

} // namespace mdist
