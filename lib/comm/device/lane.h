// SPDX-License-Identifier: Apache-2.0
// Lane: one GPU's part in its worker's collectives: a stream of high priority beside the streams of the replicas, and
// scratch memory.
//
// One operation at a time is put together (copies in, reductions, copies out). Then launch() gives it to the stream in
// that order, in few launches. Nothing here waits. The next operation reuses the scratch memory, after this one on the
// stream. One thread at a time.
#pragma once

#include "device/gpu/event.h"
#include "device/gpu/graph.h"
#include "device/gpu/physical.h"
#include "device/gpu/replica_stream.h"
#include "reduce/reduce.h"

#include <memory>
#include <vector>

namespace mdist {

class Lane {
  public:
    explicit Lane(PhysicalGpu &gpu);
    /// Waits for the stream, for a limited time.
    ~Lane();
    Lane(const Lane &) = delete;
    Lane &operator=(const Lane &) = delete;

    PhysicalGpu &gpu() const { return gpu_; }
    mdist_gpu_stream *stream() const { return stream_->own(); }
    /// Whether kernels on this GPU can read and write the other GPU's memory in place.
    bool reaches(const PhysicalGpu &other) const;

    void wait_for(const Event &event);
    Event record() { return Event(gpu_, stream()); }
    /// Waits until the stream has done everything it was given. Returns false if that takes longer. Throws DEVICE.
    bool finish(uint64_t timeout_ns) { return gpu_.wait_for_stream(stream(), timeout_ns, "a collective"); }

    /// Forgets the operation put together so far, and the content of the scratch memory.
    void begin();
    /// Scratch memory, valid until begin(). Aligned to 256 bytes.
    void *scratch(std::size_t bytes);
    /// Copies before the reductions, between any two memories.
    void fetch(void *to, const void *from, std::size_t bytes);
    /// Widens 16-bit floats to float32, after the fetches and before the reductions.
    void widen(void *to, int32_t dtype, const void *from, uint64_t elements);
    /// These fill the arrays of the next reduction, in any order; then call reduce().
    void add_source(const void *source) { addresses_.push_back(const_cast<void *>(source)); }
    void add_destination(void *destination) { destinations_.push_back(destination); }
    void reduce(const reduce::Operation &operation, uint64_t elements);
    /// Copies after the reductions, within memory that this GPU reaches. Skips a copy whose two stretches are the same.
    void copy(void *to, const void *from, std::size_t bytes);
    /// Copies after the reductions, between any two memories.
    void send(void *to, const void *from, std::size_t bytes);
    /// Launches a graph after everything else.
    void launch_last(const GpuGraph &graph) { graph_ = &graph; }
    /// Gives everything to the stream. Throws DEVICE.
    void launch();

  private:
    struct Chunk {
        Memory memory;
        std::size_t bytes;
        std::size_t used;
    };

    struct Widening {
        void *to;
        int32_t dtype;
        const void *from;
        uint64_t elements;
    };

    void launch_copies(const std::vector<mdist_gpu_stretch> &stretches);

    PhysicalGpu &gpu_;
    const std::shared_ptr<ReplicaStream> stream_; // scratch memory holds it too, and may be freed before it was used
    std::vector<Chunk> chunks_;
    std::vector<mdist_gpu_stretch> fetches_;
    std::vector<Widening> widenings_;
    std::vector<mdist_gpu_reduction> reductions_;
    std::vector<void *> addresses_;    // of all reductions, one after another: sources, then destinations
    std::vector<void *> destinations_; // of the next reduction
    std::size_t first_address_ = 0;    // of the next reduction
    std::vector<mdist_gpu_stretch> copies_;
    std::vector<mdist_gpu_stretch> sends_;
    const GpuGraph *graph_ = nullptr;
};

} // namespace mdist
