// SPDX-License-Identifier: Apache-2.0
// ShmGroup: operations among workers that all share memory, as fast as that goes. Exempt from being a state machine:
// its functions block, and call `keep_going` now and then while they wait, which throws when waiting is over. After
// anything was thrown the group is of no use any more.
//
// All workers call the same functions in the same order; every operation of the job begins here, be it with meet()
// alone, so that workers in different operations find out at once. An all-reduce goes one of three ways, b bytes for
// each of n workers:
//   small    the partials travel with the header; everybody combines all of them. One meeting, n * b bytes read
//   staged   chunk by chunk through memory that stays in the caches: copy partials in, combine the own share, copy the
//            results out; while one chunk is being combined the next is under way
//   direct   where everybody's buffers lie in the arenas: combine the own share of what stands there, copy the others'
//            shares from where they stand. Leaves when nobody reads its buffers any more
// The bits are the same each way. One thread at a time.
#pragma once

#include "comm/call.h"
#include "comm/shm/meeting.h"
#include "comm/shm/steps.h"
#include "reduce/partials.h"

#include <memory>
#include <vector>

namespace mdist {

class ShmGroup {
  public:
    using KeepGoing = FunctionRef<void()>;

    /// For mates who all share memory.
    ShmGroup(std::shared_ptr<ShmMates> mates, std::shared_ptr<ShmBell> bell, uint32_t replicas_per_worker);

    /// Returns when every worker has come with the same header.
    void meet(const OperationHeader &mine, KeepGoing keep_going);
    /// calls[0..replicas_per_worker): of this worker's replicas, checked and alike.
    void all_reduce(const OperationHeader &mine, const Call *const *calls, KeepGoing keep_going);

    /// Whether another worker has come to the operation that this one is in.
    bool has_come(uint32_t rank) const { return meeting_.has_come(rank); }

  private:
    /// Of a worker with so many partials.
    std::size_t payload_bytes(const Call &call, uint32_t partials) const;
    void reduce_one(const OperationHeader &mine, const Call &call, std::size_t bytes, KeepGoing keep_going);
    void reduce_small(const OperationHeader &mine, const Call *const *calls, KeepGoing keep_going);
    void reduce_large(const OperationHeader &mine, const Call *const *calls, KeepGoing keep_going);

    std::shared_ptr<ShmMates> mates_;
    ShmMeeting meeting_;
    ShmSteps steps_;
    const uint32_t replicas_;
    const reduce::Cut cut_;
    uint32_t most_partials_ = 0; // of any worker
    std::vector<const char *> payloads_;
    std::vector<char> results_;
};

} // namespace mdist
