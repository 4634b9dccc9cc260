// SPDX-License-Identifier: Apache-2.0
// WorkerGroup: the workers of a job, as seen by the operations among them: who they are, where their replicas lie in
// the tree, what moves bytes between them, and how many operations they have entered.
//
// Any thread may call fail() and the const functions. Only the thread that is in an operation may call the others.
#pragma once

#include "comm/links/link.h"
#include "comm/schedules/doubling_plan.h"
#include "comm/schedules/scratch.h"
#include "comm/shm/group.h"
#include "device/memory_source.h"
#include "membership/membership.h"
#include "reduce/partials.h"
#include "util/event_count.h"

#include <functional>
#include <memory>
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
    std::string chosen; // for messages: the links in use, with which workers, and why
};

/// One blob of bytes per worker, by worker.
using Blobs = std::vector<std::vector<char>>;

class WorkerGroup {
  public:
    WorkerGroup(std::unique_ptr<Membership> membership, WorkerLinks links, const Spans &spans);
    WorkerGroup(const WorkerGroup &) = delete;
    WorkerGroup &operator=(const WorkerGroup &) = delete;

    uint32_t count() const { return membership_->size(); }
    uint32_t self() const { return membership_->rank(); }
    /// Which replicas belong to which worker.
    const Spans &spans() const { return cut_.spans(); }
    uint32_t replica_count() const { return cut_.replicas(); }
    const reduce::Cut &cut() const { return cut_; }
    const std::shared_ptr<MemorySource> &memory() const { return links_.memory; }
    /// Whether all workers of the job share memory.
    bool all_share() const { return links_.shared != nullptr; }
    /// The number of workers on each host, if all hosts have the same number, with consecutive ranks, and they share
    /// memory. Otherwise 1.
    uint32_t per_host() const { return links_.per_host; }
    /// The plan of small all-reduces.
    const DoublingPlan &doubling() const { return doubling_; }
    const std::string &links() const { return links_.chosen; }
    std::string name(uint32_t worker) const { return membership_->name(worker); }

    Membership &membership() const { return *membership_; }
    Link &link() const { return *links_.link; }
    /// nullptr unless all_share().
    ShmGroup *shared() const { return links_.shared.get(); }
    Scratch &scratch() { return scratch_; }

    /// Begins an operation and returns its number. Throws why the job has failed.
    uint64_t enter();
    /// Waits until the membership knows why the job failed, for a few seconds at most. A closed link says that a peer
    /// is gone, but not why. The peer, or the news of its end, is just reaching the membership.
    void await_cause() const;

    /// Ends all operations of the job, unless something already has. Tells all workers, and wakes threads that wait
    /// here.
    void fail(const Failure &cause) noexcept;
    /// Sets a function that is called once, when the job has failed, with the first cause; see Membership::when_failed.
    void when_failed(std::function<void(const Failure &)> call);
    /// Says goodbye to the other workers, once. No operation may be under way, and none may follow. Takes a bounded
    /// time.
    void leave() noexcept;

  private:
    std::unique_ptr<Membership> membership_;
    WorkerLinks links_;
    const reduce::Cut cut_;
    const DoublingPlan doubling_;
    uint64_t sequence_ = 0;
    Scratch scratch_;
    EventCount failures_;
    std::function<void(const Failure &)> call_when_failed_;
};

} // namespace mdist
