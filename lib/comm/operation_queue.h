// SPDX-License-Identifier: Apache-2.0
// OperationQueue: what the replicas of one worker have started and is not over. The operations of one party form a line
// in the order of their starts: the first takes part in the group's meetings, the others wait for its end.
//
// Operations move on inside these calls alone. So that nobody waits for a party which has started its part but is not
// in a call, whoever moves his own line on lets the others' go on too, as far as that costs little; taking part in
// large work is left to their own calls. A line whose last operation has begun is not touched for others: that it was
// waited for can be asked of each replica (end()). Functions: any thread, unless they say otherwise. The group outlives
// the queue, and the queue its operations.
#pragma once

#include "comm/operation.h"
#include "util/function_ref.h"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>

namespace mdist {

class OperationQueue {
  public:
    /// As many as a party may have under way; more would be a program that never waits.
    static constexpr std::size_t kMost = 1024;

    explicit OperationQueue(Group &group);

    Group &group() const { return group_; }

    /// By the party. Throws as the blocking form would before it waits, or RESOURCE where the line is full.
    std::shared_ptr<Operation> start(uint32_t party, const Call &call, uint64_t timeout_ns);
    /// By the party, before a collective that it waits in: returns when its line is over.
    void await_turn(uint32_t party) {
        if (lines_[party].length.load(std::memory_order_acquire) != 0) drain(party);
        hand_on(); // those that the party now meets
    }
    /// By the party, whose step is over: settles its line with what `cause` says of its first operation. False if there
    /// is none.
    bool end(uint32_t party, FunctionRef<Failure(const Operation &)> cause) noexcept;

    /// Moves the operation on, and what stands before it. As Operation::take_result().
    bool test(Operation &operation);
    /// test() until it is true, or for `timeout_ns`.
    bool wait(Operation &operation, uint64_t timeout_ns);
    /// Finishes it if all parties have come, else gives it up and releases the group with `cause`. Then what the
    /// party's stream gets next comes behind it.
    void settle(Operation &operation, const Failure &cause) noexcept;
    /// A new descriptor of the operation's alarm.
    int descriptor(Operation &operation);

    /// Lets those begin whose turn has come, on all lines; true if there were any.
    bool hand_on() noexcept { return waiting_.load(std::memory_order_seq_cst) != 0 && hand_on_lines(); }

  private:
    struct alignas(64) Line {
        std::mutex mutex;
        std::deque<std::shared_ptr<Operation>> operations;
        std::atomic<std::size_t> length{0};
    };
    /// What who wants to sleep has to know of the line.
    struct Pause {
        bool working;
        uint64_t deadline;
    };

    Line &line_of(const Operation &operation) { return lines_[operation.party()]; }
    void append(Line &line, std::shared_ptr<Operation> operation);
    void drop_first(Line &line) noexcept;
    void drop(Line &line, const Operation &operation) noexcept;
    bool hand_on(Line &line) noexcept;
    bool hand_on_lines() noexcept;
    void move_on(Line &line, const Operation &operation) noexcept;
    void move_on_quietly(Line &line, Operation &operation) noexcept;
    Pause advance(Operation &operation) noexcept;
    void end(Operation &operation, const Failure &cause) noexcept;
    void drain(uint32_t party);

    Group &group_;
    std::unique_ptr<Line[]> lines_;
    std::atomic<std::size_t> waiting_{0}; // for their turn, on all lines
};

} // namespace mdist
