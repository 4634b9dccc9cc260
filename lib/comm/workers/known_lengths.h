// SPDX-License-Identifier: Apache-2.0
// Lengths of pieces as one worker knows them before the others have told theirs, and hashes to compare what is known.
// One thread at a time.
#pragma once

#include "comm/plan/plan.h"
#include "comm/workers/collective.h"

#include <cstdint>
#include <vector>

namespace mdist::workers {

/// The lengths of this worker's own pieces and joined sides, and of all pieces of an earlier call if they are given.
class KnownLengths final : public Lengths {
  public:
    /// `pieces` are by buffer, then by replica; empty if none are remembered. Refers to both arguments.
    KnownLengths(const Collective &asked, const std::vector<uint64_t> &pieces);

    uint32_t replicas() const override;
    uint64_t piece(uint32_t replica, std::size_t b) const override;
    uint64_t joined(uint32_t replica, std::size_t b) const override; // plans do not ask
    uint64_t given(uint32_t from, uint32_t to, std::size_t b) const override;
    uint64_t taken(uint32_t, uint32_t, std::size_t) const override { return 0; } // a giver need not know
    /// Whether this worker's pieces have the lengths that are remembered.
    bool own_pieces_fit() const;

  private:
    CallLengths own(uint32_t replica) const;

    const Collective &asked_;
    const CallLengths own_; // one call stands for all
    const std::vector<uint64_t> &pieces_;
};

/// By buffer, then by replica.
std::vector<uint64_t> pieces_of(const Lengths &lengths, std::size_t buffers);
uint64_t hash_of(const std::vector<uint64_t> &numbers, uint64_t begin = 0);

} // namespace mdist::workers
