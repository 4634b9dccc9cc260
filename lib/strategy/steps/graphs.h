// SPDX-License-Identifier: Apache-2.0
// Graphs: recordings of GPU work. What a step puts on its replica's stream is recorded the first time and launched from
// then on.
//
// Steps are recorded only if NCCL does the collectives, or if there is one replica, on a GPU. Elsewhere the step's
// function runs each time. Each replica has graphs of its own, of its stream and its lane: a graph on one card knows
// nothing of another, and NCCL's kernels find each other when all are launched. A launch is a collective: the replicas
// compare their keys, and the library watches NCCL's kernels in it like any others. Called by the replica's thread.
#pragma once

#include "util/function_ref.h"

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace mdist {

class GpuGraph;
class Party;

class Graphs {
  public:
    /// For that many replicas in this process.
    explicit Graphs(uint32_t replicas);
    ~Graphs();

    /// Puts the step's work on the stream; throws to fail.
    using Body = FunctionRef<void()>;
    void run(Party &party, uint64_t key, Body body);
    /// The same without a function: begin() returns whether the step must now put the part's work on the stream. If the
    /// step does not come to end(), the run fails.
    bool begin(Party &party, uint64_t key);
    void end(Party &party);
    void forget(const Party &party, uint64_t key);
    /// Forgets all graphs, for the next generation of an elastic job. They hold addresses of the old one.
    void span_changed(uint32_t replicas);

  private:
    using ByKey = std::map<uint64_t, std::unique_ptr<GpuGraph>>;
    ByKey &of(const Party &party);
    void launch_first(Party &party, uint64_t key, std::unique_ptr<GpuGraph> graph);

    std::vector<ByKey> graphs_; // by replica; only the replica's thread uses its own
};

} // namespace mdist
