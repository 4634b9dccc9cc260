// SPDX-License-Identifier: Apache-2.0
#include "comm/schedules/doubling_rounds.h"

namespace mdist {

DoublingRounds::DoublingRounds(Link &link, const OperationHeader &mine, const DoublingPlan &plan)
    : link_(link), plan_(plan), rounds_(plan.rounds()) {
    for (uint32_t round = 0; round < rounds_.size(); ++round) {
        rounds_[round].part = plan.part(round, link.self());
        rounds_[round].mine = mine;
    }
}

void DoublingRounds::start(const void *payload, std::size_t bytes) {
    give(0, payload, bytes);
    for (Round &round : rounds_)
        if (round.part.from != DoublingPlan::kNobody) round.message.begin(link_, round.part.from);
}

void DoublingRounds::give(uint32_t round, const void *payload, std::size_t bytes) {
    Round &own = rounds_[round];
    own.mine.payload_bytes = static_cast<uint32_t>(bytes);
    for (uint32_t to = own.part.to_begin; to < own.part.to_end; to += own.part.to_step)
        send_headed(link_, to, own.mine, payload, sent_);
}

bool DoublingRounds::advance() {
    do link_.progress();
    while (step());
    return joined_ == rounds_.size() && sent_.done();
}

bool DoublingRounds::arrived(uint32_t round) const {
    return !has_other_block(round) || (rounds_[round].message.taken() && rounds_[round].payload.done());
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

/// Checks the header of a round's message. Returns whether its payload is now being received.
bool DoublingRounds::accept(uint32_t round) {
    Round &own = rounds_[round];
    if (own.message.taken() || !own.message.has_come()) return false;
    own.message.check(own.mine);
    return own.message.take_payload(link_, room(round, own.message.payload_bytes()), own.payload);
}

bool DoublingRounds::has_come(uint32_t worker) const {
    if (worker == link_.self()) return true;
    for (uint32_t round = 0; round < rounds_.size(); ++round)
        if (DoublingPlan::block(round, worker) == other_block(round)) return rounds_[round].message.has_come();
    return false;
}

} // namespace mdist
