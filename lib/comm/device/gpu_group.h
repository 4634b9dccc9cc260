// SPDX-License-Identifier: Apache-2.0
// GpuGroup: the GPUs of a worker's replicas, and collectives of memory that lies there.
//
// Each party posts a call with a mark of its stream (Call::ready). Whoever leads gives the whole operation, for all, to
// the lanes, which wait for the marks of all; the parties' streams then wait for the marks of the lanes (order()).
// So nobody waits for a GPU but where the bytes go through the host (staging.h). holds(), order() and join(): by the
// party, or one thread on its behalf; perform(): one thread at a time, between meeting and finishing.
#pragma once

#include "comm/call.h"
#include "comm/device/lane.h"
#include "device/gpu/gpu.h"

#include <memory>
#include <mutex>
#include <vector>

namespace mdist {

class Group;
class Nccl;
class Staging;

/// Marks of the lanes behind an operation.
using Marks = std::shared_ptr<const std::vector<Event>>;

class GpuGroup {
  public:
    /// By party.
    explicit GpuGroup(std::vector<Gpu *> gpus);
    ~GpuGroup();

    uint32_t parties() const { return static_cast<uint32_t>(gpus_.size()); }
    Gpu &gpu(uint32_t party) const { return *gpus_[party]; }
    std::vector<std::unique_ptr<Lane>> &lanes() { return lanes_; }
    Lane &lane_of(uint32_t party) { return *lanes_[lane_index_[party]]; }
    /// All operations are computed by this party's GPU alone. Before anybody meets.
    void set_reducer(uint32_t party) { reducer_ = static_cast<int32_t>(party); }
    /// NCCL does everything from now on. Before anybody meets.
    void set_nccl(std::unique_ptr<Nccl> nccl);
    bool uses_nccl() const { return nccl_ != nullptr; }
    /// The lanes that share a reduction: those that reach everybody's memory, or one.
    const std::vector<Lane *> &reducers();

    /// Whether the buffers of a party's call lie on its GPU; false: on the host. Throws INVALID_ARGUMENT for one that
    /// lies elsewhere, or not where the others do. Buffers without elements and address lie where the others do, or
    /// else on the GPU.
    bool holds(uint32_t party, const Call &call) const;

    /// Gives the operation that all parties have posted to the lanes. Throws what then concerns all parties alike.
    void perform(Group &group, const Call *const *calls, uint64_t timeout_ns);
    /// Behind the last operation performed; after finishing, until the party posts again.
    const Marks &done() const { return done_; }
    /// What the party's stream gets from now on waits for the marks; where all is waited for (Gpu::blocking), they have
    /// happened on return.
    void order(uint32_t party, const Marks &marks);
    /// The same for all operations that were performed.
    void join(uint32_t party);

    /// Of one party, whose stream is recorded from here on (device/gpu/graph.h), and whose operations so far are over:
    /// operations are recorded on the lane with it, and nobody watches them. By the party; not with staging.
    void begin_recording();
    /// When it is recorded no more. Marks of what was recorded have happened.
    void end_recording() noexcept;

  private:
    void give(Group &group, const Call *const *calls, uint64_t timeout_ns);
    bool mark_lanes();
    bool stands(uint32_t party, const Marks &marks) const;
    void finish_lanes(uint64_t timeout_ns);

    const std::vector<Gpu *> gpus_;
    std::unique_ptr<Staging> staging_;         // once there was something to stage; the lanes end before it
    std::vector<std::unique_ptr<Lane>> lanes_; // one for each physical GPU
    std::vector<std::size_t> lane_index_;      // by party
    std::unique_ptr<Nccl> nccl_;               // where every replica of the job has a GPU of its own
    int32_t reducer_ = -1;
    std::vector<Lane *> reducers_; // once asked for
    Marks done_;
    std::mutex mutex_;
    Marks last_;                 // done_, for join()
    std::vector<Marks> ordered_; // by party: what its stream waits for already
    bool recording_ = false;
    std::vector<std::shared_ptr<std::vector<Event>>> recorded_;
};

/// A collective of buffers that GpuGroup::holds(), in one call.
void perform_on_gpus(Group &group, uint32_t party, const Call &call, uint64_t timeout_ns);

} // namespace mdist
