// SPDX-License-Identifier: Apache-2.0
// Workers: the workers of a job: who they are, where their replicas lie in the tree, what moves bytes between them, and
// how many operations they have entered.
//
// Every worker makes the same calls in the same order. Each call is numbered. Before any of its bytes are trusted, all
// workers have told each other what they call (workers/operation.h). A failure on one worker ends the job's collectives
// on all workers for good, with one cause.
//
// A group of replicas has Workers of its own: those with members. It has links and a sequence of operations of its own,
// and the job's membership. Its workers are numbered from 0 and its spans are of slots (plan/group_layout.h), so what
// is below need not know. Only messages name a worker by its rank in the job.
//
// One thread at a time may call the collectives, and what only operations call: the one that leads for the local
// replicas, or the one that has the strategy's turn. Any thread may call fail(), wake(), run_later() and the const
// functions.
#pragma once

#include "comm/call/call.h"
#include "comm/links/link.h"
#include "comm/plan/group_layout.h"
#include "comm/plan/lengths.h"
#include "comm/schedules/join_plan.h"
#include "comm/schedules/scratch.h"
#include "comm/schedules/split_plan.h"
#include "comm/shm/group.h"
#include "comm/workers/thread.h"
#include "device/memory_source.h"
#include "membership/membership.h"
#include "reduce/partials.h"
#include "util/clock.h"
#include "util/event_count.h"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdist {

/// What moves bytes between workers.
struct WorkerLinks {
    std::unique_ptr<Link> link;
    std::unique_ptr<ShmGroup> shared; // if all workers of the job share memory
    uint32_t per_host = 1;            // ShmMates::per_host()
    /// Memory that other workers can read without a copy; nullptr if there is none.
    std::shared_ptr<MemorySource> memory;
    uint64_t call_timeout_ns = kNoDeadline; // communication.call_timeout
    std::string chosen;                     // for messages: the links in use, with which workers, and why
    std::unique_ptr<Link> mail;             // for the messages of replicas (mail/)
};

/// One blob of bytes per worker, by worker.
using Blobs = std::vector<std::string>;

class Workers {
  public:
    Workers(std::unique_ptr<Membership> membership, WorkerLinks links, const Spans &spans);
    /// The workers of a group of replicas of `job`; this worker has members. Of the collectives, only perform() is for
    /// it.
    Workers(const Workers &job, WorkerLinks links, GroupLayout layout);
    ~Workers();
    Workers(const Workers &) = delete;
    Workers &operator=(const Workers &) = delete;

    // ---- Collectives (blobs.cpp, parts.cpp and ways.cpp, which know the operations)

    /// Performs a collective of all replicas of the job. calls[i] belongs to local replica i; the calls are the same on
    /// all workers, and checked. `timeout_ns` limits each wait for other workers. Throws the failure that ended the
    /// job.
    void perform(const Call *const *calls, uint64_t timeout_ns);
    /// Returns when all workers have made the same call.
    void meet(const Call &call, uint64_t timeout_ns);
    /// The same; also returns the lengths of every replica's pieces, which have been checked.
    ToldLengths tell_lengths(const Call *const *calls, uint64_t timeout_ns);
    /// Returns every worker's bytes, by worker. Lengths may differ. `call` says what they are for.
    Blobs gather(const Call &call, std::string_view own, uint64_t timeout_ns);
    /// Sends each worker its own bytes, blobs[worker]. Returns what each worker had for this one, by worker.
    Blobs exchange(const Call &call, const Blobs &blobs, uint64_t timeout_ns);
    /// Copies worker 0's bytes to all workers.
    void broadcast(const Call &call, void *data, std::size_t bytes, uint64_t timeout_ns);

    /// Runs `job` on a thread of its own, one job at a time, for calls that nobody waits in. Call start_thread()
    /// before; it throws RESOURCE if the system refuses the thread.
    void start_thread();
    void run_later(std::function<void()> job) noexcept;
    /// Ends the thread when its job is done. No call may follow.
    void stop_thread() noexcept;

    uint32_t count() const { return spans().workers(); }
    uint32_t self() const { return self_; }
    /// The place of a local replica, by local number, among the replicas that meet.
    uint32_t position_of_local(uint32_t local) const { return position_of(spans()[self_].first + local); }
    /// The rank in the job.
    uint32_t rank(uint32_t worker) const { return layout_ ? layout_->ranks[worker] : worker; }
    /// Which replicas belong to which worker.
    const Spans &spans() const { return cut_.spans(); }
    uint32_t replica_count() const { return cut_.replicas(); }
    /// The group's layout; nullptr for the job itself.
    const GroupLayout *layout() const { return layout_ ? &*layout_ : nullptr; }
    /// Whether spans() and cut() are of positions in the tree. Otherwise they are of slots only.
    bool in_order() const { return in_order_; }
    uint32_t slot_of(uint32_t position) const { return layout_ ? layout_->slots[position] : position; }
    uint32_t position_of(uint32_t slot) const { return layout_ ? layout_->positions[slot] : slot; }
    /// "the job" or "group {0, 2}", for messages.
    const std::string &label() const { return label_; }
    const reduce::Cut &cut() const { return cut_; }
    const std::shared_ptr<MemorySource> &memory() const { return links_.memory; }
    /// Whether all workers of the job share memory.
    bool all_share() const { return links_.shared != nullptr; }
    /// The number of workers on each host, if all hosts have the same number, with consecutive ranks, and they share
    /// memory. Otherwise 1.
    uint32_t per_host() const { return links_.per_host; }
    /// How blocks of workers join in agreements and small sums.
    const JoinPlan &join_plan() const { return join_plan_; }
    /// How large sums are split among workers.
    const SplitPlan &split_plan() const { return split_plan_; }
    /// Whether all workers agree directly, or by relays (schedules/call_agreement.h). In a group of replicas no worker
    /// announces its operations, so whoever hears of a worker only through others could not say that it is late.
    bool meets_directly() const;
    const std::string &links() const { return links_.chosen; }
    /// How long an operation may take at most.
    uint64_t call_timeout() const { return links_.call_timeout_ns; }
    std::string name(uint32_t worker) const { return membership_->name(rank(worker)); }

    Membership &membership() const { return *membership_; }
    /// Whether a worker has said that it has entered that operation. In a group of replicas nobody says so.
    bool has_entered(uint32_t worker, uint64_t sequence) const {
        return !layout_ && membership_->entered(worker) >= sequence;
    }
    /// Tells the others now that this worker has entered its operation.
    void announce() noexcept {
        if (!layout_) membership_->announce();
    }
    Link &link() const { return *links_.link; }
    /// A link of its own. Used by Mail, also beside operations.
    Link &mail_link() const { return *links_.mail; }
    /// nullptr unless all_share().
    ShmGroup *shared() const { return links_.shared.get(); }
    Scratch &scratch() { return scratch_; }
    /// Begins an operation and returns its number. Throws why the job has failed.
    uint64_t enter();
    /// The number of the last operation that this worker has begun. Only for the thread that may begin the next one.
    uint64_t entered() const { return sequence_; }
    /// Waits until the membership knows why the job failed, for a few seconds at most. A closed link says that a peer
    /// is gone, but not why. The peer, or the news of its end, is just reaching the membership. `worker`: the peer, or
    /// MDIST_NONE; if it has left in order, the job fails for that.
    void await_cause(uint32_t worker) const;

    /// Wakes threads that wait here, so that they look whether the job has failed.
    void wake() noexcept;
    /// Ends all operations of the job, unless something already has. Tells all workers, and wakes threads that wait
    /// here.
    void fail(const Failure &cause) noexcept;
    /// Sets a function that is called once, when the job has failed, with the first cause; see Membership::when_failed.
    void when_failed(std::function<void(const Failure &)> call);
    /// Says goodbye to the other workers, once. No call may be under way, and only fail() may follow. Takes a bounded
    /// time. A group of replicas only closes its links.
    void leave() noexcept;

  private:
    /// Runs a collective. Ends the job if memory runs out: a worker cannot go on in the middle of one, and the others
    /// would wait for it.
    template <class Body>
    auto guarded(Body body) {
        try {
            return body();
        } catch (const Failure &) {
            throw;
        } catch (const std::exception &) {
            fail(out_of_memory());
            link().close();
            throw;
        }
    }

    const std::shared_ptr<Membership> membership_;
    WorkerLinks links_;
    const std::optional<GroupLayout> layout_;
    const bool in_order_;
    const std::string label_;
    const reduce::Cut cut_;
    const uint32_t self_;
    const JoinPlan join_plan_;
    const SplitPlan split_plan_;
    uint64_t sequence_ = 0;
    Scratch scratch_;
    EventCount failures_;
    std::function<void(const Failure &)> call_when_failed_;
    std::mutex thread_mutex_;
    std::unique_ptr<WorkerThread> thread_;
};

} // namespace mdist
