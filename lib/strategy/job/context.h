// SPDX-License-Identifier: Apache-2.0
// Context: which part of a strategy a thread is running, kept as a stack per thread. With an empty stack, a thread is
// in cross-replica context of every strategy.
//
//   replica   inside a step                      functions that take a replica
//   merge     inside a merge function            cross-replica context again, on the running strategy
//   update    inside an update function          one copy of a variable at a time
//   part      inside a command of the client     this worker's part of it; the client is worker 0 of an in-graph job
//   fetch     inside a fetch function            the same as outside of it
//   done      inside a function of mdist_work_on_done   nothing that waits, whatever lies below it on the stack
//   scope     where the program entered one      selects the current strategy, and nothing else
//
// A call in the wrong place thus gets an error message instead of a deadlock. Code that was given no strategy or
// replica can find out which one it runs for.
#pragma once

#include <cstdint>
#include <memory>

namespace mdist {

class Job;
class Party;

class Context {
  public:
    enum class Kind : uint8_t { kReplica, kMerge, kUpdate, kPart, kFetch, kDone, kScope };

    /// Pushes; the destructor pops. Lives on the stack of the thread it describes.
    Context(const Job &job, Kind kind, uint32_t local_replica = 0, Party *party = nullptr);
    ~Context();
    Context(const Context &) = delete;
    Context &operator=(const Context &) = delete;

    Kind kind() const { return kind_; }
    const Job &job() const { return *job_; }
    uint32_t local_replica() const { return local_replica_; }
    /// The replica whose step this is; nullptr in a merge or update function.
    Party *party() const { return party_; }

    /// The innermost context of this thread; nullptr: none.
    static const Context *innermost();
    /// The innermost context of this thread that belongs to `job`, ignoring scopes; nullptr: none.
    static const Context *of(const Job &job);
    /// Whether this thread runs this worker's part of something that all workers of the job do: a step, anything inside
    /// a step, or a command.
    static bool in_part_of(const Job &job);
    /// Throws WRONG_CONTEXT if this thread is inside a function of mdist_work_on_done.
    static void require_not_done(const char *function);
    /// Whether this thread is inside a step of any strategy and not in one of its merge functions.
    static bool in_step();

  private:
    Kind kind_;
    uint32_t local_replica_;
    const Job *job_;
    Party *party_;
    Context *outer_;
};

/// Makes the strategy of this job current on this thread. Scopes of the same strategy nest. Throws WRONG_CONTEXT in a
/// step, and FAILED_PRECONDITION ("other_strategy") if another strategy is current. A scope that a merge or update
/// function leaves open ends with that function.
void enter_scope(std::shared_ptr<const Job> job);
/// The job whose scope this thread entered last and has not left; nullptr: none.
const Job *innermost_scope();
/// Leaves that scope.
void leave_scope();

/// Checks a function that belongs in cross-replica context but does not take the turn. Throws WRONG_CONTEXT in a step
/// of the job; the error names `instead` as the function to call.
void require_cross_replica(const Job &job, const char *function, const char *instead);

} // namespace mdist
