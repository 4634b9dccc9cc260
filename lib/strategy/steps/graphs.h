// SPDX-License-Identifier: Apache-2.0
// Graphs: recordings of GPU work. What a step puts on its replica's stream is recorded the first time and launched from
// then on.
//
// Steps are recorded only if the worker has one replica, on a GPU, and reaches other workers by NCCL. Elsewhere the
// step's function runs each time. A launch is a collective: the workers compare their keys, and the library watches
// NCCL's kernels in it like any others. Called by the replica's thread.
#pragma once

#include "util/function_ref.h"

#include <cstdint>
#include <map>
#include <memory>

namespace mdist {

class GpuGraph;
class Party;

class Graphs {
  public:
    Graphs();
    ~Graphs();

    /// Puts the step's work on the stream; throws to fail.
    using Body = FunctionRef<void()>;
    void run(Party &party, uint64_t key, Body body);
    /// The same without a function: begin() returns whether the step must now put the part's work on the stream. If the
    /// step does not come to end(), the run fails.
    bool begin(Party &party, uint64_t key);
    void end(Party &party);
    void forget(uint64_t key);

  private:
    std::map<uint64_t, std::unique_ptr<GpuGraph>> graphs_;
};

} // namespace mdist
