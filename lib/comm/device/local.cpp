// SPDX-License-Identifier: Apache-2.0
#include "comm/device/local.h"

#include "comm/device/gpu_group.h"
#include "util/dtype.h"

#include <algorithm>

namespace mdist {
namespace {

std::size_t bytes_of(const mdist_buffer_t &buffer) {
    return buffer.elements * dtype_size(buffer.dtype);
}

/// Elements begin to begin + elements - 1 of buffer `buffer`, from everybody's inputs to the outputs of all parties, or
/// of one.
struct Reduction {
    std::size_t buffer;
    uint64_t input_begin;
    uint64_t output_begin;
    uint64_t elements;
    int32_t receiver; // -1: all
};

class LocalOperation {
  public:
    LocalOperation(GpuGroup &gpus, const Call *const *calls) : gpus_(gpus), calls_(calls), parties_(gpus.parties()) {}

    void put_together() {
        switch (pattern_of(*calls_[0])) {
            case Pattern::kReduce:
                return reduce_all(-1);
            case Pattern::kScatter:
                return calls_[0]->kind == CallKind::kReduceToRoot ? reduce_all(static_cast<int32_t>(calls_[0]->root))
                                                                  : reduce_parts();
            case Pattern::kBroadcast:
                return each_receiver([this](uint32_t to, std::size_t b) {
                    const mdist_buffer_t &output = calls_[to]->outputs[b];
                    deliver(to, output.data, calls_[to]->root, calls_[calls_[to]->root]->inputs[b].data,
                            bytes_of(output));
                });
            case Pattern::kGather:
            case Pattern::kToRoot:
                return each_receiver([this](uint32_t to, std::size_t b) { gather(to, b); });
            case Pattern::kFromRoot:
                return each_receiver([this](uint32_t to, std::size_t b) { take_part(to, b); });
            case Pattern::kTranspose:
                return each_receiver([this](uint32_t to, std::size_t b) { transpose(to, b); });
            case Pattern::kMeet:
                return;
        }
    }

  private:
    static char *at(const mdist_buffer_t &buffer, uint64_t element) {
        return static_cast<char *>(buffer.data) + element * dtype_size(buffer.dtype);
    }

    template <class Deliver>
    void each_receiver(Deliver deliver_to) {
        for (uint32_t to = 0; to < parties_; ++to)
            for (std::size_t b = 0; b < calls_[to]->buffer_count; ++b) deliver_to(to, b);
    }

    /// By the receiver, unless it does not reach the sender.
    void deliver(uint32_t to, void *place, uint32_t from, const void *data, std::size_t bytes) {
        Lane &lane = gpus_.lane_of(to);
        lane.reaches(gpus_.gpu(from).physical()) ? lane.copy(place, data, bytes) : lane.send(place, data, bytes);
    }

    void gather(uint32_t to, std::size_t b) {
        const Call &call = *calls_[to];
        if (call.kind == CallKind::kGatherToRoot && to != call.root) return;
        char *place = static_cast<char *>(call.outputs[b].data);
        for (uint32_t from = 0; from < parties_; ++from) {
            const mdist_buffer_t &part = calls_[from]->inputs[b];
            deliver(to, place, from, part.data, bytes_of(part));
            place += bytes_of(part);
        }
    }

    uint64_t part_offset(uint32_t party, std::size_t b) const {
        uint64_t offset = 0;
        for (uint32_t other = 0; other < party; ++other) offset += calls_[other]->outputs[b].elements;
        return offset;
    }

    void take_part(uint32_t to, std::size_t b) {
        const Call &call = *calls_[to];
        const mdist_buffer_t &whole = calls_[call.root]->inputs[b];
        deliver(to, call.outputs[b].data, call.root, at(whole, part_offset(to, b)), bytes_of(call.outputs[b]));
    }

    void transpose(uint32_t to, std::size_t b) {
        const mdist_buffer_t &output = calls_[to]->outputs[b];
        const uint64_t part = output.elements / parties_;
        const std::size_t bytes = part * dtype_size(output.dtype);
        for (uint32_t from = 0; from < parties_; ++from)
            deliver(to, at(output, from * part), from, at(calls_[from]->inputs[b], to * part), bytes);
    }

    void reduce_parts() {
        for (std::size_t b = 0; b < calls_[0]->buffer_count; ++b) {
            uint64_t offset = 0;
            for (uint32_t to = 0; to < parties_; ++to) {
                const uint64_t elements = calls_[to]->outputs[b].elements;
                const std::vector<Lane *> &lanes = gpus_.reducers();
                Lane &lane = lanes.size() == 1 ? *lanes[0] : gpus_.lane_of(to);
                reduce(lane, {b, offset, 0, elements, static_cast<int32_t>(to)});
                offset += elements;
            }
        }
    }

    void reduce_all(int32_t receiver) {
        constexpr uint64_t kLeastShare = 65536; // elements: another launch costs more than it saves
        const std::vector<Lane *> &lanes = gpus_.reducers();
        for (std::size_t b = 0; b < calls_[0]->buffer_count; ++b) {
            const uint64_t elements = calls_[0]->inputs[b].elements;
            const uint64_t shares = std::clamp<uint64_t>(elements / kLeastShare, 1, lanes.size());
            for (uint64_t share = 0; share < shares; ++share) {
                const uint64_t begin = elements / shares * share;
                const uint64_t end = share + 1 == shares ? elements : begin + elements / shares;
                reduce(*lanes[share], {b, begin, begin, end - begin, receiver});
            }
        }
    }

    void reduce(Lane &lane, const Reduction &reduction) {
        const Call &call = *calls_[0];
        const int32_t dtype = call.inputs[reduction.buffer].dtype;
        const std::size_t bytes = reduction.elements * dtype_size(dtype);
        for (uint32_t from = 0; from < parties_; ++from) {
            const void *source = at(calls_[from]->inputs[reduction.buffer], reduction.input_begin);
            if (!lane.reaches(gpus_.gpu(from).physical())) {
                void *const copy = lane.scratch(bytes);
                lane.fetch(copy, source, bytes);
                source = copy;
            }
            lane.add_source(source);
        }
        for (uint32_t to = 0; to < parties_; ++to) {
            if (reduction.receiver >= 0 && to != static_cast<uint32_t>(reduction.receiver)) continue;
            void *destination = at(calls_[to]->outputs[reduction.buffer], reduction.output_begin);
            if (!lane.reaches(gpus_.gpu(to).physical())) {
                void *const result = lane.scratch(bytes);
                lane.send(destination, result, bytes);
                destination = result;
            }
            lane.add_destination(destination);
        }
        lane.reduce({dtype, static_cast<reduce::Op>(call.op), parties_}, reduction.elements);
    }

    GpuGroup &gpus_;
    const Call *const *calls_;
    const uint32_t parties_;
};

} // namespace

void give_to_lanes(GpuGroup &gpus, const Call *const *calls) {
    LocalOperation(gpus, calls).put_together();
    for (const auto &lane : gpus.lanes()) lane->launch();
}

} // namespace mdist
