// SPDX-License-Identifier: Apache-2.0
#include "comm/device/local.h"

#include "comm/call/buffers.h"
#include "comm/plan/plan.h"

#include <algorithm>

namespace mdist {
namespace {

class LocalOperation {
  public:
    LocalOperation(Lanes &lanes, const Call *const *calls) : lanes_(lanes), calls_(calls), parties_(lanes.parties()) {}

    void put_together() {
        const CallLengths lengths(Calls(calls_, sizeof *calls_, parties_));
        Plan(*calls_[0], lengths).each_move([this](const Move &move) { move.sums() ? sum(move) : copy(move); });
    }

  private:
    /// Calls use(replica) for each replica that takes the move.
    template <class Use>
    void each_taker(const Move &move, Use use) const {
        for (uint32_t to = 0; to < parties_; ++to)
            if (move.to == Move::kAll || move.to == to) use(to);
    }

    /// Copies on the taker's lane, unless that does not reach the giver.
    void copy(const Move &move) {
        const mdist_buffer_t &input = calls_[move.from]->inputs[move.buffer];
        const void *const from = at(input, move.input_begin);
        const std::size_t bytes = move.elements * dtype_size(input.dtype);
        each_taker(move, [&](uint32_t to) {
            void *const place = at(calls_[to]->outputs[move.buffer], move.output_begin);
            Lane &lane = lanes_.lane_of(to);
            lane.reaches(lanes_.gpu(move.from).physical()) ? lane.copy(place, from, bytes)
                                                           : lane.send(place, from, bytes);
        });
    }

    /// Sums a piece of a reduce-scatter on its taker's lane. Other sums are shared out while another launch is worth
    /// it.
    void sum(const Move &move) {
        constexpr uint64_t kLeastShare = 65536; // elements: another launch costs more than it saves
        const std::vector<Lane *> &lanes = lanes_.reducers();
        if (calls_[0]->kind->pattern() == Pattern::kReduceScatter)
            return sum(lanes.size() == 1 ? *lanes[0] : lanes_.lane_of(move.to), move);
        const uint64_t shares = std::clamp<uint64_t>(move.elements / kLeastShare, 1, lanes.size());
        for (uint64_t share = 0; share < shares; ++share) {
            const uint64_t begin = move.elements / shares * share;
            const uint64_t end = share + 1 == shares ? move.elements : begin + move.elements / shares;
            sum(*lanes[share], {move.from, move.to, move.buffer, begin, begin, end - begin});
        }
    }

    void sum(Lane &lane, const Move &move) {
        const Call &call = *calls_[0];
        const int32_t dtype = call.inputs[move.buffer].dtype;
        const std::size_t bytes = move.elements * dtype_size(dtype);
        for (uint32_t from = 0; from < parties_; ++from) {
            const void *source = at(calls_[from]->inputs[move.buffer], move.input_begin);
            if (!lane.reaches(lanes_.gpu(from).physical())) {
                void *const copy = lane.scratch(bytes);
                lane.fetch(copy, source, bytes);
                source = copy;
            }
            lane.add_source(source);
        }
        each_taker(move, [&](uint32_t to) {
            void *destination = at(calls_[to]->outputs[move.buffer], move.output_begin);
            if (!lane.reaches(lanes_.gpu(to).physical())) {
                void *const result = lane.scratch(bytes);
                lane.send(destination, result, bytes);
                destination = result;
            }
            lane.add_destination(destination);
        });
        lane.reduce({dtype, static_cast<reduce::Op>(call.op), parties_}, move.elements);
    }

    Lanes &lanes_;
    const Call *const *calls_;
    const uint32_t parties_;
};

} // namespace

void give_to_lanes(Lanes &lanes, const Call *const *calls) {
    LocalOperation(lanes, calls).put_together();
    for (const auto &lane : lanes.all()) lane->launch();
}

} // namespace mdist
