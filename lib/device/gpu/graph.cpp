// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/graph.h"

#include <utility>

namespace mdist {

GpuGraph::~GpuGraph() {
    physical_.api().graph_destroy(graph_); // a launch that is under way continues
}

void GpuGraph::launch(mdist_gpu_stream *stream) const {
    physical_.check(physical_.api().graph_launch(physical_.index(), graph_, stream), "launching a graph");
}

GpuRecording::GpuRecording(Gpu &gpu) : gpu_(gpu) {
    gpu_.replica_stream().begin_recording();
}

GpuRecording::~GpuRecording() {
    if (over_) return;
    void *const graph = gpu_.replica_stream().end_recording().graph;
    if (graph != nullptr) gpu_.physical().api().graph_destroy(graph);
}

std::unique_ptr<GpuGraph> GpuRecording::end() {
    over_ = true;
    ReplicaStream::Recorded recorded = gpu_.replica_stream().end_recording();
    if (!recorded.spoilt && recorded.error == 0)
        return std::unique_ptr<GpuGraph>(new GpuGraph(gpu_.physical(), recorded.graph, std::move(recorded.memory)));
    if (recorded.graph != nullptr) gpu_.physical().api().graph_destroy(recorded.graph);
    if (recorded.spoilt) throw Failure(*recorded.spoilt);
    throw gpu_.physical().failure(recorded.error, "recording a graph");
}

} // namespace mdist
