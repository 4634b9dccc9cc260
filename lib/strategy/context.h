// SPDX-License-Identifier: Apache-2.0
// Context: where in a program a thread stands, as a stack per thread. At the bottom, with nothing on the stack, a
// thread is in cross-replica context of every strategy.
//
//   replica   inside a step                      functions that take a replica
//   merge     inside a merge function            cross-replica context again, on the strategy that runs
//   update    inside an update function          one copy of a variable at a time
//
// Callers never see it; it exists to answer calls in the wrong place with a sentence instead of a deadlock.
#pragma once

#include <cstdint>

namespace mdist {

class Replica;
class Strategy;

class Context {
  public:
    enum class Kind : uint8_t { kReplica, kMerge, kUpdate };

    /// Pushes; the destructor pops. Lives on the stack of the thread it is about.
    explicit Context(Replica &replica);
    Context(Strategy &strategy, Kind kind, uint32_t local_replica = 0);
    ~Context();
    Context(const Context &) = delete;
    Context &operator=(const Context &) = delete;

    Kind kind() const { return kind_; }
    uint32_t local_replica() const { return local_replica_; }

    /// The innermost context of this thread that is about `strategy`; nullptr: none.
    static const Context *of(const Strategy &strategy);
    /// Whether this thread is inside a step of any strategy and not in a merge of it.
    static bool in_step();

    /// Throws WRONG_CONTEXT unless this thread runs the step of `replica` right now.
    static void require_replica(const Replica &replica, const char *function);

  private:
    Kind kind_;
    uint32_t local_replica_;
    const Strategy *strategy_;
    const Replica *replica_;
    Context *outer_;
};

} // namespace mdist
