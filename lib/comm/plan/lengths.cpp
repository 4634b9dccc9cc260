// SPDX-License-Identifier: Apache-2.0
#include "comm/plan/lengths.h"

#include "comm/call/bad_message.h"
#include "util/dtype.h"
#include "util/failure.h"
#include "util/text.h"

#include <cstring>
#include <string>

namespace mdist {
namespace {

/// Whether the pieces are the outputs.
bool gives_pieces(const Call &call) {
    switch (pattern_of(call)) {
        case Pattern::kReduceScatter:
        case Pattern::kFromRoot:
        case Pattern::kBroadcast:
        case Pattern::kFirst:
            return true;
        default:
            return false;
    }
}

const mdist_buffer_t &piece_of(const Call &call, std::size_t b) {
    return (gives_pieces(call) ? call.outputs : call.inputs)[b];
}

const mdist_buffer_t &joined_of(const Call &call, std::size_t b) {
    return (gives_pieces(call) ? call.inputs : call.outputs)[b];
}

const char *name_of_pieces(const Call &call) {
    return gives_pieces(call) ? "output" : "input";
}

const char *name_of_joined(const Call &call) {
    return gives_pieces(call) ? "input" : "output";
}

} // namespace

uint64_t Lengths::offset(uint32_t replica, std::size_t buffer) const {
    uint64_t offset = 0;
    for (uint32_t before = 0; before < replica; ++before) offset += piece(before, buffer);
    return offset;
}

CallLengths::CallLengths(const Calls &calls, const Call &one) : calls_(calls), pieces_are_outputs_(gives_pieces(one)) {}

uint64_t CallLengths::piece(uint32_t replica, std::size_t buffer) const {
    const Call &call = calls_[replica];
    return (pieces_are_outputs_ ? call.outputs : call.inputs)[buffer].elements;
}

uint64_t CallLengths::joined(uint32_t replica, std::size_t buffer) const {
    const Call &call = calls_[replica];
    return (pieces_are_outputs_ ? call.inputs : call.outputs)[buffer].elements;
}

std::vector<uint64_t> ToldLengths::table_of(const Call *const *calls, uint32_t replicas) {
    const CallLengths own(Calls(calls, sizeof *calls, replicas));
    std::vector<uint64_t> table;
    for (uint32_t local = 0; local < replicas; ++local) {
        for (std::size_t b = 0; b < calls[local]->buffer_count; ++b) {
            table.push_back(own.piece(local, b));
            table.push_back(own.joined(local, b));
        }
    }
    return table;
}

ToldLengths::ToldLengths(const std::vector<std::vector<char>> &tables, const Spans &spans, std::size_t buffers,
                         const GroupLayout *group)
    : replicas_(spans.replicas()), buffers_(buffers), table_(replicas_ * buffers * 2) {
    if (group != nullptr) slots_ = group->slots;
    const auto rank = [&](uint32_t worker) { return group != nullptr ? group->ranks[worker] : worker; };
    const auto slot = [&](uint32_t replica) { return group != nullptr ? group->slots[replica] : replica; };
    for (uint32_t worker = 0; worker < spans.workers(); ++worker) {
        const std::size_t bytes = spans[worker].count() * buffers * 2 * sizeof(uint64_t);
        if (tables[worker].size() != bytes)
            throw bad_message(rank(worker),
                              text("a table of lengths of ", tables[worker].size(), " bytes instead of ", bytes));
        if (bytes != 0) std::memcpy(table_.data() + spans[worker].first * buffers * 2, tables[worker].data(), bytes);
    }
    // A sum that wraps around would put a piece outside the joined buffer.
    for (std::size_t b = 0; b < buffers; ++b) {
        uint64_t sum = 0;
        for (uint32_t replica = 0; replica < replicas_; ++replica)
            if (__builtin_add_overflow(sum, piece(replica, b), &sum))
                throw bad_message(
                    rank(spans.worker_of(slot(replica))),
                    text("the length ", piece(replica, b), " for a piece, which is larger than any piece can be"));
    }
}

void check_lengths(const Lengths &lengths, const Call &call) {
    for (std::size_t b = 0; b < call.buffer_count; ++b) {
        const uint64_t sum = lengths.offset(lengths.replicas(), b);
        for (uint32_t replica = 0; replica < lengths.replicas(); ++replica) {
            if (has_root(call.kind->pattern()) && replica != call.root) continue; // only the root has the joined side
            const uint64_t joined = lengths.joined(replica, b);
            if (joined == sum) continue;
            throw Failure(MDIST_ERR_MISMATCH,
                          text(name_of_joined(call), " ", b, " of replica ", call.id_of(replica), " has ", joined,
                               " elements; the ", name_of_pieces(call), "s of all replicas together have ", sum))
                .operation(call.kind->name())
                .replica(call.id_of(replica));
        }
    }
}

void check_place(const Call &call, uint32_t replica, std::size_t b, uint64_t offset) {
    const mdist_buffer_t &piece = piece_of(call, b);
    const mdist_buffer_t &joined = joined_of(call, b);
    if (piece.elements == 0) return;
    const std::size_t size = dtype_size(piece.dtype);
    const auto begin = reinterpret_cast<uintptr_t>(joined.data);
    const auto at = reinterpret_cast<uintptr_t>(piece.data);
    const bool inside = at < begin + joined.elements * size && begin < at + piece.elements * size;
    if (!inside || at == begin + offset * size) return;
    const bool at_element = at >= begin && (at - begin) % size == 0;
    const std::string place = at_element    ? text("at element ", (at - begin) / size)
                              : at >= begin ? text("at byte ", at - begin)
                                            : text(begin - at, " bytes before it");
    throw Failure(MDIST_ERR_INVALID_ARGUMENT,
                  text(call.kind->name(), ": in-place ", name_of_pieces(call), " ", b, " of replica ",
                       call.id_of(replica), " must start at element ", offset, " of ", name_of_joined(call), " ", b,
                       ", not ", place, ". Otherwise give it separate memory"))
        .operation(call.kind->name())
        .replica(call.id_of(replica));
}

} // namespace mdist
