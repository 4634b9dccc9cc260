// SPDX-License-Identifier: Apache-2.0
// ReplicaGroup: some replicas of a job, in an order of their own, with collectives of their own (<mdist/group.h>).
//
// It is to its members what the job is to all replicas: a meeting of the local ones, a line of started operations for
// each, and, if other workers have members, links to them that nothing else uses. So no group waits for what another
// one does. What ends the job's collectives ends the group's, and the other way round (comm/local/group.h).
//
// A worker without members has the object, too, and nothing meets there.
#pragma once

#include "comm/plan/group_layout.h"
#include "strategy/job/job.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mdist {

/// A replica's place in the collectives of all replicas, or of a group.
struct Seat {
    Executors &executors;
    OperationQueue &operations;
    uint32_t party;      // of the executors' group
    uint32_t replicas;   // that meet
    const uint32_t *ids; // Call::ids
};

/// The place of a local replica among all.
inline Seat seat_among_all(Job &job, uint32_t local) {
    return {job.comm.executors(), job.comm.operations(), local, job.replicas.count(), nullptr};
}

class ReplicaGroup {
  public:
    /// Makes a group of these replicas, in this order. All workers call it together, with the turn. Throws
    /// INVALID_ARGUMENT, MISMATCH if workers name different replicas, and what make_links() throws.
    static std::shared_ptr<ReplicaGroup> create(Job &job, std::vector<uint32_t> ids);
    ~ReplicaGroup();
    ReplicaGroup(const ReplicaGroup &) = delete;
    ReplicaGroup &operator=(const ReplicaGroup &) = delete;

    const Job &job() const { return *job_; }
    /// Of the job, when the group was made. It ends with that.
    uint32_t generation() const { return generation_; }
    uint32_t size() const { return static_cast<uint32_t>(layout_.ids.size()); }
    /// MDIST_NONE if the replica is not a member.
    uint32_t position_of(uint32_t replica) const;
    const std::string &name() const { return name_; }

    bool has(uint32_t local) const { return party_of(local) != MDIST_NONE; }
    /// The place of a local member.
    Seat seat(uint32_t local);
    /// The GPUs of the local members; nullptr on the CPU.
    GpuGroup *gpus() const { return meeting_ ? meeting_->executors.gpus() : nullptr; }
    /// Whether NCCL does the group's collectives of GPU memory: if the job uses it, and all members are on one worker.
    /// (See NcclUse: a process orders its own operations, but not those of other workers.)
    bool uses_nccl() const { return gpus() != nullptr && gpus()->uses_nccl(); }
    uint32_t party_of(uint32_t local) const;

  private:
    ReplicaGroup(Job &job, GroupLayout layout);
    void agree(Job &job) const;
    void link(Job &job);
    void meet(Job &job);
    void choose_nccl(const Job &job);

    const std::shared_ptr<Job> job_;
    const uint32_t generation_;
    const GroupLayout layout_;
    const std::string name_;
    std::vector<uint32_t> locals_;      // by party
    const std::shared_ptr<void> outer_; // the job's meeting, of which the own one is an inner group
    std::shared_ptr<Workers> workers_;
    std::unique_ptr<Meeting> meeting_; // nullptr: no local members
    std::unique_ptr<GpuGroup> gpus_;   // its threads use the meeting
};

} // namespace mdist
