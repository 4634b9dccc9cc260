// SPDX-License-Identifier: Apache-2.0
// ReplicaStream: the stream of one replica. The memory that was allocated for its work shares it: when such memory is
// given back, a mark records where the stream stands, and the next user waits for that mark. So the stream outlives the
// replica. Any thread.
#pragma once

#include "device/device.h"
#include "device/gpu/event.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

namespace mdist {

class ReplicaStream {
  public:
    /// Throws DEVICE.
    explicit ReplicaStream(GpuCard &card, int32_t priority = 0);
    ~ReplicaStream();
    ReplicaStream(const ReplicaStream &) = delete;
    ReplicaStream &operator=(const ReplicaStream &) = delete;

    /// The stream that work goes to now. Only for the thread that works with the replica.
    mdist_gpu_stream *get() const { return current_; }
    mdist_gpu_stream *own() const { return own_; }
    /// Switches to another stream, whose work comes after that of the current one. nullptr: its own stream.
    void use(mdist_gpu_stream *stream);
    /// The same without that order, when nobody needs it any more.
    void replace(mdist_gpu_stream *stream);
    /// A mark after everything the stream was given. Throws WRONG_CONTEXT if the stream is recorded.
    Event mark() const;

    /// Fills memory that is given up with zeros, after everything the stream was given. If the stream is recorded:
    /// once, after the recording.
    void zero(void *data, std::size_t bytes);

    /// Records from here on what the stream is given, instead of doing it (graph.h). Throws WRONG_CONTEXT if it is
    /// recorded already, or DEVICE.
    void begin_recording();
    struct Recorded {
        void *graph = nullptr; // whoever has it destroys it
        int error = 0;         // of the GPU's interface; then there is no graph
        std::optional<Failure> spoilt;
        std::vector<Memory> memory;
    };
    Recorded end_recording() noexcept;
    bool recording() const { return recording_.load(std::memory_order_relaxed); }
    /// Throws WRONG_CONTEXT while the stream is recorded, which spoils the recording.
    void require_running(const char *what);
    /// Keeps memory for as long as the recorded work. Returns false, and does not keep it, if nothing is recorded.
    /// Throws bad_alloc.
    bool keep(const Memory &memory);

  private:
    GpuCard &card_;
    mdist_gpu_stream *own_ = nullptr;
    mutable std::mutex mutex_; // guards changes of the members below against mark() and keep()
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
