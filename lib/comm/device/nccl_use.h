// SPDX-License-Identifier: Apache-2.0
// NcclUse: one user's communicators on its cards, among all users of the process: strategies, and groups of replicas.
//
// NCCL's kernels wait for each other across cards. If the kernels of two users started in one order on one card, and in
// another order on another, none of them would end. So each operation is given to all cards in one turn, and waits there
// for the operations of earlier turns. This fixes the order within a process, but not among workers: two strategies that
// both have other workers may not share a card, and a group that spans workers gets no communicators. A user without
// other workers may share cards with one that has some. An operation gets its turn when all its replicas, on all
// workers, have called it, so nothing that comes before it can wait for an operation behind it. Any thread.
#pragma once

#include "comm/device/lanes.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mdist {

class NcclUse {
    struct Card;

  public:
    /// `has_workers`: whether the operations have other workers.
    NcclUse(Lanes &lanes, bool has_workers);
    ~NcclUse();
    NcclUse(const NcclUse &) = delete;
    NcclUse &operator=(const NcclUse &) = delete;

    /// Why this user may not use NCCL; "" if it may.
    const std::string &obstacle() const { return obstacle_; }

    /// A turn: while it exists, no other user of the process gives NCCL anything on these cards. With one card,
    /// nothing can get out of order, and it does nothing.
    class Turn {
      public:
        /// Waits for other turns. Has the lanes wait for what was given in them. Throws DEVICE, TIMEOUT.
        Turn(NcclUse &use, uint64_t timeout_ns);
        ~Turn();
        Turn(const Turn &) = delete;
        Turn &operator=(const Turn &) = delete;
        /// Call it after giving NCCL the operation. Throws DEVICE.
        void mark();

      private:
        void leave() noexcept;

        NcclUse &use_;
        std::vector<Card *> taken_; // in the order of their numbers
    };

  private:
    struct Cards;

    Lanes &lanes_;
    const uint64_t number_; // of all uses in the process
    const bool has_workers_;
    std::vector<Card *> cards_; // by lane
    std::string obstacle_;
};

} // namespace mdist
