// SPDX-License-Identifier: Apache-2.0
#include "comm/device/gpu_group.h"

#include "comm/across.h"
#include "comm/device/local.h"
#include "comm/device/nccl.h"
#include "comm/device/staging.h"
#include "comm/group.h"
#include "util/text.h"

#include <algorithm>
#include <optional>

namespace mdist {
namespace {

std::string place_text(const Place &place) {
    return place.on_host() ? "on the host" : text("on gpu:", place.index);
}

/// The place of a buffer whose address says one.
const mdist_buffer_t *first_placed(const Call &call) {
    for (std::size_t i = 0; i < call.buffer_count; ++i)
        for (const mdist_buffer_t *each : {&call.inputs[i], &call.outputs[i]})
            if (each->data != nullptr) return each;
    return nullptr;
}

void check_place(const mdist_buffer_t &buffer, const char *which, std::size_t i, const Place &wanted, const Gpu &gpu) {
    if (buffer.data == nullptr) return;
    const Place place = place_of(buffer.data, gpu.index());
    if (place == wanted) return;
    if (place.on_host() || wanted.on_host())
        throw invalid(text(which, i, " lies ", place_text(place), " and other buffers of the call ", place_text(wanted),
                           "; all must lie on the host, or all on the replica's ", gpu.name()));
    throw invalid(text(which, i, " lies ", place_text(place), "; this replica's buffers must lie on its own ",
                       gpu.name(), ", or on the host"));
}

} // namespace

GpuGroup::GpuGroup(std::vector<Gpu *> gpus) : gpus_(std::move(gpus)), ordered_(gpus_.size()) {
    for (const Gpu *gpu : gpus_) {
        const auto same = [&](const auto &lane) { return &lane->gpu() == &gpu->physical(); };
        const auto lane = std::find_if(lanes_.begin(), lanes_.end(), same);
        lane_index_.push_back(static_cast<std::size_t>(lane - lanes_.begin()));
        if (lane == lanes_.end()) lanes_.push_back(std::make_unique<Lane>(gpu->physical()));
    }
}

GpuGroup::~GpuGroup() = default;

const std::vector<Lane *> &GpuGroup::reducers() {
    if (!reducers_.empty()) return reducers_;
    const auto reaches_all = [&](Lane &lane) {
        return std::all_of(lanes_.begin(), lanes_.end(), [&](const auto &other) { return lane.reaches(other->gpu()); });
    };
    for (const auto &lane : lanes_)
        if (reducer_ < 0 && reaches_all(*lane)) reducers_.push_back(lane.get());
    if (reducers_.size() != lanes_.size()) reducers_ = {&lane_of(static_cast<uint32_t>(std::max(reducer_, 0)))};
    return reducers_;
}

bool GpuGroup::holds(uint32_t party, const Call &call) const {
    const Gpu &own = gpu(party);
    if (call.inputs == nullptr) return false;
    const mdist_buffer_t *const first = first_placed(call);
    if (first == nullptr) return true;
    const Place place = place_of(first->data, own.index());
    const Place wanted = place.on_host() ? place : own.place();
    for (std::size_t i = 0; i < call.buffer_count; ++i) {
        check_place(call.inputs[i], "input ", i, wanted, own);
        check_place(call.outputs[i], "output ", i, wanted, own);
    }
    return !wanted.on_host();
}

void GpuGroup::set_nccl(std::unique_ptr<Nccl> nccl) {
    nccl_ = std::move(nccl);
}

void GpuGroup::perform(Group &group, const Call *const *calls, uint64_t timeout_ns) {
    done_.reset();
    try {
        give(group, calls, timeout_ns);
    } catch (...) {
        // What was given to a lane before another one failed is waited for by all, too.
        try {
            if (!mark_lanes()) finish_lanes(timeout_ns);
        } catch (const std::exception &) {
            // What came first is what counts.
        }
        throw;
    }
    if (!mark_lanes())
        finish_lanes(timeout_ns);
    else if (nccl_ && !recording_)
        nccl_->watch(done_, *calls[0], timeout_ns);
}

void GpuGroup::give(Group &group, const Call *const *calls, uint64_t timeout_ns) {
    for (const auto &lane : lanes_) {
        lane->begin();
        for (uint32_t party = 0; party < parties(); ++party) lane->wait_for(*calls[party]->ready);
    }
    if (calls[0]->kind == CallKind::kGraph) lanes_[0]->launch_last(*static_cast<const GpuGraph *>(calls[0]->extra));
    if (nccl_) return nccl_->perform(group, calls, timeout_ns);
    if (group.workers() == nullptr) return give_to_lanes(*this, calls);
    if (!staging_) staging_ = std::make_unique<Staging>(*this);
    staging_->perform(group, calls, timeout_ns);
}

/// Marks behind what the lanes have been given. False if there can be none.
bool GpuGroup::mark_lanes() {
    try {
        auto marks = std::make_shared<std::vector<Event>>();
        marks->reserve(lanes_.size());
        for (const auto &lane : lanes_) marks->push_back(lane->record());
        const std::lock_guard lock(mutex_);
        if (recording_) recorded_.push_back(marks);
        done_ = last_ = std::move(marks);
        return true;
    } catch (const std::exception &) {
        return false;
    }
}

/// Where there can be no marks, this thread waits. Throws what is then not done.
void GpuGroup::finish_lanes(uint64_t timeout_ns) {
    if (nccl_) nccl_->abandon(); // its kernels may wait for others that nobody watches over
    {
        const std::lock_guard lock(mutex_);
        last_.reset();
    }
    std::optional<Failure> wrong;
    for (const auto &lane : lanes_) {
        try {
            PhysicalGpu &gpu = lane->gpu();
            if (!lane->finish(timeout_ns))
                throw gpu.not_done(lane->stream(), text("gpu:", gpu.index(), ": a collective"), timeout_ns);
        } catch (const Failure &failure) {
            if (!wrong) wrong = failure;
        }
    }
    if (wrong) throw *wrong;
    if (nccl_)
        throw Failure(MDIST_ERR_DEVICE, "what NCCL was given could not be marked on the streams, and was given up")
            .reason("nccl_failed");
}

void GpuGroup::order(uint32_t party, const Marks &marks) {
    if (!marks) return;
    {
        const std::lock_guard lock(mutex_);
        if (stands(party, marks)) return;
    }
    for (const Event &mark : *marks) gpu(party).wait_for(mark);
    if (gpu(party).blocking()) gpu(party).finish();
    // Only now: several threads may wait for one operation, and each goes on when it has returned from here.
    const std::lock_guard lock(mutex_);
    ordered_[party] = marks;
}

void GpuGroup::join(uint32_t party) {
    Marks last;
    {
        const std::lock_guard lock(mutex_);
        last = last_;
    }
    order(party, last);
}

/// Whether the party's stream waits for them already; with the lock held. A stream that is recorded waits for nothing
/// that came before, which its graph will be behind.
bool GpuGroup::stands(uint32_t party, const Marks &marks) const {
    if (ordered_[party] == marks) return true;
    return recording_ && std::find(recorded_.begin(), recorded_.end(), marks) == recorded_.end();
}

void GpuGroup::begin_recording() {
    const std::lock_guard lock(mutex_);
    recording_ = true;
}

void GpuGroup::end_recording() noexcept {
    const std::lock_guard lock(mutex_);
    recording_ = false;
    for (const auto &marks : recorded_) marks->clear();
    recorded_.clear();
}

void perform_on_gpus(Group &group, uint32_t party, const Call &call, uint64_t timeout_ns) {
    GpuGroup &gpus = *group.gpus();
    const Event ready = gpus.gpu(party).record();
    Call placed = call;
    placed.ready = &ready;
    perform_across(group, party, placed, timeout_ns);
    gpus.order(party, gpus.done());
    // Kernels of an aborted communicator end, too, and have written nothing; a step that fails later is another matter.
    if (gpus.gpu(party).blocking() && gpus.uses_nccl() && group.failed()) group.require_ready();
}

} // namespace mdist
