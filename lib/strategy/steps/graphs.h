// SPDX-License-Identifier: Apache-2.0
// Graphs: what steps put on their replica's stream, recorded the first time and launched from then on.
//
// That is done where a worker has one replica, on a GPU, and other workers are reached by NCCL; elsewhere steps are
// asked each time. A launch is a collective: the workers compare their keys, and NCCL's kernels in it are watched like
// any others. By the replica's thread.
#pragma once

#include "util/function_ref.h"

#include <cstdint>
#include <map>
#include <memory>

namespace mdist {

class GpuGraph;
class Replica;

class Graphs {
  public:
    Graphs();
    ~Graphs();

    /// What the step puts on the stream; throws to fail.
    using Body = FunctionRef<void()>;
    void run(Replica &replica, uint64_t key, Body body);
    void forget(uint64_t key);

  private:
    std::map<uint64_t, std::unique_ptr<GpuGraph>> graphs_;
};

} // namespace mdist
