// SPDX-License-Identifier: Apache-2.0
// Lanes: the GPUs of a worker's replicas, and one lane for each physical GPU among them. One thread at a time.
#pragma once

#include "comm/device/lane.h"
#include "device/gpu/gpu.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace mdist {

/// Marks of the lanes after an operation.
struct LaneMarks {
    std::vector<Event> events; // by lane
    bool recorded = false;     // of an operation in the replicas' graphs: each replica looks at its own lane's only
};
using Marks = std::shared_ptr<const LaneMarks>;

class Lanes {
  public:
    /// `gpus` is by party.
    explicit Lanes(std::vector<Gpu *> gpus);

    uint32_t parties() const { return static_cast<uint32_t>(gpus_.size()); }
    Gpu &gpu(uint32_t party) const { return *gpus_[party]; }
    const std::vector<std::unique_ptr<Lane>> &all() const { return lanes_; }
    Lane &lane_of(uint32_t party) const { return *lanes_[lane_index_[party]]; }
    /// Its place in all().
    std::size_t index_of(uint32_t party) const { return lane_index_[party]; }
    /// Makes this party's GPU compute all operations alone. Call before anybody asks for the reducers.
    void set_reducer(uint32_t party) { reducer_ = static_cast<int32_t>(party); }
    /// The lanes that share a reduction: all that reach every party's memory, or one.
    const std::vector<Lane *> &reducers();

  private:
    const std::vector<Gpu *> gpus_;
    std::vector<std::unique_ptr<Lane>> lanes_; // one for each physical GPU
    std::vector<std::size_t> lane_index_;      // by party
    int32_t reducer_ = -1;
    std::vector<Lane *> reducers_; // filled when first asked for
};

} // namespace mdist
