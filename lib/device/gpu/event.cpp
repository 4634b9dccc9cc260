// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/event.h"

#include "device/gpu/polling.h"

#include <utility>

namespace mdist {

Event::Event(GpuCard &card, mdist_gpu_stream *stream) : card_(&card), event_(card.take_event()) {
    const int error = card.api().event_record(card.index(), event_, stream);
    if (error == 0) return;
    card.keep_event(event_);
    card.check(error, "marking a stream");
}

Event::~Event() {
    if (event_ != nullptr) card_->keep_event(event_);
}

Event::Event(Event &&other) noexcept : card_(other.card_), event_(std::exchange(other.event_, nullptr)) {}

Event &Event::operator=(Event &&other) noexcept {
    std::swap(card_, other.card_);
    std::swap(event_, other.event_);
    return *this;
}

bool Event::happened() const {
    if (event_ == nullptr) return true;
    const int error = card_->api().event_query(card_->index(), event_);
    if (error == 0) return true;
    if (card_->api().kind(error) == MDIST_GPU_NOT_READY) return false;
    throw card_->failure(error, "waiting for the GPU's work");
}

bool Event::wait(uint64_t timeout_ns) const {
    return poll_until([this] { return happened(); }, timeout_ns);
}

} // namespace mdist
