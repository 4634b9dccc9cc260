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
    const Calls calls = group_.calls();
    const CallLengths lengths(calls, own);
    const Plan plan(own, lengths);
    const uint32_t parties = group_.parties();
    uint64_t done = 0;
    for (uint32_t i = 0; i < parties; ++i) {
        const uint32_t taker = (party_ + i) % parties; // starts with its own: its core will read that data
        if (!group_.claim(taker)) continue;
        group_.do_work([&] {
            plan.each_move_to({taker, taker + 1},
                              [&](const Move &move) { make_move(move, calls, calls[taker], sources_.get()); });
        });
        ++done;
    }
    return done;
}

void make_move(const Move &move, const Calls &calls, const Call &taker, const void **sources) {
    const std::size_t b = move.buffer;
    void *place = at(taker.outputs[b], move.output_begin);
    if (!move.sums()) {
        const void *const from = at(calls[move.from].inputs[b], move.input_begin);
        if (move.elements != 0 && place != from)
            std::memcpy(place, from, move.elements * dtype_size(taker.outputs[b].dtype));
        return;
    }
    const reduce::FloatEnvironment environment;
    const uint32_t parties = calls.count();
    for (uint32_t party = 0; party < parties; ++party) sources[party] = at(calls[party].inputs[b], move.input_begin);
    reduce::reduce(operation_of(taker, taker.inputs[b].dtype, parties), sources, parties, &place, 1, move.elements);
}

} // namespace mdist
