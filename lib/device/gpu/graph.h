// SPDX-License-Identifier: Apache-2.0
// GpuGraph: work of a stream, recorded once (GpuRecording) and launched many times.
//
// While a stream is recorded, nothing that it is given happens, so nothing can wait for it. An operation that would
// wait is refused with WRONG_CONTEXT, and spoils the recording. Streams that wait for its marks are recorded with it.
// The graph keeps the memory that its work may use. Called by the replica's thread.
#pragma once

#include "device/gpu/gpu.h"

#include <memory>
#include <vector>

namespace mdist {

class GpuGraph {
  public:
    ~GpuGraph();
    GpuGraph(const GpuGraph &) = delete;
    GpuGraph &operator=(const GpuGraph &) = delete;

    /// Launches the graph on a stream of the GPU where it was recorded. Throws DEVICE.
    void launch(mdist_gpu_stream *stream) const;

  private:
    friend class GpuRecording;

    GpuGraph(PhysicalGpu &physical, void *graph, std::vector<Memory> memory)
        : memory_(std::move(memory)), physical_(physical), graph_(graph) {}

    const std::vector<Memory> memory_; // given back after the graph is destroyed
    PhysicalGpu &physical_;
    void *const graph_;
};

/// Records a GPU's stream from here until end(). If end() is not called, the recording is dropped.
class GpuRecording {
  public:
    /// Throws DEVICE, or WRONG_CONTEXT inside another recording.
    explicit GpuRecording(Gpu &gpu);
    ~GpuRecording();
    GpuRecording(const GpuRecording &) = delete;
    GpuRecording &operator=(const GpuRecording &) = delete;

    /// Ends the recording. Throws what spoilt it, or DEVICE.
    std::unique_ptr<GpuGraph> end();

  private:
    Gpu &gpu_;
    bool over_ = false;
};

} // namespace mdist
