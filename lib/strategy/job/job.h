// SPDX-License-Identifier: Apache-2.0
// Job: who takes part in a strategy and how they communicate. It has this worker's replicas with their devices and
// threads, the other workers, and the group in which all of them meet. It knows nothing of values and steps.
//
// One thread at a time uses a job: the one that holds the Turn (turn.h). During a run the replicas borrow the turn, and
// during a merge the merge function borrows it. A run opened by mdist_run_begin (steps/open_runs.h) holds the turn
// without a thread. abort(), closing and the const functions do not need the turn.
//
// An elastic job has generations, one after another (elastic_job.cpp). With each, the members below that belong to a
// generation are made anew. Only abort(), closing and check_health() may run meanwhile.
#pragma once

#include "cluster/elastic_settings.h"
#include "comm/operation_queue.h"
#include "comm/packs.h"
#include "device/device.h"
#include "device/memory_source.h"
#include "membership/elastic/elastic_membership.h"
#include "reduce/spans.h"
#include "strategy/job/links.h"
#include "strategy/job/team.h"
#include "util/event_count.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mdist {

class Config;
class ElasticDevices;
class GpuGroup;
class Mail;
class ReplicaGroup;
class Workers;

/// The replicas that values of cross-replica context belong to.
struct View {
    uint32_t first;    // replica id
    uint32_t replicas; // a value that is not plain has a tensor for each of them
    uint32_t workers;  // with such values; 1 if the view covers all replicas of the job
    uint32_t worker;   // this worker's number among those
};

/// What the C API keeps with an object: its handle.
struct Attachment {
    virtual ~Attachment() = default;
    /// The replica's step has ended, and so have all functions that the program wants called before that.
    virtual void step_over() noexcept {}
};

/// What has memory for each local replica, which must fit the worker's span in the next generation.
class OfSpan {
  public:
    /// Called between two generations. Throws OUT_OF_MEMORY.
    virtual void span_changed() = 0;

  protected:
    ~OfSpan() = default;
};

/// Whether this failure is the normal end of a job with a client (strategy: in_graph).
bool client_has_left(const Failure &failure);

class Job : public std::enable_shared_from_this<Job> {
  public:
    /// Opens the devices and joins the other workers.
    explicit Job(const Config &config);
    virtual ~Job();
    Job(const Job &) = delete;
    Job &operator=(const Job &) = delete;

    /// Counts the replicas of all workers.
    uint32_t replica_count() const { return spans_.replicas(); }
    uint32_t worker_count() const { return spans_.workers(); }
    /// This worker's rank.
    uint32_t worker() const { return worker_; }
    /// The replicas of each worker.
    const Spans &spans() const { return spans_; }
    const Span &span_of(uint32_t worker) const { return spans_[worker]; }
    uint32_t local_replica_count() const { return static_cast<uint32_t>(devices_.size()); }
    /// Id of local replica 0.
    uint32_t first_replica_id() const { return spans_[worker_].first; }

    /// Whether each worker has one replica. The result of such a replica is a plain value. In any other job results are
    /// per-replica, even on a worker with only one replica.
    /// Never in an elastic job, where the number of workers changes.
    bool has_one_each() const { return replica_count() == worker_count() && !elastic_.on(); }

    /// The replicas that values belong to on this thread: the local ones. On the client of an in-graph job they are all
    /// replicas of the job, unless the client does its own part of a command (Context::in_part_of).
    View view() const;
    /// The device of a replica in view(). For a replica of another worker, its local stand-in.
    Device &place(uint32_t replica) const;
    /// "cpu:1", or "worker:1/cpu:1" for a replica of another worker.
    std::string place_name(uint32_t replica) const;
    /// Index in view() of the device with this name. Throws INVALID_ARGUMENT, listing the device names.
    uint32_t device_index(const std::string &name) const;

    /// Whether worker 0, the client, leads all others by commands (`strategy: in_graph`).
    bool in_graph() const { return in_graph_; }
    /// Whether this thread would give commands to the other workers.
    bool commands() const;
    /// Throws UNSUPPORTED if this thread would give commands. For functions that no command exists for.
    void require_no_commands(const char *function, const char *instead) const {
        if (in_graph_ && commands()) throw not_a_command(function, instead);
    }
    /// The failure of a worker that calls a function reserved for the client.
    Failure not_the_client(const char *function) const;

    const std::vector<std::shared_ptr<Device>> &devices() const { return devices_; }
    Device &device(uint32_t local) const { return *devices_[local]; }
    /// Waits for all work given to the local replicas' devices, so that a function of cross-replica context has
    /// finished its work when it returns. Throws DEVICE, TIMEOUT.
    void finish_devices() const;
    /// Allocates zeroed memory of the replica's device. On the CPU, other workers of this host can read it without a
    /// copy, where possible. May be called at any time.
    Memory allocate_shared(uint32_t local, std::size_t bytes);
    /// The source of that memory; nullptr: the devices allocate it.
    const std::shared_ptr<MemorySource> &shared_memory() const { return memory_; }
    /// Whether each local replica has its own thread (`executor: threads`).
    bool concurrent() const { return concurrent_; }
    /// The replicas' threads, or only the caller's. Valid until the job is closed.
    Team &team() { return *team_; }

    Group &group() { return meeting_->group; }
    Executors &executors() { return meeting_->executors; }
    /// The local replicas' GPUs; nullptr on the CPU.
    GpuGroup *gpus() const { return gpus_.get(); }
    /// The operations that the replicas have started.
    OperationQueue &operations() { return meeting_->operations; }
    /// The messages between replicas. Ends with the generation.
    Mail &mail() { return *meeting_->mail; }
    std::shared_ptr<Mail> shared_mail() { return {meeting_, meeting_->mail.get()}; }
    /// Keeps group(), executors(), operations() and mail() beyond their generation. Works and groups refer to them.
    std::shared_ptr<void> keep_meeting() const { return meeting_; }
    /// How reductions of many buffers are split into packs, unless a call says otherwise.
    const Packing &packing() const { return packing_; }
    const LinkSettings &link_settings() const { return link_settings_; }

    /// The next of the groups of replicas that the program has made and that are in use (replica_group.h); nullptr: no
    /// more. Begin with `at` = 0. For a step: no group is made meanwhile.
    std::shared_ptr<ReplicaGroup> next_group(std::size_t &at) const noexcept;
    bool has_groups() const { return has_groups_.load(std::memory_order_acquire); }
    void add(const std::shared_ptr<ReplicaGroup> &group);
    /// Keeps the workers of a group, longer than the group: others may still be in its last operation, and read what is
    /// theirs. Their links are closed when the job is left.
    void keep(const std::shared_ptr<Workers> &workers);
    /// Drops those of groups that are gone. Call it when all workers have met since.
    void drop_unused() noexcept;
    /// The job's other workers; nullptr if there are none, or if view() covers the whole job. Needs the turn. Throws as
    /// require_open() and require_sound() do.
    Workers *workers();
    /// The same, whatever view() covers.
    Workers *other_workers();
    /// How long to wait for other workers: `timeout_ns`, or `communication.timeout` if that is 0.
    uint64_t timeout_or_own(uint64_t timeout_ns) const {
        return timeout_ns != 0 ? timeout_ns : meeting_->group.timeout();
    }

    /// What the keys elastic.* say.
    const ElasticSettings &elastic() const { return elastic_; }
    /// The number of the elastic job's generation, from 1; 0 in a job of fixed size.
    uint32_t generation() const { return generation_; }
    /// Whether this worker is a newcomer that has not entered a generation yet.
    bool joining() const { return joining_; }
    /// The elastic job's own; nullptr in a job of fixed size.
    ElasticMembership *elastic_membership() const { return elastic_membership_.get(); }
    /// Why the collectives have ended; none if they have not.
    std::optional<Failure> end_of_collectives() const;
    /// Drops the workers of the generation, and all that is left of its collectives. Needs the turn.
    void leave_generation() noexcept;
    /// Makes the devices, the threads and the collectives of the next generation. Throws what Membership and the links
    /// throw; then leave_generation() must follow. Needs the turn.
    void enter_generation(const Generation &next);
    /// Has it called with each generation, for as long as it lives.
    void add(const std::shared_ptr<OfSpan> &object);
    /// Throws FAILED_PRECONDITION (`old_generation`) unless `generation` is that of the job. `what`: "the group".
    void require_generation(uint32_t generation, const char *what) const {
        if (generation != generation_) throw of_old_generation(what, generation);
    }
    /// A regroup that failed has given the worker other replicas, but `what` has not followed: "variable \"x\"".
    Failure of_failed_regroup(const std::string &what) const;

    /// Throws FAILED_PRECONDITION if a collective or merge inside a step cannot work (executor `caller`).
    void require_concurrent(const char *function) const {
        if (!concurrent_ && local_replica_count() != 1) throw not_concurrent(function);
    }
    /// Throws PEER_LOST if all collectives have ended because a worker was lost, and ABORTED, with the first cause, if
    /// they have ended for another reason.
    /// Throws FAILED_PRECONDITION (`joining`) if this worker is a newcomer.
    void require_sound() const;
    /// Throws the first cause itself if all collectives have ended.
    void check_health() const;
    /// Throws FAILED_PRECONDITION if the strategy was closed.
    void require_open() const;
    bool closed() const { return closed_; }

    /// Ends the job's collectives on all workers, if there are other workers and the collectives have not ended
    /// already. `function` is the public function that failed.
    void fail_workers(const char *function, const Failure &failure) noexcept;
    /// How many operations this worker has entered with the others. Needs the turn.
    uint64_t operations_entered() const;
    /// Meets the other workers in place of a call of `function` that this worker has refused. Returns whether all have
    /// refused it: the job is then as if there had been no call. Otherwise the job has ended because of `failure`, or
    /// of another failure that came first. Waits for the others as long as `communication.timeout` says, since the call's
    /// own limit may be what is wrong. Needs the turn.
    bool all_refuse(const char *function, const Failure &failure) noexcept;
    void abort() noexcept;
    /// Notified when all collectives have ended, and whenever something changes that is waited for outside of
    /// collectives.
    EventCount &changes() { return changes_; }

    std::unique_ptr<Attachment> attachment;

  protected:
    /// Lets no further run begin, and aborts what is under way.
    void begin_close() noexcept;
    /// Stops the threads and leaves the other workers, once, unless some thread has the turn.
    void stop_if_free() noexcept;

  private:
    friend class Turn;

    /// The place where the local replicas meet. Made anew for each generation.
    struct MeetingPlace {
        MeetingPlace(uint32_t parties, uint64_t timeout_ns, uint64_t call_timeout_ns);
        Group group;
        Executors executors{group};
        OperationQueue operations{executors};
        std::unique_ptr<Mail> mail;
    };

    void join(const Config &config);
    void join_elastic(const Config &config);
    void make_team();
    void watch_workers();
    /// What the replicas hear of a failure of the other workers.
    Failure as_told(const Failure &cause) const;
    Failure of_old_generation(const char *what, uint32_t generation) const;
    void choose_reducer(const Config &config, uint32_t workers);
    void gather_gpus();
    void choose_nccl(const Config &config);
    void learn_device_names();
    static Failure not_concurrent(const char *function);
    Failure not_a_command(const char *function, const char *instead) const;
    void fail(const char *sentence, const char *reason) noexcept;
    /// Called when the job is closed and no thread has the turn: drop all references to this job.
    virtual void stopped() noexcept {}

    const ElasticSettings elastic_;
    std::unique_ptr<ElasticDevices> elastic_devices_; // nullptr in a job of fixed size
    std::vector<std::shared_ptr<Device>> devices_;
    const bool concurrent_;
    const bool in_graph_;
    const Packing packing_;
    const LinkSettings link_settings_;
    std::unique_ptr<ElasticMembership> elastic_membership_;
    uint32_t generation_ = 0;
    bool joining_ = false;
    uint32_t worker_ = 0;
    Spans spans_;
    mutable std::mutex meeting_mutex_; // held while another thread uses meeting_, or it is made anew
    std::shared_ptr<MeetingPlace> meeting_;
    EventCount changes_;
    std::shared_ptr<MemorySource> memory_;
    std::vector<std::string> device_names_; // of an in-graph job, by replica id
    std::unique_ptr<Team> team_;
    std::unique_ptr<Workers> workers_; // its threads use the members above
    std::unique_ptr<GpuGroup> gpus_;   // on GPU devices only; its threads use them, too

    mutable std::mutex groups_mutex_;
    std::vector<std::weak_ptr<ReplicaGroup>> groups_;
    std::atomic<bool> has_groups_{false};
    std::vector<std::shared_ptr<Workers>> group_workers_;
    std::vector<std::weak_ptr<OfSpan>> of_span_; // of an elastic job

    std::atomic<bool> busy_{false};      // some thread or open run has the turn
    std::atomic<uint32_t> open_runs_{0}; // nested, counted
    std::atomic<bool> closed_{false};    // set once; no run begins afterwards
    std::mutex stop_mutex_;              // two threads may find it closed and not busy; one stops it
    bool stopped_ = false;
};

} // namespace mdist
