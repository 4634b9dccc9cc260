// SPDX-License-Identifier: Apache-2.0
#include "comm/schedules/relayed_agreement.h"

#include "comm/call/bad_message.h"
#include "util/round_up.h"
#include "util/text.h"

#include <cstring>
#include <utility>

namespace mdist {

RelayedAgreement::RelayedAgreement(Link &link, const OperationHeader &mine, const JoinPlan &plan,
                                   const Link::Message &payload, uint32_t giver, Scratch &scratch)
    : JoinRounds(link, mine, plan),
      giver_(giver),
      payloads_(link.parties()),
      come_(messages()),
      memory_(scratch.take(most_bytes(0, link.parties()))),
      begin_(memory_ + most_bytes(0, link.self())) { // lower blocks' messages will stand in front
    payloads_[link.self()] = payload;
    const Length length = payload.bytes;
    std::memcpy(begin_, &length, sizeof length);
    if (length != 0) std::memcpy(begin_ + sizeof length, payload.data, length);
    end_ = begin_ + sizeof length + round_up(payload.bytes, kAlignment);
    start();
}

/// The largest message of the workers from `begin` to `end` - 1.
std::size_t RelayedAgreement::most_bytes(uint32_t begin, uint32_t end) const {
    const uint32_t all = link().parties();
    const std::size_t lengths = (end - begin) * sizeof(Length);
    if (giver_ == kEveryone) return lengths + (end - begin) * most(all);
    return lengths + (begin <= giver_ && giver_ < end ? most_of_one(all) : 0);
}

char *RelayedAgreement::room(uint32_t round, uint32_t index, uint64_t bytes) {
    const uint32_t block = other_block(round, index);
    const uint32_t begin = plan().begin(round, block), end = plan().end(round, block);
    const uint64_t least = (end - begin) * sizeof(Length), most = most_bytes(begin, end);
    if (bytes < least || bytes > most || bytes % kAlignment != 0)
        throw bad_message(link().rank(part(round).from[index]),
                          text("an operation with a payload of ", bytes, " bytes instead of ", least, " to ", most,
                               ", a multiple of ", kAlignment));
    come_[number(round, index)] = bytes;
    return place(round, index);
}

/// Where a message of another block is received. Mates' messages come together, so it is not known yet how long those
/// in front are. What mates get at last has this worker's own, too.
char *RelayedAgreement::place(uint32_t round, uint32_t index) const {
    const uint32_t block = other_block(round, index), own = own_block(round);
    if (block == own) return memory_;
    if (block < own) return begin_ - come_[number(round, index)];
    return end_ + most_bytes(plan().end(round, own), plan().begin(round, block));
}

/// Puts the messages that have come beside the own one.
void RelayedAgreement::join(uint32_t round) {
    char *begin = begin_, *end = end_;
    for (uint32_t i = 0; i < part(round).from.count; ++i) {
        const uint32_t block = other_block(round, i), own = own_block(round);
        const std::size_t bytes = come_[number(round, i)];
        char *at = place(round, i);
        if (block < own) begin = at;
        if (block > own) {
            if (at != end) std::memmove(end, at, bytes);
            at = std::exchange(end, end + bytes);
        }
        read(round, i, at);
    }
    begin_ = begin, end_ = end;
    const uint32_t next = round + 1;
    if (next < rounds() && gives(next)) give(next);
}

/// Finds the payloads in another block's message.
void RelayedAgreement::read(uint32_t round, uint32_t index, const char *from) {
    const uint32_t block = other_block(round, index), worker_behind = plan().end(round, block);
    const char *at = from, *const end = from + come_[number(round, index)];
    for (uint32_t worker = plan().begin(round, block); worker < worker_behind; ++worker) {
        const auto left = static_cast<std::size_t>(end - at);
        Length length = left;
        if (left >= sizeof length) std::memcpy(&length, at, sizeof length);
        if (left < sizeof length || length > left - sizeof length)
            throw bad_message(link().rank(part(round).from[index]),
                              text("a payload of ", length, " bytes where ", left, " are left for it and its length"));
        at += sizeof length;
        if (worker != link().self()) payloads_[worker] = {at, length};
        at += round_up(length, Length{kAlignment});
    }
    if (at != end)
        throw bad_message(link().rank(part(round).from[index]), text(end - at, " bytes behind its payloads"));
}

} // namespace mdist
