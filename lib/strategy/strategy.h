// SPDX-License-Identifier: Apache-2.0
// Strategy: this worker's replicas and everything they share.
//
// One thread at a time works with a strategy: it holds the Turn. Inside a run the turn is lent to the replicas, inside
// a merge to the merge function. A run that was opened (open_runs.h) holds the turn without a thread. abort(), close()
// and the const functions are free of that.
#pragma once

#include "comm/operation_queue.h"
#include "comm/packs.h"
#include "device/device.h"
#include "device/memory_source.h"
#include "strategy/serve/registry.h"
#include "strategy/steps/frame.h"
#include "strategy/steps/graphs.h"
#include "strategy/steps/open_runs.h"
#include "strategy/steps/team.h"
#include "strategy/variables/store.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mdist {

class Config;
class GpuGroup;
class Session;
class Workers;

/// Whom the values of cross-replica context are about.
struct Span {
    uint32_t first;    // replica id
    uint32_t replicas; // a value that is not plain has a tensor for each of them
    uint32_t workers;  // that have such values: 1 if these replicas are all there are
    uint32_t worker;   // of those, this one
};

class Strategy : public std::enable_shared_from_this<Strategy> {
  public:
    explicit Strategy(const Config &config);
    ~Strategy();

    /// Over the whole job.
    uint32_t replica_count() const { return worker_count_ * local_replica_count(); }
    uint32_t local_replica_count() const { return static_cast<uint32_t>(devices_.size()); }
    /// Id of local replica 0.
    uint32_t first_replica_id() const { return worker_ * local_replica_count(); }
    uint32_t worker_count() const { return worker_count_; }
    /// This worker's rank.
    uint32_t worker() const { return worker_; }
    /// Where this thread stands: the local replicas, but all of the job for the client of an in-graph job, unless it
    /// does its own part of a command (Context::in_part_of).
    Span span() const;
    /// Of a replica in span(). Where another worker has it, what stands for it here.
    Device &place(uint32_t replica) const;
    /// "cpu:1", or "worker:1/cpu:1" where another worker has it.
    std::string place_name(uint32_t replica) const;
    /// Where worker 0 leads all others by commands; nullptr elsewhere. There even if it has no others.
    Session *session() const { return session_.get(); }
    /// The same where this thread would give commands: for functions that differ then.
    Session *commanding() const;
    /// Throws UNSUPPORTED where this thread would give commands, for functions that have none.
    void require_no_commands(const char *function, const char *instead) const;
    /// The failure of a worker that would do what only the client does.
    Failure not_the_client(const char *function) const;

    /// Whether sub-batches go to replicas in the order of their ids, in whatever layout (`data.order: replica`).
    bool deals_by_replica() const { return deals_by_replica_; }
    /// Whether distributed datasets are prefetched, where their options say nothing else.
    bool prefetches_on_device() const { return prefetches_on_device_; }
    /// mdist_shard_policy_t of datasets whose options say nothing else.
    int32_t shard_policy() const { return shard_policy_; }
    /// A number for a distributed dataset, the same on all workers. In a call that they make together.
    uint64_t next_input() { return inputs_++; }
    Device &device(uint32_t local) const { return *devices_[local]; }
    /// Waits for what the local replicas' devices were given, so that functions of cross-replica context are done on
    /// return. Throws DEVICE, TIMEOUT.
    void finish_devices() const;
    /// Zeros, of its device; on the CPU, where possible, memory that the other workers of this host read without a
    /// copy. At any time.
    Memory allocate_shared(uint32_t local, std::size_t bytes);
    /// Index in span() of the device with this name; throws INVALID_ARGUMENT listing those there are.
    uint32_t device_index(const std::string &name) const;
    bool concurrent() const { return concurrent_; }
    /// How reductions of many buffers are cut, where a call says nothing else.
    const Packing &packing() const { return packing_; }

    /// What the C edge knows it by, for merge functions.
    mdist_strategy_t *public_handle = nullptr;

    Group &group() { return group_; }
    /// The local replicas' GPUs; nullptr on the CPU.
    GpuGroup *gpus() const { return gpus_.get(); }
    /// What the replica's steps have had recorded, where there is one.
    Graphs &graphs() { return graphs_; }
    /// What the replicas have started.
    OperationQueue &operations() { return operations_; }
    const std::shared_ptr<VariableStore> &variables() const { return variables_; }
    /// What has a name here.
    Registry &registry() { return registry_; }

    /// Runs `step` on every local replica; `results` receives the values. Throws the first failure. `timeout_ns` is for
    /// collectives in the step that have none of their own; 0: the strategy's.
    void run(const Step &step, std::vector<ValuePointer> arguments, std::vector<ValuePointer> &results,
             uint64_t timeout_ns);
    /// The same for who has the turn.
    void run_with_turn(const Step &step, std::vector<ValuePointer> arguments, std::vector<ValuePointer> &results,
                       uint64_t timeout_ns);
    /// Runs on the caller's own threads.
    OpenRuns &open_runs() { return open_runs_; }
    /// Runs `work` once per local replica, on their threads where they have some. Not for user code: no contexts, no
    /// failures; the caller holds the turn.
    void run_internal(const Team::Work &work);
    /// Called by each local replica in its step; each receives its own part of the results in `merged`.
    void merge(Replica &replica, const Merge &merge, std::vector<Part> arguments, std::size_t result_count,
               uint64_t timeout_ns);

    /// Throws FAILED_PRECONDITION where a collective or merge inside a step cannot work: executor `caller`.
    void require_concurrent(const char *function) const;
    /// Throws ABORTED, with the first cause, if all collectives have ended.
    void require_sound();

    /// Throws the first cause itself, if all collectives have ended.
    void check_health();

    /// Throws FAILED_PRECONDITION once the strategy was closed.
    void require_open();

    /// The job's other workers, nullptr if there are none, or if span() is all of the job. With the turn; throws as
    /// require_open() and require_sound().
    Workers *workers();
    /// The same, whoever asks.
    Workers *other_workers();
    /// What is waited for other workers: `timeout_ns`, or what `communication.timeout` says if that is 0.
    uint64_t timeout_or_own(uint64_t timeout_ns) const { return timeout_ns != 0 ? timeout_ns : group_.timeout(); }

    /// Ends the job's collectives for all workers, if there are others, unless something has before. `function` is the
    /// public one that failed.
    void fail_workers(const char *function, const Failure &failure) noexcept;

    void abort() noexcept;
    /// The handle is gone: aborts, and stops the threads as soon as no run is under way.
    void close() noexcept;

  private:
    friend class Turn;
    friend class OpenRuns;

    void join(const Config &config);
    void choose_reducer(const Config &config, uint32_t workers);
    void gather_gpus();
    void choose_nccl(const Config &config);
    void check_arguments(const std::vector<ValuePointer> &arguments);
    void release_turn() noexcept;
    void run_frame(Frame &frame, const Step &step);
    void end_frame(Frame &frame) noexcept;
    Frame &frame_at(uint32_t depth);
    void run_merge(Replica &replica, const Merge &merge, std::size_t result_count);
    void merge_entered(Replica &replica, const Merge &merge, std::vector<Part> arguments, std::size_t result_count,
                       uint64_t timeout_ns);
    void check_merged(const std::vector<ValuePointer> &merged) const;
    std::vector<ValuePointer> regroup(Frame &frame, std::size_t count);
    void fail(const char *sentence, const char *reason) noexcept;
    void stop_if_closed() noexcept;

    std::vector<std::shared_ptr<Device>> devices_;
    bool concurrent_;
    bool deals_by_replica_;
    bool prefetches_on_device_;
    int32_t shard_policy_;
    std::atomic<uint64_t> inputs_{0};
    Packing packing_;
    uint32_t worker_ = 0;
    uint32_t worker_count_ = 1;
    Group group_;
    OperationQueue operations_{group_};
    std::shared_ptr<VariableStore> variables_;
    std::shared_ptr<MemorySource> memory_; // set when created; nullptr: the devices' own
    std::vector<std::unique_ptr<Frame>> frames_;
    uint32_t depth_ = 0; // of the next run
    std::unique_ptr<Team> team_;
    OpenRuns open_runs_{*this};
    Registry registry_;
    std::vector<std::string> device_names_; // of an in-graph job, by replica id
    std::unique_ptr<Session> session_;
    std::unique_ptr<Workers> workers_; // its threads call what is above
    std::unique_ptr<GpuGroup> gpus_;   // where the devices are GPUs; its threads, too
    Graphs graphs_;                    // NCCL lets go when they are gone

    std::atomic<bool> busy_{false};   // somebody has the turn
    std::atomic<bool> closed_{false}; // set once; no run begins afterwards
    std::mutex stop_mutex_;           // of two that find it closed and not busy, one stops the team
};

/// The right to work with a strategy in cross-replica context, for as long as it lives. Throws WRONG_CONTEXT inside a
/// step of the strategy (naming `instead`) and on workers that serve, FAILED_PRECONDITION while another thread has the
/// turn.
class Turn {
  public:
    Turn(Strategy &strategy, const char *function, const char *instead) : Turn(strategy, function, instead, false) {}
    /// For who serves, unless another thread has the turn.
    static Turn of_server(Strategy &strategy, const char *function, const char *instead) {
        return {strategy, function, instead, true};
    }
    ~Turn();
    Turn(const Turn &) = delete;
    Turn &operator=(const Turn &) = delete;

    /// The turn stays taken when this goes; Strategy::release_turn() gives it back.
    void keep() { taken_ = false; }

  private:
    Turn(Strategy &strategy, const char *function, const char *instead, bool serves);

    Strategy &strategy_;
    bool taken_;
};

} // namespace mdist
