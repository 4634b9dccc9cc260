// SPDX-License-Identifier: Apache-2.0
#include "comm/device/gpu_group.h"

#include "comm/device/local.h"
#include "comm/device/nccl.h"
#include "comm/device/staging.h"
#include "device/gpu/overdue.h"
#include "util/text.h"

#include <algorithm>
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
    if (call.inputs == nullptr || !lies_on(gpu(party), call)) return false;
    if (call.by != nullptr)
        gpu(party).replica_stream().require_running("an operator of the program, which runs on the host,");
    return true;
}

void GpuGroup::set_nccl(std::unique_ptr<Nccl> nccl) {
    nccl_ = std::move(nccl);
}

void GpuGroup::perform(Group &group, Workers *workers, const Call *const *calls, uint64_t timeout_ns) {
    done_.reset();
    try {
        give(group, workers, calls, timeout_ns);
    } catch (...) {
        // All parties must also wait for what a lane was given before another lane failed.
        try {
            if (!mark_lanes()) finish_lanes(timeout_ns);
        } catch (const std::exception &) {
            // The first failure is the one that counts.
        }
        throw;
    }
    if (!mark_lanes())
        finish_lanes(timeout_ns);
    else if (nccl_ && !recording_)
        nccl_->watch(done_, *calls[0], timeout_ns);
}

void GpuGroup::give(Group &group, Workers *workers, const Call *const *calls, uint64_t timeout_ns) {
    for (const auto &lane : lanes_.all()) {
        lane->begin();
        for (uint32_t party = 0; party < lanes_.parties(); ++party) lane->wait_for(*calls[party]->ready);
    }
    if (calls[0]->kind->pattern() == Pattern::kLaunch)
        lanes_.all()[0]->launch_last(*static_cast<const GpuGraph *>(calls[0]->extra));
    if (nccl_ && Nccl::takes(*calls[0])) return nccl_->perform(group, workers, calls, timeout_ns);
    if (workers == nullptr && calls[0]->by == nullptr) return give_to_lanes(lanes_, calls);
    if (!staging_) staging_ = std::make_unique<Staging>(lanes_);
    staging_->perform(group, workers, calls, timeout_ns);
}

/// Makes marks after everything the lanes have been given. Returns false if that is not possible.
bool GpuGroup::mark_lanes() {
    try {
        auto marks = std::make_shared<std::vector<Event>>();
        marks->reserve(lanes_.all().size());
        for (const auto &lane : lanes_.all()) marks->push_back(lane->record());
        const std::lock_guard lock(mutex_);
        if (recording_) recorded_.push_back(marks);
        done_ = last_ = std::move(marks);
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
    for (const Event &mark : *marks) gpu(party).wait_for(mark);
    if (gpu(party).blocking()) gpu(party).finish();
    // Only now: several threads may wait for one operation, and each must go on only when it has returned from here.
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

/// Whether the party's stream already waits for the marks; call with the lock held. A recorded stream waits for nothing
/// that came before, because its graph will run after that.
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

} // namespace mdist
