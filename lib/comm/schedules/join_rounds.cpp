// SPDX-License-Identifier: Apache-2.0
#include "comm/schedules/join_rounds.h"

#include <utility>

namespace mdist {

JoinRounds::JoinRounds(Link &link, const OperationHeader &mine, const JoinPlan &plan)
    : link_(link), mine_(mine), plan_(plan), rounds_(plan.rounds()) {
    std::size_t given = 0, taken = 0;
    for (uint32_t round = 0; round < rounds_.size(); ++round) {
        JoinPlan::Part &part = rounds_[round].part;
        part = plan.part(round, link.self());
        given += part.to.count, taken += part.from.count;
    }
    headers_.assign(given, mine);
    messages_ = std::vector<HeadedArrival>(taken);
    OperationHeader *header = headers_.data();
    HeadedArrival *message = messages_.data();
    for (Round &round : rounds_) {
        round.headers = std::exchange(header, header + round.part.to.count);
        round.messages = std::exchange(message, message + round.part.from.count);
    }
}

void JoinRounds::start() {
    give(0);
    for (uint32_t round = 0; round < rounds_.size(); ++round) listen(round);
}

void JoinRounds::give(uint32_t round) {
    const Round &own = rounds_[round];
    for (uint32_t i = 0; i < own.part.to.count; ++i) {
        const Message given = message(round, i);
        own.headers[i].payload_bytes = static_cast<uint32_t>(given.bytes);
        send_headed(link_, own.part.to[i], own.headers[i], given.data, sent_);
    }
}

void JoinRounds::listen(uint32_t round) {
    const Round &own = rounds_[round];
    for (uint32_t i = 0; i < own.part.from.count; ++i) own.messages[i].begin(link_, own.part.from[i]);
}

bool JoinRounds::advance() {
    do link_.progress();
    while (step());
    return joined_ == rounds_.size() && sent_.done();
}

bool JoinRounds::arrived(uint32_t round) const {
    const Round &own = rounds_[round];
    for (uint32_t i = 0; i < own.part.from.count; ++i)
        if (!own.messages[i].taken()) return false;
    return own.payloads.done();
}

/// Does what can be done now. Returns whether it posted something. It goes round by round: it looks at an early message
/// only after this worker has given its own. So if two workers disagree, neither fails before the other can find out.
bool JoinRounds::step() {
    bool posted = false;
    for (; joined_ < rounds_.size(); posted = true) {
        posted |= accept(joined_);
        if (!arrived(joined_)) break;
        join(joined_++);
    }
    return posted;
}

/// Checks the headers of a round's messages. Returns whether a payload of one is now being received.
bool JoinRounds::accept(uint32_t round) {
    Round &own = rounds_[round];
    bool posted = false;
    for (uint32_t i = 0; i < own.part.from.count; ++i) {
        HeadedArrival &message = own.messages[i];
        if (message.taken() || !message.has_come()) continue;
        message.check(mine_);
        posted |= message.take_payload(link_, room(round, i, message.payload_bytes()), own.payloads);
    }
    return posted;
}

const OperationHeader *JoinRounds::header_of(uint32_t worker) const {
    if (worker == link_.self()) return &mine_;
    for (uint32_t round = 0; round < rounds_.size(); ++round)
        for (uint32_t i = 0; i < part(round).from.count; ++i)
            if (plan_.block(round, worker) == other_block(round, i)) {
                const OperationHeader *const told = rounds_[round].messages[i].header();
                const bool same = told != nullptr && told->sequence == mine_.sequence && told->print == mine_.print;
                return same || worker == part(round).from[i] ? told : nullptr;
            }
    return nullptr;
}

} // namespace mdist
