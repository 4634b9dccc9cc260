// SPDX-License-Identifier: Apache-2.0
// Lengths: how long each replica's buffers are in a call, as far as a plan depends on it.
//
// In a gather the inputs are the pieces, and the output is all pieces joined in replica order. In a scatter or
// reduce-scatter the outputs are the pieces. In all other calls every replica's piece has the same length, except in a
// transpose of parts, where each replica has a part for each other.
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
    /// In a transpose of parts: what `from` gives to `to`, and what `to` takes from `from`, as each says.
    virtual uint64_t given(uint32_t from, uint32_t to, std::size_t buffer) const = 0;
    virtual uint64_t taken(uint32_t to, uint32_t from, std::size_t buffer) const = 0;

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
    uint64_t given(uint32_t from, uint32_t to, std::size_t buffer) const override {
        return calls_[from].input_parts[buffer * calls_[from].part_count + to];
    }
    uint64_t taken(uint32_t to, uint32_t from, std::size_t buffer) const override {
        return calls_[to].output_parts[buffer * calls_[to].part_count + from];
    }

  private:
    const Calls calls_;
    const bool pieces_are_outputs_;
};

/// The lengths that workers have told each other.
class ToldLengths final : public Lengths {
  public:
    /// The numbers that a worker sends for each buffer of each of its replicas: piece and joined; in a transpose of
    /// parts what it gives to each replica, then what it takes from each.
    static std::size_t width(const Call &call) { return call.input_parts != nullptr ? 2 * call.part_count : 2; }
    static std::vector<uint64_t> table_of(const Call *const *calls, uint32_t replicas);

    /// `tables` holds each worker's table as bytes, in worker order. Throws DATA_LOSS if one is not such a table.
    /// `group` is the group's layout if `spans` are of its slots.
    ToldLengths(const std::vector<std::string> &tables, const Spans &spans, std::size_t buffers, std::size_t width = 2,
                const GroupLayout *group = nullptr);

    uint32_t replicas() const override { return replicas_; }
    uint64_t piece(uint32_t replica, std::size_t buffer) const override { return slot(replica, buffer)[0]; }
    uint64_t joined(uint32_t replica, std::size_t buffer) const override { return slot(replica, buffer)[1]; }
    uint64_t given(uint32_t from, uint32_t to, std::size_t buffer) const override { return slot(from, buffer)[to]; }
    uint64_t taken(uint32_t to, uint32_t from, std::size_t buffer) const override {
        return slot(to, buffer)[replicas_ + from];
    }

  private:
    const uint64_t *slot(uint32_t replica, std::size_t buffer) const {
        const std::size_t slot = slots_.empty() ? replica : slots_[replica];
        return table_.data() + (slot * buffers_ + buffer) * width_;
    }

    const uint32_t replicas_;
    const std::size_t buffers_;
    const std::size_t width_;
    std::vector<uint32_t> slots_; // by replica; empty: the same
    std::vector<uint64_t> table_;
};

/// Throws MISMATCH, the same on all replicas, if the pieces do not add up to some replica's joined side; or if a
/// replica gives another a part of another length than that one takes.
void check_lengths(const Lengths &lengths, const Call &call);

/// Throws INVALID_ARGUMENT if a buffer works in place but does not start `offset` elements into the joined side.
void check_place(const Call &call, uint32_t replica, std::size_t buffer, uint64_t offset);

} // namespace mdist
