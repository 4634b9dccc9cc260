// SPDX-License-Identifier: Apache-2.0
// Lengths: how long each replica's buffers are in a call, as far as a plan depends on it.
//
// In a gather the inputs are the pieces, and the output is all pieces joined in replica order. In a scatter or
// reduce-scatter the outputs are the pieces. In all other calls every replica's piece has the same length.
#pragma once

#include "comm/call/calls.h"
#include "comm/plan/group_layout.h"
#include "reduce/spans.h"

#include <cstdint>
#include <vector>

namespace mdist {

class Lengths {
  public:
    virtual ~Lengths() = default;

    virtual uint32_t replicas() const = 0;
    /// Elements of that replica's piece.
    virtual uint64_t piece(uint32_t replica, std::size_t buffer) const = 0;
    /// Elements of that replica's joined side: the buffer that takes or gives all pieces.
    virtual uint64_t joined(uint32_t replica, std::size_t buffer) const = 0;

    /// Elements of all pieces before that replica's.
    uint64_t offset(uint32_t replica, std::size_t buffer) const;
};

/// The lengths of calls that this process can read. With a stride of 0, one call stands for all replicas' calls.
class CallLengths final : public Lengths {
  public:
    explicit CallLengths(const Calls &calls) : CallLengths(calls, calls[0]) {}
    /// `one` is any of the calls that is certain to be there. Others may have ended if the work that is left needs none
    /// of them.
    CallLengths(const Calls &calls, const Call &one);
    uint32_t replicas() const override { return calls_.count(); }
    uint64_t piece(uint32_t replica, std::size_t buffer) const override;
    uint64_t joined(uint32_t replica, std::size_t buffer) const override;

  private:
    const Calls calls_;
    const bool pieces_are_outputs_;
};

/// The lengths that workers have told each other.
class ToldLengths final : public Lengths {
  public:
    /// The table that a worker sends: piece and joined for each buffer of each of its replicas.
    static std::vector<uint64_t> table_of(const Call *const *calls, uint32_t replicas);

    /// `tables` holds each worker's table as bytes, in worker order. Throws DATA_LOSS if one is not such a table.
    /// `group` is the group's layout if `spans` are of its slots.
    ToldLengths(const std::vector<std::vector<char>> &tables, const Spans &spans, std::size_t buffers,
                const GroupLayout *group = nullptr);

    uint32_t replicas() const override { return replicas_; }
    uint64_t piece(uint32_t replica, std::size_t buffer) const override { return slot(replica, buffer)[0]; }
    uint64_t joined(uint32_t replica, std::size_t buffer) const override { return slot(replica, buffer)[1]; }

  private:
    const uint64_t *slot(uint32_t replica, std::size_t buffer) const {
        const std::size_t slot = slots_.empty() ? replica : slots_[replica];
        return table_.data() + (slot * buffers_ + buffer) * 2;
    }

    const uint32_t replicas_;
    const std::size_t buffers_;
    std::vector<uint32_t> slots_; // by replica; empty: the same
    std::vector<uint64_t> table_;
};

/// Throws MISMATCH, the same on all replicas, if the pieces do not add up to some replica's joined side.
void check_lengths(const Lengths &lengths, const Call &call);

/// Throws INVALID_ARGUMENT if a buffer works in place but does not start `offset` elements into the joined side.
void check_place(const Call &call, uint32_t replica, std::size_t buffer, uint64_t offset);

} // namespace mdist
