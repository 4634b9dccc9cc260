// SPDX-License-Identifier: Apache-2.0
// Event: a mark on a stream that other streams and the host can wait for. Marks are reused, so making one is cheap.
//
// Can be moved, not copied. Any thread may use it, one at a time.
#pragma once

#include "device/gpu/card.h"

#include <cstdint>

namespace mdist {

class Event {
  public:
    /// A mark that has already happened.
    Event() = default;
    /// A mark on a stream of that GPU, after everything the stream was given so far. Throws DEVICE.
    Event(GpuCard &card, mdist_gpu_stream *stream);
    ~Event();
    Event(Event &&other) noexcept;
    Event &operator=(Event &&other) noexcept;

    mdist_gpu_event *get() const { return event_; }
    /// Whether it has happened. Throws DEVICE if the GPU failed before it reached the mark.
    bool happened() const;
    /// Waits for it. Returns false if it has not happened within that time. Spins for a moment, then looks every 20 to
    /// 200 us.
    bool wait(uint64_t timeout_ns) const;

  private:
    GpuCard *card_ = nullptr;
    mdist_gpu_event *event_ = nullptr;
};

} // namespace mdist
