// SPDX-License-Identifier: Apache-2.0
// OperationQueue: the collectives that the replicas of one worker have started and that are not over. The operations of
// one party form a line, in the order in which they were started. The first takes part in the group's meetings; the
// others wait for it to end.
//
// Operations move on only inside the calls below. A party may have started its part and not be in any call; nobody
// should wait for it. Therefore each call that moves its own line on also moves the other parties' lines on, as far as
// that costs little. Taking part in large work is left to each party's own calls. A line whose last operation has begun
// is not moved on for others: this makes it possible to ask of each replica whether it waited for its operation
// (end()).
//
// A program may ask to be called when an operation is over (DoneCalls). Each call below makes those calls before it
// returns, without locks; and every line whose first operation has a listener is moved on for others.
//
// Any thread may call the functions, unless they say otherwise. The executors outlive the queue, and the queue outlives
// its operations.
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
    /// The most operations that a party may have under way. A program that needs more is one that never waits.
    static constexpr std::size_t kMost = 1024;

    explicit OperationQueue(Executors &executors);

    /// Starts an operation; called by the party. Throws what the blocking form would throw before it waits, or RESOURCE
    /// if the line is full.
    std::shared_ptr<Operation> start(uint32_t party, const Call &call, uint64_t timeout_ns);
    /// Returns when the party's line is empty. The party calls it before a collective that it waits in.
    void await_turn(uint32_t party) {
        if (lines_[party].length.load(std::memory_order_acquire) != 0) drain(party);
        hand_on(); // operations of others that the party now meets
    }
    /// Whether the party has waited for all that it has started; called by the party.
    bool idle(uint32_t party) const { return lines_[party].length.load(std::memory_order_acquire) == 0; }
    /// Notices operations with listeners that have ended. For the end of calls that do not go through this queue.
    void notice() noexcept {
        if (listening_.load(std::memory_order_acquire) != 0) hand_on();
    }
    /// Ends a party's line when its step is over; called by the party. Settles each operation with what `cause` returns
    /// for the first. Returns false if the line is empty. Returns when no listener runs on another thread.
    bool end(uint32_t party, FunctionRef<Failure(const Operation &)> cause) noexcept;

    /// Moves the operation on, and those before it in the line. Returns and throws as Operation::take_result().
    bool test(Operation &operation);
    /// Repeats test() until it returns true, or for `timeout_ns`.
    bool wait(Operation &operation, uint64_t timeout_ns);
    /// Finishes the operation if all parties have come. Otherwise gives it up and releases the group with `cause`. What
    /// the party's stream gets next then runs after it.
    void settle(Operation &operation, const Failure &cause) noexcept;
    /// Calls `function` with the operation's status when it is over: now, or in whatever call notices it.
    void when_over(Operation &operation, std::function<void(mdist_status_t)> function);
    /// Returns a new file descriptor of the operation's alarm.
    int descriptor(Operation &operation);

    /// Starts the operations whose turn has come, on all lines. Returns true if there were any.
    bool hand_on() noexcept {
        const bool came = (waiting_.load(std::memory_order_seq_cst) != 0 ||
                           listening_.load(std::memory_order_seq_cst) != 0) &&
                          hand_on_lines();
        done_.make();
        return came;
    }

  private:
    struct alignas(64) Line {
        std::mutex mutex;
        std::deque<std::shared_ptr<Operation>> operations;
        std::atomic<std::size_t> length{0};
    };
    /// What a thread must know of the line before it sleeps.
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

    Executors &executors_;
    Group &group_;
    std::unique_ptr<Line[]> lines_;
    DoneCalls done_;
    std::atomic<std::size_t> listening_{0}; // operations with listeners that are in a line
    std::atomic<std::size_t> waiting_{0};   // operations that wait for their turn, on all lines
};

} // namespace mdist
