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

bool gives_pieces(const Call &call) {
    return call.kind->traits().gives_pieces();
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
        const Call &call = *calls[local];
        for (std::size_t b = 0; b < call.buffer_count; ++b) {
            if (call.input_parts != nullptr) {
                for (const uint64_t *parts : {call.input_parts, call.output_parts})
                    table.insert(table.end(), parts + b * call.part_count, parts + (b + 1) * call.part_count);
                continue;
            }
            table.push_back(own.piece(local, b));
            table.push_back(own.joined(local, b));
        }
    }
    return table;
}

ToldLengths::ToldLengths(const std::vector<std::string> &tables, const Spans &spans, std::size_t buffers,
                         std::size_t width, const GroupLayout *group)
    : replicas_(spans.replicas()), buffers_(buffers), width_(width), table_(replicas_ * buffers * width) {
    if (group != nullptr) slots_ = group->slots;
    const auto rank = [&](uint32_t worker) { return group != nullptr ? group->ranks[worker] : worker; };
    const auto slot = [&](uint32_t replica) { return group != nullptr ? group->slots[replica] : replica; };
    for (uint32_t worker = 0; worker < spans.workers(); ++worker) {
        const std::size_t bytes = spans[worker].count() * buffers * width * sizeof(uint64_t);
        if (tables[worker].size() != bytes)
            throw bad_message(rank(worker),
                              text("a table of lengths of ", tables[worker].size(), " bytes instead of ", bytes));
        if (bytes != 0)
            std::memcpy(table_.data() + spans[worker].first * buffers * width, tables[worker].data(), bytes);
    }
    // A sum that wraps around would put a piece outside the joined buffer. (Parts are compared with this worker's own.)
    for (std::size_t b = 0; b < buffers && width == 2; ++b) {
        uint64_t sum = 0;
        for (uint32_t replica = 0; replica < replicas_; ++replica)
            if (__builtin_add_overflow(sum, piece(replica, b), &sum))
                throw bad_message(
                    rank(spans.worker_of(slot(replica))),
                    text("the length ", piece(replica, b), " for a piece, which is larger than any piece can be"));
    }
}

namespace {

void check_parts_agree(const Lengths &lengths, const Call &call) {
    for (std::size_t b = 0; b < call.buffer_count; ++b)
        for (uint32_t from = 0; from < lengths.replicas(); ++from)
            for (uint32_t to = 0; to < lengths.replicas(); ++to) {
                const uint64_t given = lengths.given(from, to, b);
                const uint64_t taken = lengths.taken(to, from, b);
                if (given == taken) continue;
                throw Failure(MDIST_ERR_MISMATCH,
                              text("replica ", call.id_of(from), " gives ", given, " elements of input ", b,
                                   " to replica ", call.id_of(to), ", which takes ", taken, " from it into output ", b,
                                   "; both replicas must name the same number"))
                    .operation(call.kind->name())
                    .replica(call.id_of(to));
            }
}

} // namespace

void check_lengths(const Lengths &lengths, const Call &call) {
    if (call.kind->pattern() == Pattern::kTransposeParts) return check_parts_agree(lengths, call);
    for (std::size_t b = 0; b < call.buffer_count; ++b) {
        const uint64_t sum = lengths.offset(lengths.replicas(), b);
        for (uint32_t replica = 0; replica < lengths.replicas(); ++replica) {
            if (call.kind->traits().has_root && replica != call.root) continue; // only the root has the joined side
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
    if (call.kind->pattern() == Pattern::kTransposeParts) return; // never in place
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
