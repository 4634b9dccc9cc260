// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/replica_stream.h"

namespace mdist {

ReplicaStream::ReplicaStream(PhysicalGpu &physical) : physical_(physical) {
    physical_.check(physical_.api().stream_create(physical_.index(), 0, &own_), "making a stream");
    current_ = own_;
}

ReplicaStream::~ReplicaStream() {
    physical_.api().stream_destroy(physical_.index(), own_); // what is on it still happens
}

void ReplicaStream::use(mdist_gpu_stream *stream) {
    mdist_gpu_stream *const next = stream == nullptr ? own_ : stream;
    if (next == current_) return;
    const Event behind(physical_, current_);
    physical_.check(physical_.api().stream_wait(physical_.index(), next, behind.get()), "changing to another stream");
    const std::lock_guard lock(mutex_);
    current_ = next;
}

Event ReplicaStream::mark() const {
    const std::lock_guard lock(mutex_);
    return {physical_, current_};
}

} // namespace mdist
