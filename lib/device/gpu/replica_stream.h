// SPDX-License-Identifier: Apache-2.0
// ReplicaStream: the stream of one replica, which it shares with the memory that was allocated for its work: who gives
// such memory back marks where the stream stands, and whoever gets it next waits for that. So it outlives the replica.
//
// Any thread.
#pragma once

#include "device/gpu/event.h"

#include <atomic>
#include <mutex>

namespace mdist {

class ReplicaStream {
  public:
    /// Throws DEVICE.
    explicit ReplicaStream(PhysicalGpu &physical);
    ~ReplicaStream();
    ReplicaStream(const ReplicaStream &) = delete;
    ReplicaStream &operator=(const ReplicaStream &) = delete;

    /// The one that work goes to now. By who works with the replica.
    mdist_gpu_stream *get() const { return current_; }
    mdist_gpu_stream *own() const { return own_; }
    /// Another one, behind what the one before was given; nullptr: its own.
    void use(mdist_gpu_stream *stream);
    /// A mark behind all that it was given.
    Event mark() const;

  private:
    PhysicalGpu &physical_;
    mdist_gpu_stream *own_ = nullptr;
    mutable std::mutex mutex_; // guards changes of what follows against mark()
    std::atomic<mdist_gpu_stream *> current_{nullptr};
};

} // namespace mdist
