// SPDX-License-Identifier: Apache-2.0
// Nccl: collectives of a job's GPUs by NCCL: every replica has a GPU of its own.
//
// The workers first tell each other what they call, as ever; then one thread of each gives NCCL the whole operation, on
// the lanes. MEAN is NCCL's sum and a division; what NCCL has no function for goes by sends and receives. Sums are in
// NCCL's order, not along the canonical tree. By who leads, one thread at a time.
#pragma once

#include "comm/call.h"
#include "comm/device/nccl_comms.h"
#include "comm/joint/parts.h"

#include <memory>
#include <string>

namespace mdist {

class Group;
class Workers;

class Nccl {
  public:
    Nccl(GpuGroup &gpus, std::unique_ptr<NcclComms> comms, uint32_t first_replica, uint32_t replicas)
        : gpus_(gpus), comms_(std::move(comms)), first_(first_replica), replicas_(replicas) {}

    /// As GpuGroup::perform, the lanes wait for everybody already. What it throws has ended the communicators.
    void perform(Group &group, const Call *const *calls, uint64_t timeout_ns);
    /// Ends the communicators, where what was performed can be marked no more: its kernels would wait for ever.
    void abandon() noexcept { comms_->abandon(); }
    /// What was performed last is behind these marks.
    void watch(const Marks &marks, const Call &call, uint64_t timeout_ns);

  private:
    joint::Parts agree(Group &group, const Call *const *calls, uint64_t timeout_ns) const;
    void give_all(const Call *const *calls, const joint::Parts &parts, uint64_t timeout_ns);
    void give(uint32_t party, const Call &call, std::size_t b, const joint::Parts &parts);
    void give_gather(uint32_t party, const Call &call, std::size_t b, const joint::Parts &parts);
    void give_scatter(uint32_t party, const Call &call, std::size_t b, const joint::Parts &parts);
    void give_reduce_scatter(uint32_t party, const Call &call, std::size_t b, const joint::Parts &parts);
    void give_transpose(uint32_t party, const mdist_buffer_t &in, const mdist_buffer_t &out);
    void send(uint32_t party, uint32_t to, const mdist_buffer_t &from, uint64_t begin, uint64_t elements);
    void receive(uint32_t party, uint32_t from, const mdist_buffer_t &to, uint64_t begin, uint64_t elements);
    void divide(uint32_t party, const Call &call);

    GpuGroup &gpus_;
    const std::unique_ptr<NcclComms> comms_;
    const uint32_t first_;
    const uint32_t replicas_;
};

} // namespace mdist
