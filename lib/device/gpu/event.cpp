// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/event.h"

#include "device/gpu/polling.h"

#include <utility>

namespace mdist {

Event::Event(PhysicalGpu &physical, mdist_gpu_stream *stream) : physical_(&physical), event_(physical.take_event()) {
    const int error = physical.api().event_record(physical.index(), event_, stream);
    if (error == 0) return;
    physical.keep_event(event_);
    physical.check(error, "marking a stream");
}

Event::~Event() {
    if (event_ != nullptr) physical_->keep_event(event_);
}

Event::Event(Event &&other) noexcept : physical_(other.physical_), event_(std::exchange(other.event_, nullptr)) {}

Event &Event::operator=(Event &&other) noexcept {
    std::swap(physical_, other.physical_);
    std::swap(event_, other.event_);
    return *this;
}

bool Event::happened() const {
    if (event_ == nullptr) return true;
    const int error = physical_->api().event_query(physical_->index(), event_);
    if (error == 0) return true;
    if (physical_->api().kind(error) == MDIST_GPU_NOT_READY) return false;
    throw physical_->failure(error, "waiting for the GPU's work");
}

bool Event::wait(uint64_t timeout_ns) const {
    return poll_until([this] { return happened(); }, timeout_ns);
}

} // namespace mdist
