// SPDX-License-Identifier: Apache-2.0
// ShmGroup: operations among workers that all share memory, in the quickest way. Unlike schedules its functions block.
// While they wait they call `keep_going` from time to time, which throws to end the wait. After anything was thrown the
// group must not be used any more.
//
// All workers call the same functions in the same order. Every operation of the job begins here, even if only with
// come(), so that a worker in an all-reduce finds out if another is elsewhere. An all-reduce goes one of three ways,
// for n workers with b bytes each:
//   small    The partials travel with the header, and every worker combines all of them. One meeting, n * b bytes read.
//   staged   Chunk by chunk, through memory that stays in the caches: copy partials in, combine the own share, copy the
//            results out. While one chunk is being combined, the next is under way.
//   direct   If all workers' buffers lie in the arenas: combine the own share of what stands there, and copy the
//            others' shares from where they stand. Leave when nobody reads this worker's buffers any more.
// The bits are the same in each way. One thread at a time.
#pragma once

#include "comm/call/call.h"
#include "comm/shm/direct.h"
#include "comm/shm/meeting.h"
#include "comm/shm/reuse.h"
#include "comm/shm/steps.h"
#include "reduce/partials.h"

#include <memory>
#include <vector>

namespace mdist {

class ShmGroup {
  public:
    using KeepGoing = FunctionRef<void()>;

    /// All mates must share memory with each other.
    ShmGroup(std::shared_ptr<ShmMates> mates, std::shared_ptr<ShmBell> bell, const Spans &spans)
        : ShmGroup(mates, std::move(bell), spans, DirectWay::of(*mates)) {}
    ShmGroup(std::shared_ptr<ShmMates> mates, std::shared_ptr<ShmBell> bell, const Spans &spans, const DirectWay &way);

    /// Says that this worker has come to an operation whose headers go by messages. Does not wait. The next function
    /// may be called when every worker's message has come. What this worker said stays there for one operation more.
    void come(const OperationHeader &mine) { meeting_.publish(mine), meeting_.ring(); }
    /// Throws MISMATCH if a worker has come to another operation than this one. Does not wait. For long waits: a worker
    /// that waits for another one does not look at the rest.
    void require_same() const { meeting_.require_same(); }
    /// Whether all_reduce() has room for the call's elements. The same on all workers.
    bool takes(const Call &call) const;
    /// takes() must be true. `calls` are those of this worker's replicas: checked, and the same. The caller must hold a
    /// FloatEnvironment.
    void all_reduce(const OperationHeader &mine, const Call *const *calls, KeepGoing keep_going);

    /// Counts the waits in all_reduce(), of which each is for one step of a mate.
    uint64_t waits() const { return meeting_.waits(); }
    /// What a worker calls in the operation that this worker is in; nullptr if it has not come to it.
    const OperationHeader *header_of(uint32_t rank) const { return meeting_.header_of(rank); }

  private:
    /// Payload size of a worker with that many partials.
    std::size_t payload_bytes(const Call &call, uint32_t partials) const;
    /// Publishes this worker's payload, and finds those of all. `bytes(rank)` is the length of a worker's.
    void meet(const OperationHeader &mine, FunctionRef<std::size_t(uint32_t)> bytes, KeepGoing keep_going);
    void reduce_one(const OperationHeader &mine, const Call &call, std::size_t bytes, KeepGoing keep_going);
    void reduce_small(const OperationHeader &mine, const Call *const *calls, KeepGoing keep_going);
    void reduce_large(const OperationHeader &mine, const Call *const *calls, KeepGoing keep_going);

    std::shared_ptr<ShmMates> mates_;
    ShmMeeting meeting_;
    ShmSteps steps_;
    const reduce::Cut cut_;
    const DirectWay way_;
    Reuse reuse_;
    std::vector<const void *> payloads_;
    std::vector<char> results_;
};

} // namespace mdist
