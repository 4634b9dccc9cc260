// SPDX-License-Identifier: Apache-2.0
// Workers: the other workers of the job, as this one's replicas and its strategy see them.
//
// Every worker makes the same calls in the same order; each is numbered, and before any byte of it is believed all have
// told each other what they call (joint/operation.h). What goes wrong on one of them ends the job's collectives on all,
// with one cause and for ever.
// Collectives: one thread at a time, the one that leads for the local replicas or whoever has the strategy's turn.
// fail(), run_later() and the const functions: any.
#pragma once

#include "comm/call.h"
#include "comm/links/link.h"
#include "comm/membership/membership.h"
#include "comm/schedules/doubling_plan.h"
#include "comm/schedules/scratch.h"
#include "comm/shm/group.h"
#include "device/memory_source.h"
#include "reduce/partials.h"
#include "util/event_count.h"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mdist {

/// What moves bytes between workers.
struct WorkerLinks {
    std::unique_ptr<Link> link;
    std::unique_ptr<ShmGroup> shared; // if all workers of the job share memory
    uint32_t per_host = 1;            // ShmMates::per_host()
    /// Memory that other workers can read without a copy; nullptr if there is none.
    std::shared_ptr<MemorySource> memory;
};

class Workers {
  public:
    using Blobs = std::vector<std::vector<char>>;

    Workers(std::unique_ptr<Membership> membership, WorkerLinks links, uint32_t replicas_per_worker);
    ~Workers();
    Workers(const Workers &) = delete;
    Workers &operator=(const Workers &) = delete;

    uint32_t count() const { return membership_->size(); }
    uint32_t self() const { return membership_->rank(); }
    uint32_t replicas_per_worker() const { return per_worker_; }
    uint32_t replica_count() const { return cut_.replicas(); }
    const reduce::Cut &cut() const { return cut_; }
    const std::shared_ptr<MemorySource> &memory() const { return links_.memory; }
    /// Whether all workers of the job share memory.
    bool all_share() const { return links_.shared != nullptr; }
    /// Where there are as many workers on each host, with ranks in a row, and they share memory: how many. Else 1.
    uint32_t per_host() const { return links_.per_host; }
    /// The way of small all-reduces.
    const DoublingPlan &doubling() const { return doubling_; }
    std::string name(uint32_t worker) const { return membership_->name(worker); }

    /// A collective of all replicas of the job: calls[i] is local replica i's; alike on all, and checked. `timeout_ns`
    /// is for each wait for other workers. Throws what ended the job.
    void perform(const Call *const *calls, uint64_t timeout_ns);
    /// Everybody's bytes, by worker; lengths may differ. `call` says what for.
    Blobs gather(const Call &call, const void *data, std::size_t bytes, uint64_t timeout_ns);
    /// To each worker its own bytes, blobs[worker], from this one; what each had for this one comes back, by worker.
    Blobs exchange(const Call &call, const std::vector<std::string> &blobs, uint64_t timeout_ns);
    /// Worker 0's bytes for all.
    void broadcast(const Call &call, void *data, std::size_t bytes, uint64_t timeout_ns);

    /// Says goodbye to the others, once; no calls are under way, and none come but fail(). Bounded.
    void leave() noexcept;
    /// Ends all collectives of the job, unless something has before; tells everybody, and wakes who waits here.
    void fail(const Failure &cause) noexcept;
    /// Called once when the job has failed, with the first cause; see Membership::when_failed.
    void when_failed(std::function<void(const Failure &)> call);

    /// For calls that nobody waits in: runs `job` on a thread of its own, one at a time. Only once start_thread() has
    /// returned, which throws RESOURCE if the system refuses it.
    void start_thread();
    void run_later(std::function<void()> job) noexcept;

  private:
    friend class JointOperation;
    class Thread;

    template <class Body>
    auto guarded(Body body);

    std::unique_ptr<Membership> membership_;
    WorkerLinks links_;
    const uint32_t per_worker_;
    const reduce::Cut cut_;
    const DoublingPlan doubling_;
    uint64_t sequence_ = 0;
    Scratch scratch_;
    EventCount failures_;
    std::function<void(const Failure &)> call_when_failed_;
    std::mutex thread_mutex_;
    std::unique_ptr<Thread> thread_;
};

} // namespace mdist
