// SPDX-License-Identifier: Apache-2.0
// Job: what one worker knows of the workers that train together. Its parts say who takes part (Replicas), whom a call
// is for (Reach), how all communicate (Communication, Groups), how an elastic job goes on (Generations), who is to
// leave (Leaving) and when the job ends (Use). It knows nothing of values and steps.
//
// One thread at a time uses a job: the one that holds the Turn (turn.h). During a run the replicas borrow the turn, and
// during a merge the merge function borrows it. A run opened by mdist_run_begin (steps/open_runs.h) holds the turn
// without a thread. Aborting, closing and the const functions do not need the turn.
#pragma once

#include "strategy/job/communication.h"
#include "strategy/job/generations.h"
#include "strategy/job/groups.h"
#include "strategy/job/leaving.h"
#include "strategy/job/reach.h"
#include "strategy/job/replicas.h"
#include "strategy/job/team.h"
#include "strategy/job/use.h"

#include <memory>

namespace mdist {

/// What the C API keeps with an object: its handle.
struct Attachment {
    virtual ~Attachment() = default;
    /// The replica's step has ended, and so have all functions that the program wants called before that.
    virtual void step_over() noexcept {}
};

class Job : public std::enable_shared_from_this<Job> {
  public:
    /// Opens the devices and joins the other workers.
    explicit Job(const Config &config);
    virtual ~Job() = default;
    Job(const Job &) = delete;
    Job &operator=(const Job &) = delete;

    /// Whether each local replica has its own thread (`executor: threads`).
    bool concurrent() const { return concurrent_; }
    /// The replicas' threads, or only the caller's. Valid until the job is closed.
    Team &team() { return *team_; }

    /// The job's other workers; nullptr if there are none, or if the view covers the whole job. Needs the turn. Throws
    /// as Use::require_open() and require_sound() do.
    Workers *workers();
    /// The same, whatever the view covers.
    Workers *other_workers();
    /// Throws PEER_LOST if all collectives have ended because a worker was lost, and ABORTED, with the first cause, if
    /// they have ended for another reason. Throws FAILED_PRECONDITION (`joining`) if this worker is a newcomer.
    void require_sound() const;
    /// Drops the workers of an elastic job's generation, and all that is left of its collectives. Needs the turn.
    void leave_generation() noexcept;
    /// Makes the devices, the threads and the collectives of the next generation. Throws what Membership and the links
    /// throw; then leave_generation() must follow. Needs the turn. Only Communication::abort() and check_health(), and
    /// closing, may run meanwhile.
    void enter_generation(const Generation &next);
    /// Stops the threads and leaves the other workers, once, if the job is closed and no thread has the turn.
    void stop_if_over() noexcept;

    std::unique_ptr<Attachment> attachment;
    Generations elastic;
    Replicas replicas;
    Reach reach;
    Communication comm; // its threads use the members above
    Groups groups;
    Use use;
    Leaving leaving;

  private:
    void join(const Config &config);
    void join_elastic(const Config &config);
    void make_team();
    /// Called when the job is closed and no thread has the turn: drop all references to this job.
    virtual void stopped() noexcept {}

    const bool concurrent_;
    std::unique_ptr<Team> team_;
};

} // namespace mdist
