// SPDX-License-Identifier: Apache-2.0
// Executors: who performs the collectives of one worker's replicas when the group does not do so itself (local/): the
// other workers of the job, over shared memory or a network, or the replicas' GPUs. One party then leads for all.
//
// Set the executors before anybody meets. They outlive this object, or it lets them go.
#pragma once

#include "comm/device/gpu_group.h"
#include "comm/local/group.h"
#include "comm/workers/workers.h"

#include <cstdint>
#include <optional>

namespace mdist {

class Executors {
  public:
    explicit Executors(Group &group) : group_(group) {}

    Group &group() const { return group_; }

    /// The job's other workers; nullptr if there are none.
    Workers *workers() const { return workers_; }
    /// Sets the other workers; from then on the job ends with the group.
    void set_workers(Workers &workers, uint32_t first_replica_id);
    /// The same for an inner group (Group::join_outer): the other workers with members of a group of replicas.
    void set_members(Workers &workers);

    /// The GPUs that the parties work on; nullptr on the CPU.
    GpuGroup *gpus() const { return gpus_; }
    void set_gpus(GpuGroup &gpus) { gpus_ = &gpus; }

    /// Forgets the workers and GPUs, which may end then. Their end and the group's no longer concern each other. No
    /// collective may be under way, and none may follow.
    void let_go() noexcept;

    /// Performs the collective that all parties have posted, on behalf of all. One thread calls it, between meeting and
    /// finishing.
    void lead(uint64_t timeout_ns) noexcept;
    /// In place of lead(): fails the collective for all parties. Releases the group before any party hears of the
    /// failure and makes one of its own from it.
    void fail_led(const Failure &failure) noexcept;
    /// Throws the failure of the collective, the same on all parties. Call it after finishing.
    void check_led() const {
        if (led_failure_) throw Failure(*led_failure_);
    }

  private:
    Group &group_;
    Workers *workers_ = nullptr;
    GpuGroup *gpus_ = nullptr;
    /// Why the last collective failed. No party can meet again before all parties have read it.
    std::optional<Failure> led_failure_;
};

} // namespace mdist
