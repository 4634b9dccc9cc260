// SPDX-License-Identifier: Apache-2.0
// NcclComms: the communicators of one worker's GPUs in the job's one NCCL group, and the thread that watches over them.
//
//   made --ready()--> in use --fail()--> aborted
//                     in use -----------------------> finalized and destroyed
//
// NCCL has no deadlines of its own, and a call may be in progress after it has returned. So nothing here waits inside
// NCCL: whoever issues polls until NCCL has taken it, and what was issued is watched until its marks have happened, its
// time is up, NCCL tells an error or the job has failed; then all communicators are aborted, from which their kernels
// end. Aborting and destroying are the watching thread's alone: if one of them does not return within 10 s, the thread
// is left alone with what it has. issue(): one thread at a time; the others: any.
#pragma once

#include "comm/device/gpu_group.h"
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
    /// What the job's workers agree on.
    using Id = std::vector<unsigned char>;

    /// One communicator for each party, of ranks first_rank onwards; not yet ready(). `fail` is called once, by the
    /// watching thread, with what went wrong later; `failed` says whether the job has failed anyway. Throws DEVICE,
    /// RESOURCE.
    NcclComms(const mdist_nccl_api &api, GpuGroup &gpus, uint32_t ranks, uint32_t first_rank, const Id &id,
              std::function<void(const Failure &)> fail, std::function<bool()> failed);
    /// Ends them; takes a limited time.
    ~NcclComms();
    NcclComms(const NcclComms &) = delete;
    NcclComms &operator=(const NcclComms &) = delete;

    /// Returns when all ranks of the job have met. Throws DEVICE, TIMEOUT, or ABORTED where the job has failed.
    void ready(uint64_t timeout_ns);

    const mdist_nccl_api &api() const;
    mdist_gpu_comm *comm(uint32_t party) const;
    /// The error of a call of NCCL as a failure, unless it is none or in progress.
    void check(int error, const char *what) const;

    /// Makes calls of NCCL, as one group, and returns when NCCL has put them on the streams. Throws as ready().
    void issue(FunctionRef<void()> calls, const char *name, uint64_t timeout_ns);
    /// Has them aborted, as what was issued will not end otherwise.
    void abandon() noexcept;
    /// What was issued before these marks is to be over in that time.
    void watch(Marks marks, const char *name, uint64_t timeout_ns);

  private:
    struct State;
    template <class Body>
    void or_abandon(Body body);
    void poll(const char *what, uint64_t timeout_ns);

    const std::shared_ptr<State> state_; // the thread's, too
};

} // namespace mdist
