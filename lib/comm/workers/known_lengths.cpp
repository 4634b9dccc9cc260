// SPDX-License-Identifier: Apache-2.0
#include "comm/workers/known_lengths.h"

#include "util/fnv.h"

namespace mdist::workers {

KnownLengths::KnownLengths(const Collective &asked, const std::vector<uint64_t> &pieces)
    : asked_(asked), own_(Calls(asked.calls, 0, asked.workers.replica_count())), pieces_(pieces) {}

uint32_t KnownLengths::replicas() const {
    return asked_.workers.replica_count();
}

uint64_t KnownLengths::piece(uint32_t replica, std::size_t b) const {
    if (!has_parts(asked_.call().kind->pattern())) return own_.piece(replica, b);
    if (!pieces_.empty()) return pieces_[b * replicas() + replica];
    return asked_.has(replica) ? own(replica).piece(0, b) : 0;
}

uint64_t KnownLengths::joined(uint32_t replica, std::size_t b) const {
    return asked_.has(replica) ? own(replica).joined(0, b) : 0;
}

uint64_t KnownLengths::given(uint32_t from, uint32_t to, std::size_t b) const {
    if (!asked_.has(from)) return 0;
    const Call &call = asked_.call_of(from);
    return call.input_parts[b * call.part_count + to];
}

bool KnownLengths::own_pieces_fit() const {
    for (uint32_t slot = asked_.span().first; slot < asked_.span().last; ++slot) {
        const uint32_t replica = asked_.workers.position_of(slot);
        for (std::size_t b = 0; b < asked_.call().buffer_count; ++b)
            if (own(replica).piece(0, b) != piece(replica, b)) return false;
    }
    return true;
}

CallLengths KnownLengths::own(uint32_t replica) const {
    return CallLengths(Calls(asked_.calls + (asked_.workers.slot_of(replica) - asked_.span().first), 0, 1));
}

std::vector<uint64_t> pieces_of(const Lengths &lengths, std::size_t buffers) {
    std::vector<uint64_t> pieces;
    for (std::size_t b = 0; b < buffers; ++b)
        for (uint32_t replica = 0; replica < lengths.replicas(); ++replica) pieces.push_back(lengths.piece(replica, b));
    return pieces;
}

uint64_t hash_of(const std::vector<uint64_t> &numbers, uint64_t begin) {
    return fnv1a({reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(uint64_t)}) ^ begin;
}

} // namespace mdist::workers
