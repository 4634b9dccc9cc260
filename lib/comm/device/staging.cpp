// SPDX-License-Identifier: Apache-2.0
#include "comm/device/staging.h"

#include "comm/call/buffers.h"
#include "comm/local/exchange.h"
#include "comm/local/group.h"
#include "comm/plan/plan.h"
#include "comm/workers/workers.h"
#include "util/clock.h"
#include "util/dtype.h"
#include "util/round_up.h"
#include "util/text.h"

#include <algorithm>

namespace mdist {
namespace {

constexpr std::size_t kLine = 64;

bool in_place(const Call &call, std::size_t b) {
    return call.inputs[b].data == call.outputs[b].data && call.inputs[b].elements == call.outputs[b].elements;
}

bool is_reduction(const Call &call) {
    return call.by == nullptr && call.kind->traits().sums;
}

bool is_half_type(int32_t dtype) {
    return dtype == MDIST_FLOAT16 || dtype == MDIST_BFLOAT16;
}

/// Whether the replicas' outputs become equal.
bool gives_all_the_same(const Call &call) {
    return call.kind->pattern() == Pattern::kReduce;
}

/// Reduces staged buffers with the calls' operator. All outputs of an all-reduce are one.
void reduce_here(const std::vector<const Call *> &calls) {
    const Calls all(calls.data(), sizeof calls[0], static_cast<uint32_t>(calls.size()));
    const CallLengths lengths(all);
    std::vector<const void *> sources(calls.size());
    Plan(*calls[0], lengths).each_move([&](const Move &move) {
        make_move(move, all, all[move.to == Move::kAll ? 0 : move.to], sources.data());
    });
}

} // namespace

/// The lane of a GPU that reaches all GPUs of these parties, preferably one of theirs; nullptr if there is none.
Lane *Staging::lane_reaching(uint32_t first, uint32_t count) const {
    for (uint32_t own = first; own < first + count; ++own) {
        bool all = true;
        for (uint32_t other = first; other < first + count; ++other)
            all = all && lanes_.lane_of(own).reaches(lanes_.gpu(other).physical());
        if (all) return &lanes_.lane_of(own);
    }
    return nullptr;
}

/// Finds the sums that GPUs make before anything goes to the host. The sum of two 16-bit floats is as long as the two.
void Staging::find_sums(const Call *const *calls, Workers *workers) {
    const Call &call = *calls[0];
    sums_.clear();
    partials_.clear();
    summed_.assign(lanes_.parties() * call.buffer_count, 0);
    if (!is_reduction(call) || !workers->in_order()) return;
    const reduce::Cut &cut = workers->cut();
    const uint32_t self = workers->self(), begin = workers->spans()[self].first;
    partials_.assign(cut.count(self) * call.buffer_count, nullptr);
    for (uint32_t s = 0; s < cut.count(self); ++s) {
        const reduce::Subtree &subtree = cut.subtrees()[cut.first(self) + s];
        const uint32_t first = subtree.begin - begin, count = subtree.count();
        Lane *const lane = count > 1 ? lane_reaching(first, count) : nullptr;
        for (std::size_t b = 0; b < call.buffer_count && lane != nullptr; ++b) {
            const int32_t dtype = call.inputs[b].dtype;
            if (call.inputs[b].elements == 0 || (is_half_type(dtype) && count == 2)) continue;
            sums_.push_back({lane, first, count, s * call.buffer_count + b, b, reduce::partial_size(dtype, cut)});
            for (uint32_t party = first; party < first + count; ++party) summed_[party * call.buffer_count + b] = 1;
        }
    }
}

void Staging::make_room(std::size_t bytes, const Group &group, uint64_t timeout_ns) {
    if (memory_ && bytes <= bytes_) return;
    if (memory_) await_lanes(group, timeout_ns); // results of the previous operation may still be on their way
    memory_.reset();
    bytes_ = 0;
    memory_ = allocate_pinned(std::max<std::size_t>(bytes, 1));
    bytes_ = bytes;
}

/// Places buffers of the same lengths on the host, one after another from `memory` on: inputs that no sum has, outputs,
/// and sums. Returns the bytes needed.
std::size_t Staging::place_all(const Call *const *calls, char *memory) {
    const auto first = reinterpret_cast<uintptr_t>(memory);
    uintptr_t next = first;
    const auto take = [&next](std::size_t bytes) {
        void *const place = reinterpret_cast<void *>(next);
        next += round_up(bytes, kLine);
        return place;
    };
    const auto placed = [&take](mdist_buffer_t buffer, bool needed) {
        buffer.data = needed ? take(bytes_of(buffer)) : nullptr;
        return buffer;
    };
    const uint32_t parties = lanes_.parties();
    buffers_.assign(parties, {});
    for (uint32_t party = 0; party < parties; ++party) {
        const Call &call = *calls[party];
        const std::size_t count = call.buffer_count;
        std::vector<mdist_buffer_t> &staged = buffers_[party];
        staged.reserve(2 * count + 1); // one more: NULL would mean a call of a kind without buffers
        for (std::size_t b = 0; b < count; ++b) staged.push_back(placed(call.inputs[b], !summed_[party * count + b]));
        for (std::size_t b = 0; b < count; ++b) {
            if (party > 0 && gives_all_the_same(call))
                staged.push_back(buffers_[0][count + b]);
            else if (in_place(call, b) && !summed_[party * count + b])
                staged.push_back(staged[b]);
            else
                staged.push_back(placed(call.outputs[b], true));
        }
    }
    for (const Sum &sum : sums_) partials_[sum.index] = take(calls[0]->inputs[sum.buffer].elements * sum.element_bytes);
    return next - first;
}

void Staging::lay_out(const Call *const *calls, const Group &group, uint64_t timeout_ns) {
    make_room(place_all(calls, nullptr), group, timeout_ns);
    place_all(calls, static_cast<char *>(memory_.get()));
}

/// Has its lane add up the inputs of some parties, and sends the sum to the host. Sums of 16-bit floats are float32.
void Staging::add_up(const Call *const *calls, const Sum &sum) {
    const Call &call = *calls[0];
    const mdist_buffer_t &like = call.inputs[sum.buffer];
    const bool half = is_half_type(like.dtype);
    const std::size_t bytes = like.elements * sum.element_bytes;
    for (uint32_t party = sum.first; party < sum.first + sum.count; ++party) {
        const void *source = calls[party]->inputs[sum.buffer].data;
        if (half) {
            void *const wide = sum.lane->scratch(bytes);
            sum.lane->widen(wide, like.dtype, source, like.elements);
            source = wide;
        }
        sum.lane->add_source(source);
    }
    void *const result = sum.lane->scratch(bytes);
    sum.lane->add_destination(result);
    const int32_t op = call.op == MDIST_MEAN ? MDIST_SUM : call.op;
    sum.lane->reduce({half ? MDIST_FLOAT32 : like.dtype, static_cast<reduce::Op>(op), 1}, like.elements);
    sum.lane->send(partials_[sum.index], result, bytes);
}

/// Copies the inputs that some worker reads, or their sums: in a broadcast only the root's.
void Staging::fetch(const Call *const *calls, const Workers *workers) {
    for (uint32_t party = 0; party < lanes_.parties(); ++party) {
        const Call &call = *calls[party];
        if (call.kind->traits().broadcasts && call.root != workers->position_of_local(party)) continue;
        for (std::size_t b = 0; b < call.buffer_count; ++b)
            if (!summed_[party * call.buffer_count + b])
                lanes_.lane_of(party).fetch(buffers_[party][b].data, call.inputs[b].data, bytes_of(call.inputs[b]));
    }
    for (const Sum &sum : sums_) add_up(calls, sum);
}

/// Copies the results to the outputs. Equal results go to each GPU once, which then copies them.
void Staging::give_back(const Call *const *calls) {
    std::vector<const Call *> firsts(lanes_.all().size(), nullptr); // by lane: the call that its GPU's copies come from
    for (uint32_t party = 0; party < lanes_.parties(); ++party) {
        const Call &call = *calls[party];
        const mdist_buffer_t *const outputs = buffers_[party].data() + call.buffer_count;
        Lane &lane = lanes_.lane_of(party);
        const Call *&first = firsts[lanes_.index_of(party)];
        for (std::size_t b = 0; b < call.buffer_count; ++b) {
            if (first != nullptr)
                lane.copy(call.outputs[b].data, first->outputs[b].data, bytes_of(call.outputs[b]));
            else
                lane.fetch(call.outputs[b].data, outputs[b].data, bytes_of(call.outputs[b]));
        }
        if (gives_all_the_same(call) && first == nullptr) first = &call;
    }
}

/// Before a lane fetches: another lane may still have to send results from there.
void Staging::wait_for_results() {
    for (const auto &lane : lanes_.all())
        for (const Event &mark : sent_) lane->wait_for(mark);
    sent_.clear();
}

void Staging::await_lanes(const Group &group, uint64_t timeout_ns) {
    constexpr uint64_t kLook_ns = 50'000'000; // how often to look whether the job has ended
    const uint64_t begin = monotonic_clock().now_ns();
    for (const auto &lane : lanes_.all()) {
        const Event mark = lane->record();
        while (!mark.wait(kLook_ns)) {
            group.require_ready();
            if (monotonic_clock().now_ns() - begin < timeout_ns) continue;
            throw Failure(MDIST_ERR_TIMEOUT,
                          text("gpu:", lane->gpu().index(), " did not reach this collective within ",
                               timeout_ns / 1'000'000, " ms; earlier work on its stream takes too long"))
                .reason("gpu_late");
        }
    }
}

void Staging::perform(const Group &group, Workers *workers, const Call *const *calls, uint64_t timeout_ns) {
    const uint32_t parties = lanes_.parties();
    find_sums(calls, workers);
    lay_out(calls, group, timeout_ns);
    wait_for_results();
    fetch(calls, workers);
    for (const auto &lane : lanes_.all()) lane->launch();
    await_lanes(group, timeout_ns);

    std::vector<Call> staged(parties);
    std::vector<const Call *> all(parties);
    for (uint32_t party = 0; party < parties; ++party) {
        staged[party] = *calls[party];
        staged[party].inputs = buffers_[party].data();
        staged[party].outputs = buffers_[party].data() + calls[party]->buffer_count;
        staged[party].partials = party == 0 && !sums_.empty() ? partials_.data() : nullptr;
        all[party] = &staged[party];
    }
    workers != nullptr ? workers->perform(all.data(), timeout_ns) : reduce_here(all);

    for (const auto &lane : lanes_.all()) lane->begin();
    give_back(calls);
    for (const auto &lane : lanes_.all()) lane->launch();
    for (const auto &lane : lanes_.all())
        if (lanes_.all().size() > 1) sent_.push_back(lane->record());
}

} // namespace mdist
