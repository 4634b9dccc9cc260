// SPDX-License-Identifier: Apache-2.0
// Lane: what one GPU does of its worker's collectives: a stream of high priority beside those of the replicas, and
// memory for what lies between.
//
// One operation at a time is put together (copies in, reductions, copies) and then given to the stream, in few launches
// and in that order. Nothing here waits. Scratch memory is used again by the next operation, behind this one on the
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
    /// Whether kernels here read and write that GPU's memory in place.
    bool reaches(const PhysicalGpu &other) const;

    void wait_for(const Event &event);
    Event record() { return Event(gpu_, stream()); }
    /// Until the stream has done all it was given; false if that takes longer. Throws DEVICE.
    bool finish(uint64_t timeout_ns) { return gpu_.wait_for_stream(stream(), timeout_ns, "a collective"); }

    /// Forgets what was put together, and whatever lies in scratch memory.
    void begin();
    /// Until begin(). 256-byte aligned.
    void *scratch(std::size_t bytes);
    /// Before the reductions; between any two memories.
    void fetch(void *to, const void *from, std::size_t bytes);
    /// Fills the next reduction's arrays, in any order; then reduce().
    void add_source(const void *source) { addresses_.push_back(const_cast<void *>(source)); }
    void add_destination(void *destination) { destinations_.push_back(destination); }
    void reduce(const reduce::Operation &operation, uint64_t elements);
    /// Behind the reductions, within memory that this GPU reaches; stretches that are one and the same are passed over.
    void copy(void *to, const void *from, std::size_t bytes);
    /// Behind the reductions; between any two memories.
    void send(void *to, const void *from, std::size_t bytes);
    /// Behind all that.
    void launch_last(const GpuGraph &graph) { graph_ = &graph; }
    /// Gives all of it to the stream. Throws DEVICE.
    void launch();

  private:
    struct Chunk {
        Memory memory;
        std::size_t bytes;
        std::size_t used;
    };

    void launch_copies(const std::vector<mdist_gpu_stretch> &stretches);

    PhysicalGpu &gpu_;
    const std::shared_ptr<ReplicaStream> stream_; // scratch memory's, too: it may go before the stream has used it
    std::vector<Chunk> chunks_;
    std::vector<mdist_gpu_stretch> fetches_;
    std::vector<mdist_gpu_reduction> reductions_;
    std::vector<void *> addresses_;    // of the reductions, one behind another: sources, then destinations
    std::vector<void *> destinations_; // of the next reduction
    std::size_t first_address_ = 0;    // of the next reduction
    std::vector<mdist_gpu_stretch> copies_;
    std::vector<mdist_gpu_stretch> sends_;
    const GpuGraph *graph_ = nullptr;
};

} // namespace mdist
