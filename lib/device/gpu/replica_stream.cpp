// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/replica_stream.h"

#include "util/text.h"

namespace mdist {

ReplicaStream::ReplicaStream(GpuCard &card, int32_t priority) : card_(card) {
    card_.check(card_.api().stream_create(card_.index(), priority, &own_), "making a stream");
    current_ = own_;
}

ReplicaStream::~ReplicaStream() {
    card_.api().stream_destroy(card_.index(), own_); // work on it still happens
}

void ReplicaStream::use(mdist_gpu_stream *stream) {
    mdist_gpu_stream *const next = stream == nullptr ? own_ : stream;
    if (next == current_) return;
    require_running("changing to another stream");
    const std::lock_guard lock(mutex_);
    const Event behind(card_, current_);
    card_.check(card_.api().stream_wait(card_.index(), next, behind.get()), "changing to another stream");
    current_ = next;
}

void ReplicaStream::replace(mdist_gpu_stream *stream) {
    const std::lock_guard lock(mutex_);
    current_ = stream;
}

Event ReplicaStream::mark() const {
    const std::lock_guard lock(mutex_);
    if (recording_) throw Failure(MDIST_ERR_WRONG_CONTEXT, "a stream cannot be marked while a graph records it");
    return {card_, current_};
}

void ReplicaStream::zero(void *data, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (recording_)
        zeros_.push_back({data, bytes});
    else
        card_.check(card_.api().fill(card_.index(), data, 0, bytes, current_), "filling memory with zeros");
}

void ReplicaStream::begin_recording() {
    require_running("another graph");
    const std::lock_guard lock(mutex_);
    card_.check(card_.api().capture_begin(card_.index(), current_), "recording a graph");
    recording_ = true;
}

ReplicaStream::Recorded ReplicaStream::end_recording() noexcept {
    Recorded recorded;
    const std::lock_guard lock(mutex_);
    recorded.error = card_.api().capture_end(card_.index(), current_, &recorded.graph);
    recording_ = false;
    for (const Zeros &each : zeros_) // a GPU that fails here has failed for good, or the next step tells
        card_.api().fill(card_.index(), each.data, 0, each.bytes, current_);
    zeros_.clear();
    recorded.spoilt.swap(spoilt_);
    recorded.memory.swap(kept_);
    return recorded;
}

void ReplicaStream::require_running(const char *what) {
    if (!recording()) return;
    spoilt_ = Failure(MDIST_ERR_WRONG_CONTEXT,
                      text(what,
                           " cannot be recorded by mdist_replica_graph: recorded work runs only when the graph is "
                           "launched, so nothing can wait for it while recording. Do it outside of the recording"))
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
