// SPDX-License-Identifier: Apache-2.0
// NcclComms: the communicators of one worker's GPUs in the job's NCCL group, and the thread that watches over them.
//
//   made --ready()--> in use --fail()--> aborted
//                     in use -----------------------> finalized and destroyed
//
// NCCL has no deadlines, and a call may still be in progress after it has returned. So nothing here waits inside NCCL.
// A thread that issues calls polls until NCCL has taken them. Issued work is then watched until one of these happens:
// its marks have happened, its time is up, NCCL reports an error, or the job has failed. In the last three cases all
// communicators are aborted, which ends their kernels.
//
// Only the watching thread aborts and destroys communicators. If that does not return within 20 s, the destructor leaves
// the thread behind with what it holds. One thread at a time calls issue(); any thread calls the others.
#pragma once

#include "comm/device/lanes.h"
#include "device/gpu/loader.h"
#include "util/failure.h"
#include "util/function_ref.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace mdist {

class NcclComms {
  public:
    /// What the job's workers agree on before they form the group.
    using Id = std::vector<unsigned char>;

    /// Makes one communicator per party, for the ranks from first_rank on. They are not ready() yet. `fail` is called
    /// once, by the watching thread, with what went wrong later. `failed` says whether the job has failed for another
    /// reason. Throws DEVICE, RESOURCE.
    NcclComms(const mdist_nccl_api &api, const Lanes &lanes, uint32_t ranks, uint32_t first_rank, const Id &id,
              std::function<void(const Failure &)> fail, std::function<bool()> failed);
    /// Ends the communicators; takes a limited time.
    ~NcclComms();
    NcclComms(const NcclComms &) = delete;
    NcclComms &operator=(const NcclComms &) = delete;

    /// Returns when all ranks of the job have met. Throws DEVICE, TIMEOUT, or ABORTED if the job has failed.
    void ready(uint64_t timeout_ns);

    const mdist_nccl_api &api() const;
    mdist_gpu_comm *comm(uint32_t party) const;
    /// Throws the failure of an NCCL call, unless `error` is no error or "in progress".
    void check(int error, const char *what) const;

    /// Runs `calls`, which makes NCCL calls as one group. Returns when NCCL has put them on the streams. Throws as
    /// ready() does.
    void issue(FunctionRef<void()> calls, const char *name, uint64_t timeout_ns);
    /// Has the communicators aborted, because what was issued will not end otherwise.
    void abandon() noexcept;
    /// Watches that everything issued before these marks is over within that time.
    void watch(Marks marks, const char *name, uint64_t timeout_ns);

  private:
    struct State;
    template <class Body>
    void or_abandon(Body body);
    void poll(const char *what, uint64_t timeout_ns);

    const std::shared_ptr<State> state_; // shared with the thread
};

} // namespace mdist
