// SPDX-License-Identifier: Apache-2.0
// Workers: the other workers of the job, as this worker's replicas and its strategy see them.
//
// Every worker makes the same calls in the same order. Each call is numbered. Before any of its bytes are trusted, all
// workers have told each other what they call (workers/operation.h). A failure on one worker ends the job's collectives
// on all workers for good, with one cause.
//
// One thread at a time may call the collectives: the one that leads for the local replicas, or the one that has the
// strategy's turn. Any thread may call fail(), run_later() and the const functions.
#pragma once

#include "comm/call/call.h"
#include "comm/plan/lengths.h"
#include "comm/workers/worker_group.h"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mdist {

class Workers {
  public:
    using Blobs = mdist::Blobs;

    Workers(std::unique_ptr<Membership> membership, WorkerLinks links, const Spans &spans);
    /// The workers of a group of replicas of `job`. Only perform(), fail(), wake(), the thread and the const functions
    /// are for it.
    Workers(const Workers &job, WorkerLinks links, GroupLayout layout);
    ~Workers();
    Workers(const Workers &) = delete;
    Workers &operator=(const Workers &) = delete;

    // These are documented in WorkerGroup:
    uint32_t count() const { return group_.count(); }
    uint32_t self() const { return group_.self(); }
    const Spans &spans() const { return group_.spans(); }
    /// The place of a local replica, by local number, among the replicas that meet.
    uint32_t position_of(uint32_t local) const { return group_.position_of(spans()[self()].first + local); }
    Membership &membership() const { return group_.membership(); }
    uint32_t replica_count() const { return group_.replica_count(); }
    const reduce::Cut &cut() const { return group_.cut(); }
    const std::shared_ptr<MemorySource> &memory() const { return group_.memory(); }
    const std::string &links() const { return group_.links(); }
    std::string name(uint32_t worker) const { return group_.name(worker); }
    WorkerGroup &group() { return group_; }
    void fail(const Failure &cause) noexcept { group_.fail(cause); }
    void wake() noexcept { group_.wake(); }
    void when_failed(std::function<void(const Failure &)> call) { group_.when_failed(std::move(call)); }

    /// Performs a collective of all replicas of the job. calls[i] belongs to local replica i; the calls are the same on
    /// all workers, and checked. `timeout_ns` limits each wait for other workers. Throws the failure that ended the
    /// job.
    void perform(const Call *const *calls, uint64_t timeout_ns);
    /// Returns when all workers have made the same call.
    void meet(const Call &call, uint64_t timeout_ns);
    /// The same; also returns the lengths of every replica's pieces, which have been checked.
    ToldLengths tell_lengths(const Call *const *calls, uint64_t timeout_ns);
    /// Returns every worker's bytes, by worker. Lengths may differ. `call` says what they are for.
    Blobs gather(const Call &call, const void *data, std::size_t bytes, uint64_t timeout_ns);
    /// Sends each worker its own bytes, blobs[worker]. Returns what each worker had for this one, by worker.
    Blobs exchange(const Call &call, const std::vector<std::string> &blobs, uint64_t timeout_ns);
    /// Copies worker 0's bytes to all workers.
    void broadcast(const Call &call, void *data, std::size_t bytes, uint64_t timeout_ns);

    /// Says goodbye to the others, once. No call may be under way, and only fail() may follow. Takes a bounded time.
    void leave() noexcept;

    /// Runs `job` on a thread of its own, one job at a time, for calls that nobody waits in. Call start_thread()
    /// before; it throws RESOURCE if the system refuses the thread.
    void start_thread();
    void run_later(std::function<void()> job) noexcept;
    /// Ends the thread when its job is done. No call may follow.
    void stop_thread() noexcept;

  private:
    class Thread;

    template <class Body>
    auto guarded(Body body);

    WorkerGroup group_;
    std::mutex thread_mutex_;
    std::unique_ptr<Thread> thread_;
};

} // namespace mdist
