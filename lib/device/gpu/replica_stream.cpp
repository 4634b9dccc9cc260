// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/replica_stream.h"

#include "util/text.h"

#include <utility>

namespace mdist {

ReplicaStream::ReplicaStream(PhysicalGpu &physical, int32_t priority) : physical_(physical) {
    physical_.check(physical_.api().stream_create(physical_.index(), priority, &own_), "making a stream");
    current_ = own_;
}

ReplicaStream::~ReplicaStream() {
    physical_.api().stream_destroy(physical_.index(), own_); // what is on it still happens
}

void ReplicaStream::use(mdist_gpu_stream *stream) {
    mdist_gpu_stream *const next = stream == nullptr ? own_ : stream;
    if (next == current_) return;
    require_running("changing to another stream");
    const std::lock_guard lock(mutex_);
    const Event behind(physical_, current_);
    physical_.check(physical_.api().stream_wait(physical_.index(), next, behind.get()), "changing to another stream");
    current_ = next;
}

void ReplicaStream::replace(mdist_gpu_stream *stream) {
    const std::lock_guard lock(mutex_);
    current_ = stream;
}

Event ReplicaStream::mark() const {
    const std::lock_guard lock(mutex_);
    if (recording_) throw Failure(MDIST_ERR_WRONG_CONTEXT, "a stream that is recorded has no marks");
    return {physical_, current_};
}

void ReplicaStream::zero(void *data, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (recording_)
        zeros_.push_back({data, bytes});
    else
        physical_.check(physical_.api().fill(physical_.index(), data, 0, bytes, current_), "filling memory with zeros");
}

void ReplicaStream::begin_recording() {
    require_running("another graph");
    const std::lock_guard lock(mutex_);
    physical_.check(physical_.api().capture_begin(physical_.index(), current_), "recording a graph");
    recording_ = true;
}

ReplicaStream::Recorded ReplicaStream::end_recording() noexcept {
    Recorded recorded;
    const std::lock_guard lock(mutex_);
    recorded.error = physical_.api().capture_end(physical_.index(), current_, &recorded.graph);
    recording_ = false;
    for (const Zeros &each : zeros_) // a GPU that fails here has failed for good, or the next step tells
        physical_.api().fill(physical_.index(), each.data, 0, each.bytes, current_);
    zeros_.clear();
    recorded.spoilt.swap(spoilt_);
    recorded.memory.swap(kept_);
    return recorded;
}

void ReplicaStream::require_running(const char *what) {
    if (!recording()) return;
    spoilt_ = Failure(MDIST_ERR_WRONG_CONTEXT,
                      text(what,
                           " has no place in what mdist_replica_graph records: nothing there happens before the "
                           "graph is launched, so nothing can wait for it"))
                  .reason("recording");
    throw Failure(*spoilt_);
}

bool ReplicaStream::keep(const Memory &memory) {
    const std::lock_guard lock(mutex_);
    if (!recording()) return false;
    kept_.push_back(memory);
    return true;
}

} // namespace mdist
