// SPDX-License-Identifier: Apache-2.0
// Party: a local replica as the other replicas see it, with its place in the collectives of its job.
//
// While a step runs, only the step's thread uses this object. If the replica was entered (steps/open_runs.h), the
// holder of its handle uses it, one thread at a time.
#pragma once

#include "strategy/job/job.h"
#include "strategy/job/replica_group.h"
#include "util/function_ref.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace mdist {

class Party;

/// Work that a step begins in one call and ends in another.
class Unfinished {
  public:
    virtual ~Unfinished() = default;
    /// Called when the party's step is over. Returns a sentence about what is left open; "" if nothing is, or if it
    /// failed before.
    virtual std::string leave(const Party &party) = 0;
    /// Called before leave() when the step has failed. Ends what keeps the device from being asked for its state.
    virtual void free_device() noexcept {}
};

class Party {
  public:
    Party(Job &job, uint32_t local_index)
        : job_(job), local_index_(local_index), id_(job.replicas.first_id() + local_index) {}
    Party(const Party &) = delete;
    Party &operator=(const Party &) = delete;

    Job &job() const { return job_; }
    uint32_t local_index() const { return local_index_; }
    /// Id over all workers.
    uint32_t id() const { return id_; }
    Device &device() const { return job_.replicas.device(local_index_); }

    /// Whether the other parties' steps can run while this one waits. With executor `caller` they cannot.
    bool concurrent() const;
    /// Checks calls in which parties communicate. Throws FAILED_PRECONDITION unless concurrent(), and if something else
    /// than `own` is ending.
    void require_concurrent(const char *function, const Unfinished *own = nullptr) const;
    /// Whether its step has ended all work that it has begun.
    bool idle() const;
    /// The same for calls of all replicas that wait. Returns when everything that the party has started among all
    /// replicas is over.
    void await_turn(const char *function);
    /// Also waits for what it has started in groups: for merges, in which nested runs begin with the groups reset.
    void await_all(const char *function);
    /// Its place among all replicas of the job.
    Seat seat() const;
    /// Waits for the work given to its device, as leaving replica context requires. Throws DEVICE, TIMEOUT.
    void finish_device() const;

    /// Entered by mdist_replica_enter: the handle is its context, on any thread.
    std::atomic<bool> entered{false};
    /// Work that its step has begun and not ended.
    std::vector<std::shared_ptr<Unfinished>> unfinished;
    /// One of them that its step is ending by calls that don't wait. How far the end has come is then a matter of time,
    /// and so would be the place of any other operation among those of all replicas.
    const Unfinished *being_ended = nullptr;
    std::unique_ptr<Attachment> attachment;

  protected:
    ~Party() = default;
    /// Calls use(seat) for its place among all replicas, and for those in its groups.
    void each_seat(FunctionRef<void(const Seat &)> use) const;

  private:
    Job &job_;
    const uint32_t local_index_;
    const uint32_t id_;
};

} // namespace mdist
