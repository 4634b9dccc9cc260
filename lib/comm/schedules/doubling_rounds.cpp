// SPDX-License-Identifier: Apache-2.0
#include "comm/schedules/doubling_rounds.h"

#include <utility>

namespace mdist {

DoublingRounds::DoublingRounds(Link &link, const OperationHeader &mine, const DoublingPlan &plan)
    : link_(link), plan_(plan), rounds_(plan.rounds()) {
    std::size_t messages = 0;
    for (uint32_t round = 0; round < rounds_.size(); ++round) {
        rounds_[round].part = plan.part(round, link.self());
        rounds_[round].mine = mine;
        messages += rounds_[round].part.from.count;
    }
    messages_ = std::vector<HeadedArrival>(messages);
    HeadedArrival *next = messages_.data();
    for (Round &round : rounds_) round.messages = std::exchange(next, next + round.part.from.count);
}

void DoublingRounds::start(const void *payload, std::size_t bytes) {
    give(0, payload, bytes);
    for (Round &round : rounds_)
        for (uint32_t i = 0; i < round.part.from.count; ++i) round.messages[i].begin(link_, round.part.from[i]);
}

void DoublingRounds::give(uint32_t round, const void *payload, std::size_t bytes) {
    Round &own = rounds_[round];
    own.mine.payload_bytes = static_cast<uint32_t>(bytes);
    for (uint32_t i = 0; i < own.part.to.count; ++i) send_headed(link_, own.part.to[i], own.mine, payload, sent_);
}

bool DoublingRounds::advance() {
    do link_.progress();
    while (step());
    return joined_ == rounds_.size() && sent_.done();
}

bool DoublingRounds::arrived(uint32_t round) const {
    const Round &own = rounds_[round];
    for (uint32_t i = 0; i < own.part.from.count; ++i)
        if (!own.messages[i].taken()) return false;
    return own.payloads.done();
}

/// Does what can be done now. Returns whether it posted something. It goes round by round: it looks at an early message
/// only after this worker has given its own. So if two workers disagree, neither fails before the other can find out.
bool DoublingRounds::step() {
    bool posted = false;
    for (; joined_ < rounds_.size(); posted = true) {
        posted |= accept(joined_);
        if (!arrived(joined_)) break;
        join(joined_++);
    }
    return posted;
}

/// Checks the headers of a round's messages. Returns whether a payload of one is now being received.
bool DoublingRounds::accept(uint32_t round) {
    Round &own = rounds_[round];
    bool posted = false;
    for (uint32_t i = 0; i < own.part.from.count; ++i) {
        HeadedArrival &message = own.messages[i];
        if (message.taken() || !message.has_come()) continue;
        message.check(own.mine);
        posted |= message.take_payload(link_, room(round, i, message.payload_bytes()), own.payloads);
    }
    return posted;
}

bool DoublingRounds::has_come(uint32_t worker) const {
    if (worker == link_.self()) return true;
    for (uint32_t round = 0; round < rounds_.size(); ++round)
        for (uint32_t i = 0; i < part(round).from.count; ++i)
            if (plan_.block(round, worker) == other_block(round, i)) return rounds_[round].messages[i].has_come();
    return false;
}

} // namespace mdist
