// SPDX-License-Identifier: Apache-2.0
// Communication: how the replicas of a job communicate. It has the place where the local ones meet, the other workers,
// and the group of the local GPUs. What ends the collectives of one of them ends those of all.
//
// An elastic job begins it anew with each generation. Only abort(), end_of_collectives() and check_health() may run
// meanwhile; they need no turn.
#pragma once

#include "comm/operation_queue.h"
#include "comm/packs.h"
#include "device/device.h"
#include "device/memory_source.h"
#include "strategy/job/links.h"
#include "util/event_count.h"

#include <memory>
#include <mutex>
#include <optional>

namespace mdist {

class Config;
class GpuGroup;
class Mail;
class Replicas;
class Workers;

/// Whether this failure is the normal end of a job with a client (strategy: in_graph).
bool client_has_left(const Failure &failure);

/// The place where local replicas meet: those of the job, or of a group of replicas (replica_group.h).
struct Meeting {
    Meeting(uint32_t parties, Patience patience, uint64_t timeout_ns) : group(parties, patience, timeout_ns) {}

    Group group;
    Executors executors{group};
    /// The operations that the replicas have started.
    OperationQueue operations{executors};
};

class Communication {
  public:
    Communication(const Config &config, const Replicas &replicas);
    ~Communication();

    Group &group() const { return meeting_->group; }
    Executors &executors() { return meeting_->executors; }
    OperationQueue &operations() { return meeting_->operations; }
    /// The messages between replicas. Ends with the generation.
    Mail &mail() { return *meeting_->mail; }
    std::shared_ptr<Mail> shared_mail() { return {meeting_, meeting_->mail.get()}; }
    /// Keeps all that beyond its generation. Works and groups refer to it.
    std::shared_ptr<void> keep_meeting() const { return meeting_; }
    /// The local replicas' GPUs; nullptr on the CPU.
    GpuGroup *gpus() const { return gpus_.get(); }
    /// The other workers, if there are any. Job::workers() also checks that they can be called.
    Workers *workers() const { return workers_.get(); }

    /// How reductions of many buffers are split into packs, unless a call says otherwise.
    const Packing packing;
    const LinkSettings link_settings;
    /// How long to wait for other workers: `timeout_ns`, or `communication.timeout` if that is 0.
    uint64_t timeout_or_own(uint64_t timeout_ns) const {
        return timeout_ns != 0 ? timeout_ns : meeting_->group.timeout();
    }
    /// Allocates zeroed memory of a local replica's device. On the CPU, other workers of this host can read it without
    /// a copy, where possible. May be called at any time.
    Memory allocate_shared(Device &device, std::size_t bytes) const;
    /// The source of that memory; nullptr: the devices allocate it.
    const std::shared_ptr<MemorySource> &shared_memory() const { return memory_; }

    /// Why the collectives have ended; none if they have not.
    std::optional<Failure> end_of_collectives() const;
    /// Throws that.
    void check_health() const;
    void abort(const char *sentence, const char *reason) noexcept;
    /// Ends the job's collectives on all workers, if there are other workers and the collectives have not ended
    /// already. `function` is the public function that failed.
    void fail_workers(const char *function, const Failure &failure) noexcept;
    /// Runs `body()`, in which the workers meet. If there is no memory for it, that ends the job: the others would
    /// wait.
    template <class Body>
    auto with_memory(const char *function, Body &&body) {
        try {
            return body();
        } catch (const std::exception &caught) {
            const Failure failure = as_failure(caught); // names a worker if all know of it
            if (failure.status() == MDIST_ERR_OUT_OF_MEMORY && failure.worker() == MDIST_NONE)
                fail_workers(function, failure);
            throw;
        }
    }
    /// How many operations this worker has entered with the others. Needs the turn.
    uint64_t operations_entered() const;
    /// Meets the other workers in place of a call of `function` that this worker has refused. Returns whether all have
    /// refused it: the job is then as if there had been no call. Otherwise the job has ended because of `failure`, or
    /// of another failure that came first. Waits for the others as long as `communication.timeout` says, since the
    /// call's own limit may be what is wrong. Needs the turn.
    bool all_refuse(const char *function, const Failure &failure) noexcept;
    /// Notified when all collectives have ended, and whenever something changes that is waited for outside of
    /// collectives.
    EventCount &changes() { return changes_; }

  private:
    friend class Job;

    /// Made anew for each generation.
    struct MeetingPlace : Meeting {
        MeetingPlace(uint32_t parties, uint64_t timeout_ns, uint64_t call_timeout_ns);
        std::unique_ptr<Mail> mail;
    };

    // Set it up, in this order (form.cpp). `workers`: how many.
    void gather_gpus();
    void choose_reducer(const Config &config, uint32_t workers);
    void join(std::unique_ptr<Workers> workers);
    void choose_nccl(const Config &config);
    /// Leaves the other workers. Nobody is called from then on.
    void leave() noexcept;
    /// Makes the meeting place of the next generation, which has no workers yet.
    void begin_generation(uint32_t parties);
    /// What the replicas hear of a failure of the other workers.
    Failure as_told(const Failure &cause) const;

    const Replicas &replicas_;
    const bool in_graph_;
    mutable std::mutex mutex_; // held while another thread uses meeting_ or workers_, or they are made anew
    std::shared_ptr<MeetingPlace> meeting_;
    EventCount changes_;
    std::shared_ptr<MemorySource> memory_;
    std::unique_ptr<Workers> workers_; // its threads use the members above
    std::unique_ptr<GpuGroup> gpus_;   // on GPU devices only; its threads use them, too
};

} // namespace mdist
