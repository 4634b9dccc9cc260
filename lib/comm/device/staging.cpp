// SPDX-License-Identifier: Apache-2.0
#include "comm/device/staging.h"

#include "comm/call/buffers.h"
#include "comm/local/group.h"
#include "comm/workers/workers.h"
#include "util/clock.h"
#include "util/dtype.h"
#include "util/round_up.h"
#include "util/text.h"

#include <algorithm>

namespace mdist {
namespace {

constexpr std::size_t kLine = 64;

std::size_t room_of(const mdist_buffer_t &buffer) {
    return round_up(bytes_of(buffer), kLine);
}

bool in_place(const Call &call, std::size_t b) {
    return call.inputs[b].data == call.outputs[b].data && call.inputs[b].elements == call.outputs[b].elements;
}

} // namespace

void Staging::make_room(std::size_t bytes, const Group &group, uint64_t timeout_ns) {
    if (memory_ && bytes <= bytes_) return;
    if (memory_) await_lanes(group, timeout_ns); // results of the previous operation may still be on their way
    memory_.reset();
    bytes_ = 0;
    memory_ = allocate_pinned(std::max<std::size_t>(bytes, 1));
    bytes_ = bytes;
}

/// Places buffers of the same lengths on the host, one after another.
void Staging::lay_out(const Call *const *calls, const Group &group, uint64_t timeout_ns) {
    std::size_t needed = 0;
    const uint32_t parties = lanes_.parties();
    for (uint32_t party = 0; party < parties; ++party)
        for (std::size_t b = 0; b < calls[party]->buffer_count; ++b)
            needed += room_of(calls[party]->inputs[b]) + room_of(calls[party]->outputs[b]);
    make_room(needed, group, timeout_ns);
    char *next = static_cast<char *>(memory_.get());
    const auto place = [&next](const mdist_buffer_t &buffer) {
        mdist_buffer_t staged = buffer;
        staged.data = next;
        next += room_of(buffer);
        return staged;
    };
    buffers_.assign(parties, {});
    for (uint32_t party = 0; party < parties; ++party) {
        const Call &call = *calls[party];
        std::vector<mdist_buffer_t> &staged = buffers_[party];
        staged.reserve(2 * call.buffer_count + 1); // one more: NULL would mean a call of a kind without buffers
        for (std::size_t b = 0; b < call.buffer_count; ++b) staged.push_back(place(call.inputs[b]));
        for (std::size_t b = 0; b < call.buffer_count; ++b)
            staged.push_back(in_place(call, b) ? staged[b] : place(call.outputs[b]));
    }
}

/// Copies the inputs that some worker reads: in a broadcast only the root's.
void Staging::fetch(const Call *const *calls, const Workers &workers) {
    for (uint32_t party = 0; party < lanes_.parties(); ++party) {
        const Call &call = *calls[party];
        const bool broadcasts = pattern_of(call) == Pattern::kBroadcast || pattern_of(call) == Pattern::kFirst;
        if (broadcasts && call.root != workers.position_of(party)) continue;
        for (std::size_t b = 0; b < call.buffer_count; ++b)
            lanes_.lane_of(party).fetch(buffers_[party][b].data, call.inputs[b].data, bytes_of(call.inputs[b]));
    }
}

void Staging::give_back(const Call *const *calls) {
    for (uint32_t party = 0; party < lanes_.parties(); ++party) {
        const Call &call = *calls[party];
        const mdist_buffer_t *const outputs = buffers_[party].data() + call.buffer_count;
        for (std::size_t b = 0; b < call.buffer_count; ++b)
            lanes_.lane_of(party).send(call.outputs[b].data, outputs[b].data, bytes_of(call.outputs[b]));
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

void Staging::perform(const Group &group, Workers &workers, const Call *const *calls, uint64_t timeout_ns) {
    const uint32_t parties = lanes_.parties();
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
        all[party] = &staged[party];
    }
    workers.perform(all.data(), timeout_ns);

    for (const auto &lane : lanes_.all()) lane->begin();
    give_back(calls);
    for (const auto &lane : lanes_.all()) lane->launch();
    for (const auto &lane : lanes_.all())
        if (lanes_.all().size() > 1) sent_.push_back(lane->record());
}

} // namespace mdist
