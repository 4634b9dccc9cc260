// SPDX-License-Identifier: Apache-2.0
#include "comm/local/exchange.h"

#include "comm/call/buffers.h"
#include "comm/plan/plan.h"
#include "reduce/float_environment.h"
#include "reduce/reduce.h"

#include <cstring>

namespace mdist {

uint64_t Exchange::run() {
    const Call &own = group_.call_of(party_);
    const CallLengths lengths(group_.calls(), own);
    const Plan plan(own, lengths);
    const uint32_t parties = group_.parties();
    uint64_t done = 0;
    for (uint32_t i = 0; i < parties; ++i) {
        const uint32_t taker = (party_ + i) % parties; // starts with its own: its core will read that data
        if (!group_.claim(taker)) continue;
        group_.do_work([&] {
            plan.each_move_to({taker, taker + 1}, [&](const Move &move) { make(move, group_.call_of(taker)); });
        });
        ++done;
    }
    return done;
}

void Exchange::make(const Move &move, const Call &to) {
    const std::size_t b = move.buffer;
    void *place = at(to.outputs[b], move.output_begin);
    if (!move.sums()) {
        const void *from = at(group_.call_of(move.from).inputs[b], move.input_begin);
        if (move.elements != 0 && place != from)
            std::memcpy(place, from, move.elements * dtype_size(to.outputs[b].dtype));
        return;
    }
    const reduce::FloatEnvironment environment;
    const uint32_t parties = group_.parties();
    for (uint32_t other = 0; other < parties; ++other)
        sources_[other] = at(group_.call_of(other).inputs[b], move.input_begin);
    reduce::reduce(operation_of(to, to.inputs[b].dtype, parties), sources_.get(), parties, &place, 1, move.elements);
}

} // namespace mdist
