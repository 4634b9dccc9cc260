// SPDX-License-Identifier: Apache-2.0
// OpenRuns: runs on the caller's own threads, from mdist_run_begin to mdist_run_end, one inside the other.
//
// A run holds the turn of its strategy as long as it is open. A replica that was entered is bound to its handle, not to
// a thread. A merge lends the turn to whoever works in cross-replica context meanwhile, a nested run among them; so all
// replicas of a run but the innermost stand in a merge.
// Functions of a replica: one thread at a time, which the C edge sees to. The others: any thread, with the turn where
// it says so.
#pragma once

#include "comm/call.h"
#include "strategy/steps/frame.h"
#include "util/event_count.h"
#include "util/failure.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace mdist {

class OpenRuns {
  public:
    explicit OpenRuns(Strategy &strategy) : strategy_(strategy) {}

    bool any() const { return count_.load() != 0; }

    /// Takes the turn.
    void begin(std::vector<ValuePointer> arguments, std::size_t result_count, uint64_t timeout_ns);
    /// Gives it back, unless this throws FAILED_PRECONDITION because a replica is inside. `results` has as many places
    /// as begin() was given.
    void end(std::vector<ValuePointer> &results);

    /// `publish` makes the handle; if it throws, nobody has entered.
    void enter(uint32_t local, FunctionRef<void(Replica &)> publish);
    /// `retire` gives the handle and the use of the replica up: from then on the next run may have it. Throws for what
    /// was left open, but the replica has left all the same.
    void exit(Replica &replica, int32_t code, FunctionRef<void()> retire);

    /// Returns when every replica has come. On replica 0, gives `hand_out` the regrouped arguments; if it throws, the
    /// merge has failed for all.
    void open_merge(Replica &replica, CallKind kind, std::vector<Part> arguments, std::size_t result_count,
                    uint64_t timeout_ns, FunctionRef<void(const std::vector<ValuePointer> &)> hand_out);
    /// Closes it: what replica 0's `merge` returns is for all, and what it throws fails the merge; the others wait for
    /// that, and then call theirs for what it throws. Fills the replica's `merged`.
    void close_merge(Replica &replica, const char *function, std::size_t count,
                     FunctionRef<std::vector<ValuePointer>()> merge);
    /// Between the two, if replica 0's caller is to work in cross-replica context by whatever thread.
    void lend_turn(const Replica &replica) noexcept;
    /// Throws FAILED_PRECONDITION and changes nothing where no merge is open, or on replica 0, reason `busy`, while the
    /// merge is at work.
    void take_turn_back(const Replica &replica, const char *function);

    /// The strategy is closed: ends runs that nobody is inside of.
    void close() noexcept;
    /// Collectives have ended: those that wait for replica 0's merge go.
    void wake() noexcept;

  private:
    enum class Place : uint8_t { kNotEntered, kInside, kLeft };

    struct Run {
        Run(Frame &frame, uint32_t replicas, uint64_t timeout_before);
        bool anybody_inside() const;

        Frame &frame;
        std::vector<Place> places;
        std::vector<uint64_t> merged; // merges that each replica has been through; its own to write
        const uint64_t timeout_before;
        bool merging = false;            // from the first replica in a merge until replica 0 closes it
        std::optional<Failure> failure;  // of a replica that left in the middle of a merge: for when the merge is over
        std::atomic<uint64_t> merges{0}; // closed
    };

    Run &innermost(const char *function);
    Run &run_of(const Replica &replica);
    void fail(Run &run, FunctionRef<Failure()> why) noexcept;
    void finish(std::unique_lock<std::mutex> &lock) noexcept;
    void hand_in(Run &run, Replica &replica, const char *function, FunctionRef<std::vector<ValuePointer>()> merge);
    void await_merge(Run &run, Replica &replica);
    void end_merge(Run &run, Replica &replica) noexcept;

    Strategy &strategy_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Run>> runs_; // innermost last
    std::atomic<uint32_t> count_{0};
    EventCount merges_; // some merge was closed, or all collectives have ended
};

} // namespace mdist
