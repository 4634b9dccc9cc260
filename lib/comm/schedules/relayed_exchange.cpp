// SPDX-License-Identifier: Apache-2.0
#include "comm/schedules/relayed_exchange.h"

#include "comm/call/bad_message.h"
#include "util/round_up.h"
#include "util/text.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mdist {

RelayedExchange::RelayedExchange(Link &link, const OperationHeader &mine, const JoinPlan &plan,
                                 const SmallExchange::Bytes &payload, uint32_t giver, Scratch &scratch)
    : JoinRounds(link, mine, plan), giver_(giver), payloads_(link.parties()), own_(plan.rounds()), others_(messages()) {
    payloads_[link.self()] = payload;
    lay_out(scratch);
    if (gives(0)) write_block(0);
    start();
}

void RelayedExchange::lay_out(Scratch &scratch) {
    std::size_t total = 0;
    const auto each_message = [&](auto use) {
        for (uint32_t round = 0; round < rounds(); ++round) {
            if (gives(round)) use(own_[round], most_bytes(round, own_block(round)));
            for (uint32_t i = 0; i < part(round).from.count; ++i)
                use(others_[number(round, i)], most_bytes(round, other_block(round, i)));
        }
    };
    each_message([&](const Block &, std::size_t bytes) { total += bytes; });
    char *memory = scratch.take(total);
    each_message([&](Block &message, std::size_t bytes) { message.data = std::exchange(memory, memory + bytes); });
}

/// The largest size of a block's message.
std::size_t RelayedExchange::most_bytes(uint32_t round, uint32_t block) const {
    const uint32_t begin = plan().begin(round, block), end = plan().end(round, block), all = link().parties();
    const std::size_t workers = end - begin;
    const std::size_t payloads = giver_ == kEveryone               ? workers * round_up(most(all), kAlignment)
                                 : begin <= giver_ && giver_ < end ? round_up(most_of_one(all), kAlignment)
                                                                   : 0;
    return workers * sizeof(Length) + payloads;
}

/// Writes the message of the own block.
void RelayedExchange::write_block(uint32_t round) {
    const uint32_t begin = plan().begin(round, own_block(round)), end = plan().end(round, own_block(round));
    Block &message = own_[round];
    char *length = message.data, *to = length + (end - begin) * sizeof(Length);
    for (uint32_t worker = begin; worker < end; ++worker, length += sizeof(Length)) {
        const Length own = payloads_[worker].bytes;
        std::memcpy(length, &own, sizeof own);
        if (own != 0) std::memcpy(to, payloads_[worker].data, own);
        to += round_up(own, kAlignment);
    }
    message.bytes = static_cast<std::size_t>(to - message.data);
}

char *RelayedExchange::room(uint32_t round, uint32_t index, uint64_t bytes) {
    const uint32_t block = other_block(round, index);
    const uint64_t least = (plan().end(round, block) - plan().begin(round, block)) * sizeof(Length);
    const uint64_t most = most_bytes(round, block);
    if (bytes < least || bytes > most)
        throw bad_message(link().rank(part(round).from[index]),
                          text("an operation with a payload of ", bytes, " bytes instead of ", least, " to ", most));
    Block &message = others_[number(round, index)];
    message.bytes = bytes;
    return message.data;
}

/// Finds the payloads in another block's message. What mates get at last has this worker's own, too.
void RelayedExchange::read_block(uint32_t round, uint32_t index) {
    const uint32_t block = other_block(round, index);
    const uint32_t begin = plan().begin(round, block), end = plan().end(round, block);
    const Block &message = others_[number(round, index)];
    std::size_t at = (end - begin) * sizeof(Length);
    for (uint32_t worker = begin; worker < end; ++worker) {
        Length length = 0;
        std::memcpy(&length, message.data + (worker - begin) * sizeof length, sizeof length);
        if (length > message.bytes - at)
            throw bad_message(link().rank(part(round).from[index]),
                              text("a payload of ", length, " bytes where ", message.bytes - at, " are left"));
        if (worker != link().self()) payloads_[worker] = {message.data + at, length};
        at = std::min(at + round_up(length, kAlignment), message.bytes);
    }
}

void RelayedExchange::join(uint32_t round) {
    for (uint32_t i = 0; i < part(round).from.count; ++i) read_block(round, i);
    const uint32_t next = round + 1;
    if (next == rounds() || !gives(next)) return;
    write_block(next);
    give(next);
}

} // namespace mdist
