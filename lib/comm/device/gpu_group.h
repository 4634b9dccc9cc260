// SPDX-License-Identifier: Apache-2.0
// GpuGroup: the GPUs of a worker's replicas, and the collectives on their memory.
//
// Each party posts a call with a mark of its stream (Call::ready). The party that leads gives the whole operation to
// the lanes, for all parties. The lanes wait for all parties' marks; then the parties' streams wait for the lanes'
// marks (order()). So no thread waits for a GPU, except when the bytes go through the host (staging.h).
//
// The party, or one thread on its behalf, calls holds(), order() and join(). One thread at a time calls perform(),
// between meeting and finishing.
#pragma once

#include "comm/call/call.h"
#include "comm/device/lanes.h"
#include "util/function_ref.h"

#include <memory>
#include <mutex>
#include <vector>

namespace mdist {

class Group;
class Nccl;
class Staging;
class Workers;

class GpuGroup {
  public:
    /// `gpus` is by party.
    explicit GpuGroup(std::vector<Gpu *> gpus);
    ~GpuGroup();

    uint32_t parties() const { return lanes_.parties(); }
    Lanes &lanes() { return lanes_; }
    Gpu &gpu(uint32_t party) const { return lanes_.gpu(party); }
    /// Makes NCCL do everything from now on. Call before anybody meets.
    void set_nccl(std::unique_ptr<Nccl> nccl);
    bool uses_nccl() const { return nccl_ != nullptr; }

    /// Whether the buffers of a party's call lie on its GPU; false: on the host. Throws INVALID_ARGUMENT for a buffer
    /// that lies elsewhere, or not where the others do. Buffers without elements and address count as lying where the
    /// others do, or on the GPU if there are no others. While the party's stream is recorded, throws WRONG_CONTEXT for
    /// a call with an operator, which runs on the host, for one that NCCL cannot do, and instead of returning false.
    bool holds(uint32_t party, const Call &call) const;
    /// Throws WRONG_CONTEXT while the party's stream is recorded: what does not go on the stream would happen now alone.
    void require_running(uint32_t party) const;

    /// Gives the lanes the operation that all parties of `group` have posted. `workers` are the other workers of the
    /// job, or nullptr. Throws a failure that concerns all parties alike.
    void perform(Group &group, Workers *workers, const Call *const *calls, uint64_t timeout_ns);
    /// The marks after the last operation performed. Valid after finishing, until the party posts again.
    const Marks &done() const { return done_; }
    /// Makes the party's stream wait for the marks before its next work. If the GPU blocks (Gpu::blocking), the marks
    /// have happened on return.
    void order(uint32_t party, const Marks &marks);
    /// The same for all operations performed so far.
    void join(uint32_t party);

    /// Whether parties' streams may be recorded (device/gpu/graph.h): if NCCL does everything, or if there is one party
    /// and no other worker. A recorded operation (Call::recorded) is recorded by the graphs of all parties: each
    /// party's lane waits for that party's mark alone, and the party for its own lane. Nobody watches it. When a party
    /// begins to record, all its earlier operations are over.
    bool records(const Workers *workers) const;
    /// Calls `end`, which ends the recording of the party's stream, and must not throw. No operation is recorded
    /// meanwhile. For this party, marks of recorded operations count as happened from then on.
    void end_recording(uint32_t party, FunctionRef<void()> end);

  private:
    void perform_now(Group &group, Workers *workers, const Call *const *calls, uint64_t timeout_ns);
    void give(Group &group, Workers *workers, const Call *const *calls, uint64_t timeout_ns);
    void give_marks(const Call *const *calls);
    bool mark_lanes(bool recorded);
    bool stands(uint32_t party, const Marks &marks) const;
    void finish_lanes(uint64_t timeout_ns);

    std::unique_ptr<Staging> staging_; // made when first needed; the lanes end before it
    Lanes lanes_;
    std::unique_ptr<Nccl> nccl_; // only if every replica of the job has a GPU of its own
    Marks done_;
    std::mutex mutex_;
    Marks last_;                 // done_, for join()
    std::vector<Marks> ordered_; // by party: marks that its stream already waits for
    std::mutex recorded_mutex_;  // held while an operation is recorded, and while a recording ends; before mutex_
    std::vector<std::shared_ptr<LaneMarks>> recorded_; // those that some party's recording has yet to forget
};

} // namespace mdist
