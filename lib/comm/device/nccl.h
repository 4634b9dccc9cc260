// SPDX-License-Identifier: Apache-2.0
// Nccl: performs collectives of a job's GPUs with NCCL, if every replica has a GPU of its own.
//
// As always, the workers first tell each other what they call. Then one thread of each worker gives NCCL the whole
// operation, on the lanes. Each move is one NCCL call; but gathers and reduce-scatters whose pieces have equal lengths
// are one call for all their moves. MEAN is NCCL's sum and a division. NCCL chooses the order of its sums; they do not
// follow the canonical tree. Called by the leading thread, one at a time.
#pragma once

#include "comm/call/call.h"
#include "comm/device/launches.h"
#include "comm/device/nccl_comms.h"
#include "comm/device/nccl_use.h"
#include "comm/plan/plan.h"

#include <memory>

namespace mdist {

class Group;
class Workers;

class Nccl {
  public:
    Nccl(Lanes &lanes, std::unique_ptr<NcclUse> use, std::unique_ptr<NcclComms> comms, uint32_t first_replica,
         uint32_t replicas)
        : lanes_(lanes), use_(std::move(use)), comms_(std::move(comms)), first_(first_replica), replicas_(replicas) {}

    /// Whether NCCL has the call's operation and types. It has no bitwise operations, and it reduces neither 16-bit
    /// integers nor bool. The same for all replicas that can meet in the call.
    static bool takes(const Call &call);
    /// Whether there is more than one rank.
    bool has_peers() const { return replicas_ > 1; }
    /// Performs the operation; as in GpuGroup::perform, the lanes already wait for all parties. When it throws, it has
    /// ended the communicators.
    void perform(Group &group, Workers *workers, const Call *const *calls, uint64_t timeout_ns);
    /// Ends the communicators. Call it if the performed work can no longer be marked: its kernels would wait for ever.
    void abandon() noexcept { comms_->abandon(); }
    /// Watches the last operation performed, which ends with these marks.
    void watch(const Marks &marks, const Call &call, uint64_t timeout_ns);

  private:
    std::unique_ptr<Lengths> agree(Workers *workers, const Call *const *calls, uint64_t timeout_ns) const;
    void give_all(const Group &group, const Call *const *calls, const Plan &plan, uint64_t timeout_ns);
    void launch_graphs(const Group &group, uint64_t timeout_ns);
    void give_joined(uint32_t party, const Call &call, std::size_t b);
    void give(uint32_t party, const Call &call, const Move &move);
    void give_sum(uint32_t party, const Call &call, const Move &move);
    void give_copy(uint32_t party, const Call &call, const Move &move);
    void divide(uint32_t party, const Call &call);

    Lanes &lanes_;
    const std::unique_ptr<NcclUse> use_; // ends after the communicators
    const std::unique_ptr<NcclComms> comms_;
    Launches launches_;
    const uint32_t first_;
    const uint32_t replicas_;
};

} // namespace mdist
