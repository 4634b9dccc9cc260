// SPDX-License-Identifier: Apache-2.0
// WorkerGroup: the workers of a job, as seen by the operations among them: who they are, where their replicas lie in
// the tree, what moves bytes between them, and how many operations they have entered.
//
// A group of replicas has a WorkerGroup of its own, of the workers with members. It has links and a sequence of
// operations of its own, and the job's membership. Its workers are numbered from 0 and its spans are of slots
// (plan/group_layout.h), so what is below need not know. Only messages name a worker by its rank in the job.
//
// Any thread may call fail() and the const functions. Only the thread that is in an operation may call the others.
#pragma once

#include "comm/links/link.h"
#include "comm/plan/group_layout.h"
#include "comm/schedules/join_plan.h"
#include "comm/schedules/scratch.h"
#include "comm/shm/group.h"
#include "device/memory_source.h"
#include "membership/membership.h"
#include "reduce/partials.h"
#include "util/clock.h"
#include "util/event_count.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
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
using Blobs = std::vector<std::vector<char>>;

class WorkerGroup {
  public:
    WorkerGroup(std::unique_ptr<Membership> membership, WorkerLinks links, const Spans &spans);
    /// The workers of a group of replicas; this worker has members.
    WorkerGroup(const WorkerGroup &job, WorkerLinks links, GroupLayout layout);
    WorkerGroup(const WorkerGroup &) = delete;
    WorkerGroup &operator=(const WorkerGroup &) = delete;

    uint32_t count() const { return spans().workers(); }
    uint32_t self() const { return self_; }
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
    /// The plans of small all-reduces. Relays take the first.
    const JoinPlan &two_by_two() const { return two_by_two_; }
    const JoinPlan &at_once() const { return at_once_; }
    /// Whether to exchange few bytes by relays (schedules/relayed_exchange.h). Fewer workers have hardly more than
    /// log2(n) others.
    bool relays() const { return count() >= 4 && !all_share(); }
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
    /// The pieces' lengths of earlier calls (workers/carried.h), by a hash of what a worker knows of a call beforehand.
    std::unordered_map<uint64_t, std::vector<uint64_t>> &remembered_pieces() { return remembered_pieces_; }

    /// What all workers told in the last reduce-scatter of a fingerprint. `again`: it was the same in the one before.
    /// All workers remember the same (workers/halved_sum.h).
    struct Told {
        Blobs tables;
        bool again = false;
    };
    std::unordered_map<uint64_t, Told> &remembered_tables() { return remembered_tables_; }

    /// The fingerprints of calls whose pieces were few bytes at their last call (workers/small_parts.h). The same on
    /// all workers.
    std::unordered_set<uint64_t> &calls_with_small_parts() { return calls_with_small_parts_; }

    /// Begins an operation and returns its number. Throws why the job has failed.
    uint64_t enter();
    /// The number of the last operation that this worker has begun. Only for the thread that may begin the next one.
    uint64_t entered() const { return sequence_; }
    /// Waits until the membership knows why the job failed, for a few seconds at most. A closed link says that a peer
    /// is gone, but not why. The peer, or the news of its end, is just reaching the membership.
    void await_cause() const;
    /// The same, where that worker was needed outside of an operation. If it has left in order, the job fails for that.
    void await_cause_of(uint32_t worker) const;

    /// Wakes threads that wait here, so that they look whether the job has failed.
    void wake() noexcept;
    /// Ends all operations of the job, unless something already has. Tells all workers, and wakes threads that wait
    /// here.
    void fail(const Failure &cause) noexcept;
    /// Sets a function that is called once, when the job has failed, with the first cause; see Membership::when_failed.
    void when_failed(std::function<void(const Failure &)> call);
    /// Says goodbye to the other workers, once. No operation may be under way, and none may follow. Takes a bounded
    /// time. A group of replicas only closes its links.
    void leave() noexcept;

  private:
    const std::shared_ptr<Membership> membership_;
    WorkerLinks links_;
    const std::optional<GroupLayout> layout_;
    const bool in_order_;
    const std::string label_;
    const reduce::Cut cut_;
    const uint32_t self_;
    const JoinPlan two_by_two_, at_once_;
    uint64_t sequence_ = 0;
    Scratch scratch_;
    std::unordered_map<uint64_t, std::vector<uint64_t>> remembered_pieces_;
    std::unordered_map<uint64_t, Told> remembered_tables_;
    std::unordered_set<uint64_t> calls_with_small_parts_;
    EventCount failures_;
    std::function<void(const Failure &)> call_when_failed_;
};

} // namespace mdist
