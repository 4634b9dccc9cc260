// SPDX-License-Identifier: Apache-2.0
// Context: where in a program a thread stands, as a stack per thread. At the bottom, with nothing on the stack, a
// thread is in cross-replica context of every strategy.
//
//   replica   inside a step                      functions that take a replica
//   merge     inside a merge function            cross-replica context again, on the strategy that runs
//   update    inside an update function          one copy of a variable at a time
//   part      inside a command of the client     this worker's part of it; the client is worker 0 of an in-graph job
//   fetch     inside a fetch function            as outside of it
//   scope     where the program entered one      says which strategy is the current one, and nothing else
//
// It answers calls in the wrong place with a sentence instead of a deadlock, and tells code that was handed no strategy
// or replica which one it runs for.
#pragma once

#include <cstdint>
#include <memory>

#include <mdist/value.h>

namespace mdist {

class Replica;
class Strategy;

class Context {
  public:
    enum class Kind : uint8_t { kReplica, kMerge, kUpdate, kPart, kFetch, kScope };

    /// Pushes; the destructor pops. Lives on the stack of the thread it is about.
    explicit Context(Replica &replica);
    Context(Strategy &strategy, Kind kind, uint32_t local_replica = 0);
    ~Context();
    Context(const Context &) = delete;
    Context &operator=(const Context &) = delete;

    Kind kind() const { return kind_; }
    const Strategy &strategy() const { return *strategy_; }
    uint32_t local_replica() const { return local_replica_; }
    /// The replica whose step this is; nullptr in a merge or update.
    Replica *replica() const { return replica_; }

    /// The innermost of this thread; nullptr: none.
    static const Context *innermost();
    /// The innermost context of this thread that is about `strategy`, scopes aside; nullptr: none.
    static const Context *of(const Strategy &strategy);
    /// Whether this thread does this worker's part of something that all workers of the strategy do: a step, what is in
    /// it, or a command.
    static bool in_part_of(const Strategy &strategy);
    /// Whether this thread is inside a step of any strategy and not in a merge of it.
    static bool in_step();

  private:
    Kind kind_;
    uint32_t local_replica_;
    const Strategy *strategy_;
    Replica *replica_;
    Context *outer_;
};

/// Makes `strategy` the current one of this thread, once more if it is already. Throws WRONG_CONTEXT in a step, and
/// FAILED_PRECONDITION ("other_strategy") where another strategy is current.
void enter_scope(std::shared_ptr<Strategy> strategy);
/// Leaves the scope that this thread entered last, which must be that of the strategy whose handle this is or was; else
/// throws FAILED_PRECONDITION ("no_scope"). A scope that a merge or update function leaves open ends with it.
void exit_scope(const mdist_strategy_t *handle);

/// For what belongs in cross-replica context without taking the turn: throws WRONG_CONTEXT in a step of the strategy,
/// saying what to do `instead`.
void require_cross_replica(const Strategy &strategy, const char *function, const char *instead);

/// The right to call a function of replica context, for as long as it lives: on the thread that runs the step of the
/// replica or, if it was entered, on any thread, one at a time. Throws WRONG_CONTEXT elsewhere, FAILED_PRECONDITION
/// while another thread uses the replica.
class ReplicaUse {
  public:
    /// `merging`: for functions that belong between mdist_merge_begin and mdist_merge_end, too.
    ReplicaUse(Replica &replica, const char *function, bool merging = false);
    ~ReplicaUse() { end(); }
    ReplicaUse(const ReplicaUse &) = delete;
    ReplicaUse &operator=(const ReplicaUse &) = delete;

    void end() noexcept;

  private:
    Replica *taken_ = nullptr; // the entered replica that this thread uses
};

} // namespace mdist
