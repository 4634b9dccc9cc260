// SPDX-License-Identifier: Apache-2.0
// Event: a mark on a stream, that other streams and the host wait for. Marks are used again: making one is cheap.
//
// Moved, not copied. Any thread, one at a time.
#pragma once

#include "device/gpu/physical.h"

#include <cstdint>

namespace mdist {

class Event {
  public:
    /// A mark that has happened.
    Event() = default;
    /// Recorded on a stream of that GPU, behind all it was given so far. Throws DEVICE.
    Event(PhysicalGpu &physical, mdist_gpu_stream *stream);
    ~Event();
    Event(Event &&other) noexcept;
    Event &operator=(Event &&other) noexcept;

    mdist_gpu_event *get() const { return event_; }
    /// Throws DEVICE where the GPU failed before it came there.
    bool happened() const;
    /// False if it has not happened within that time. Spins for a moment, then looks every 20 to 200 us.
    bool wait(uint64_t timeout_ns) const;

  private:
    PhysicalGpu *physical_ = nullptr;
    mdist_gpu_event *event_ = nullptr;
};

} // namespace mdist
