// SPDX-License-Identifier: Apache-2.0
#include "comm/device/gpu_group.h"

#include "comm/device/local.h"
#include "comm/device/nccl.h"
#include "comm/device/staging.h"
#include "device/gpu/overdue.h"
#include "util/text.h"

#include <optional>

namespace mdist {
namespace {

std::string place_text(const Place &place) {
    return place.on_host() ? "on the host" : text("on gpu:", place.index);
}

/// A buffer whose address tells where it lies; nullptr if there is none.
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
        throw invalid(text(which, i, " lies ", place_text(place), " but other buffers of the call lie ",
                           place_text(wanted), "; all must lie on the host, or all on the replica's ", gpu.name()));
    throw invalid(text(which, i, " lies ", place_text(place), "; this replica's buffers must lie on its own ",
                       gpu.name(), ", or on the host"));
}

/// Whether the call's buffers lie on the GPU, as GpuGroup::holds() says.
bool lies_on(const Gpu &own, const Call &call) {
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

} // namespace

GpuGroup::GpuGroup(std::vector<Gpu *> gpus) : lanes_(std::move(gpus)), ordered_(lanes_.parties()) {}

GpuGroup::~GpuGroup() = default;

bool GpuGroup::holds(uint32_t party, const Call &call) const {
    if (call.inputs == nullptr || !lies_on(gpu(party), call)) {
        require_running(party);
        return false;
    }
    if (call.by != nullptr)
        gpu(party).replica_stream().require_running("an operator of the program, which runs on the host,");
    if (gpu(party).recording() && nccl_ && nccl_->has_peers() && !Nccl::takes(call))
        gpu(party).replica_stream().require_running("a reduction that NCCL does not have");
    return true;
}

void GpuGroup::require_running(uint32_t party) const {
    gpu(party).replica_stream().require_running("a barrier, or a collective of memory of the host,");
}

void GpuGroup::set_nccl(std::unique_ptr<Nccl> nccl) {
    nccl_ = std::move(nccl);
}

void GpuGroup::perform(Group &group, Workers *workers, const Call *const *calls, uint64_t timeout_ns) {
    if (!calls[0]->recorded) return perform_now(group, workers, calls, timeout_ns);
    const std::lock_guard lock(recorded_mutex_);
    for (uint32_t party = 0; party < parties(); ++party)
        if (!gpu(party).recording())
            throw Failure(MDIST_ERR_ABORTED, "a replica has dropped the graph that it was recording");
    perform_now(group, workers, calls, timeout_ns);
}

void GpuGroup::perform_now(Group &group, Workers *workers, const Call *const *calls, uint64_t timeout_ns) {
    const bool recorded = calls[0]->recorded;
    done_.reset();
    try {
        give(group, workers, calls, timeout_ns);
    } catch (...) {
        // All parties must also wait for what a lane was given before another lane failed.
        try {
            if (!mark_lanes(recorded)) finish_lanes(timeout_ns);
        } catch (const std::exception &) {
            // The first failure is the one that counts.
        }
        throw;
    }
    if (!mark_lanes(recorded))
        finish_lanes(timeout_ns);
    else if (nccl_ && !recorded)
        nccl_->watch(done_, *calls[0], timeout_ns);
}

/// Has the lanes wait for the parties' marks. A mark in a graph means nothing in another graph.
void GpuGroup::give_marks(const Call *const *calls) {
    for (const auto &lane : lanes_.all()) {
        lane->begin();
        for (uint32_t party = 0; party < parties(); ++party)
            if (!calls[party]->recorded || &lanes_.lane_of(party) == lane.get()) lane->wait_for(*calls[party]->ready);
    }
}

void GpuGroup::give(Group &group, Workers *workers, const Call *const *calls, uint64_t timeout_ns) {
    give_marks(calls);
    for (uint32_t party = 0; party < parties() && calls[0]->kind->pattern() == Pattern::kLaunch; ++party)
        lanes_.lane_of(party).launch_last(*static_cast<const GpuGraph *>(calls[party]->extra));
    if (nccl_ && Nccl::takes(*calls[0])) return nccl_->perform(group, workers, calls, timeout_ns);
    if (workers == nullptr && calls[0]->by == nullptr) return give_to_lanes(lanes_, calls);
    if (!staging_) staging_ = std::make_unique<Staging>(lanes_);
    staging_->perform(group, workers, calls, timeout_ns);
}

/// Makes marks after everything the lanes have been given. Returns false if that is not possible.
bool GpuGroup::mark_lanes(bool recorded) {
    try {
        auto marks = std::make_shared<LaneMarks>();
        marks->recorded = recorded;
        marks->events.reserve(lanes_.all().size());
        for (const auto &lane : lanes_.all()) marks->events.push_back(lane->record());
        const std::lock_guard lock(mutex_);
        done_ = marks;
        if (recorded)
            recorded_.push_back(std::move(marks));
        else
            last_ = std::move(marks);
        return true;
    } catch (const std::exception &) {
        return false;
    }
}

/// Waits here, when marks cannot be made. Throws what is then not done.
void GpuGroup::finish_lanes(uint64_t timeout_ns) {
    if (nccl_) nccl_->abandon(); // its kernels may wait for others that nobody watches
    {
        const std::lock_guard lock(mutex_);
        last_.reset();
    }
    std::optional<Failure> wrong;
    for (const auto &lane : lanes_.all()) {
        try {
            PhysicalGpu &gpu = lane->gpu();
            if (!lane->finish(timeout_ns))
                throw not_done(gpu, lane->stream(), text("gpu:", gpu.index(), ": a collective"), timeout_ns);
        } catch (const Failure &failure) {
            if (!wrong) wrong = failure;
        }
    }
    if (wrong) throw *wrong;
    if (nccl_)
        throw Failure(
            MDIST_ERR_DEVICE,
            "the library could not record an event for a collective that NCCL had started; the collective was aborted")
            .reason("nccl_failed");
}

void GpuGroup::order(uint32_t party, const Marks &marks) {
    if (!marks) return;
    {
        const std::lock_guard lock(mutex_);
        if (stands(party, marks)) return;
    }
    if (marks->recorded)
        gpu(party).wait_for(marks->events[lanes_.index_of(party)]);
    else
        for (const Event &mark : marks->events) gpu(party).wait_for(mark);
    if (gpu(party).blocking()) gpu(party).finish();
    // Only now: several threads may wait for one operation, and each must go on only when it has returned from here.
    const std::lock_guard lock(mutex_);
    ordered_[party] = marks;
}

void GpuGroup::join(uint32_t party) {
    Marks last;
    {
        const std::lock_guard lock(mutex_);
        const bool recording = gpu(party).recording();
        if (!recording)
            last = last_;
        else if (!recorded_.empty())
            last = recorded_.back();
    }
    order(party, last);
}

/// Whether the party's stream already waits for the marks; call with the lock held. A recorded stream waits for nothing
/// that came before, because its graph will run after that. What was recorded counts as happened after the recording.
bool GpuGroup::stands(uint32_t party, const Marks &marks) const {
    return ordered_[party] == marks || gpu(party).recording() != marks->recorded;
}

bool GpuGroup::records(const Workers *workers) const {
    return uses_nccl() || (parties() == 1 && workers == nullptr);
}

void GpuGroup::end_recording(uint32_t party, FunctionRef<void()> end) {
    const std::lock_guard recorded_lock(recorded_mutex_);
    end();
    const std::lock_guard lock(mutex_);
    bool recording = false;
    for (uint32_t other = 0; other < parties(); ++other) recording = recording || gpu(other).recording();
    for (const auto &marks : recorded_) marks->events[lanes_.index_of(party)] = Event();
    if (!recording) recorded_.clear();
}

} // namespace mdist
