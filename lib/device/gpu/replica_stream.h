// SPDX-License-Identifier: Apache-2.0
// ReplicaStream: the stream of one replica, which it shares with the memory that was allocated for its work: who gives
// such memory back marks where the stream stands, and whoever gets it next waits for that. So it outlives the replica.
//
// Any thread.
#pragma once

#include "device/gpu/event.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

namespace mdist {

class ReplicaStream {
  public:
    /// Throws DEVICE.
    explicit ReplicaStream(PhysicalGpu &physical, int32_t priority = 0);
    ~ReplicaStream();
    ReplicaStream(const ReplicaStream &) = delete;
    ReplicaStream &operator=(const ReplicaStream &) = delete;

    /// The one that work goes to now. By who works with the replica.
    mdist_gpu_stream *get() const { return current_; }
    mdist_gpu_stream *own() const { return own_; }
    /// Another one, behind what the one before was given; nullptr: its own.
    void use(mdist_gpu_stream *stream);
    /// The same without that order, which nobody needs any more.
    void replace(mdist_gpu_stream *stream);
    /// A mark behind all that it was given. Throws WRONG_CONTEXT of a stream that is recorded.
    Event mark() const;

    /// Zeros in memory that is given up, behind all that it was given; where it is recorded, behind that, once.
    void zero(void *data, std::size_t bytes);

    /// What it is given from here on is recorded, not done (graph.h). Throws WRONG_CONTEXT if it is already, DEVICE.
    void begin_recording();
    struct Recorded {
        void *graph = nullptr; // to be destroyed by whoever has it
        int error = 0;         // of the GPU's interface; no graph then
        std::optional<Failure> spoilt;
        std::vector<Memory> memory;
    };
    Recorded end_recording() noexcept;
    bool recording() const { return recording_.load(std::memory_order_relaxed); }
    /// Throws WRONG_CONTEXT while it is recorded, which spoils the recording.
    void require_running(const char *what);
    /// Keeps memory for as long as what is recorded; false, and it does not, if nothing is. Throws bad_alloc.
    bool keep(const Memory &memory);

  private:
    PhysicalGpu &physical_;
    mdist_gpu_stream *own_ = nullptr;
    mutable std::mutex mutex_; // guards changes of what follows against mark() and keep()
    std::atomic<mdist_gpu_stream *> current_{nullptr};
    std::atomic<bool> recording_{false};
    std::optional<Failure> spoilt_;
    std::vector<Memory> kept_;
    struct Zeros {
        void *data;
        std::size_t bytes;
    };
    std::vector<Zeros> zeros_;
};

} // namespace mdist
