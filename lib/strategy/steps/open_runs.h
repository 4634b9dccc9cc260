// SPDX-License-Identifier: Apache-2.0
// OpenRuns: runs on the caller's own threads, from mdist_run_begin to mdist_run_end. Runs nest.
//
// An open run holds the turn of its job. A replica that was entered is bound to its handle, not to a thread. A merge
// lends the turn to the thread that works in cross-replica context meanwhile, which may open a nested run. All replicas
// of every run but the innermost are therefore in a merge.
// Functions that take a replica are called by one thread at a time; the C API ensures this. The others may be called by
// any thread, with the turn where their comment says so.
#pragma once

#include "comm/call/call.h"
#include "strategy/steps/runs.h"
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
    explicit OpenRuns(Runs &runs) : runs_(runs), job_(runs.job()) {}

    /// Opens a run. Takes the turn.
    void begin(std::vector<ValuePointer> arguments, std::size_t result_count, uint64_t timeout_ns);
    /// Ends the run and gives the turn back. Throws FAILED_PRECONDITION and keeps the turn if a replica is inside.
    /// `results` has as many places as begin() was given.
    void end(std::vector<ValuePointer> &results);

    /// Enters a replica. `publish` makes its handle; if it throws, the replica was not entered.
    void enter(uint32_t local, FunctionRef<void(Replica &)> publish);
    /// Leaves the replica. `retire` gives up the handle and the use of the replica, so that the next run can use it.
    /// Throws if something was left open; the replica has left all the same.
    void exit(Replica &replica, int32_t code, FunctionRef<void()> retire);

    /// The same as Runs::merge().
    void merge(Replica &replica, const Merge &merge, std::vector<Part> arguments, std::size_t result_count,
               uint64_t timeout_ns);
    /// First half of a merge. Returns when every replica has come. On replica 0, passes the regrouped arguments to
    /// `hand_out`; if that throws, the merge fails for all.
    void open_merge(Replica &replica, CallKind kind, std::vector<Part> arguments, std::size_t result_count,
                    uint64_t timeout_ns, FunctionRef<void(const std::vector<ValuePointer> &)> hand_out);
    /// Second half. On replica 0, the result of `merge` is for all replicas, and an exception from it fails the merge.
    /// The others wait for that, and then call their own `merge` only for what it throws. Fills the replica's `merged`.
    void close_merge(Replica &replica, const char *function, std::size_t count,
                     FunctionRef<std::vector<ValuePointer>()> merge);
    /// Between the two halves, lends the turn so that replica 0's caller can work in cross-replica context on any
    /// thread.
    void lend_turn(const Replica &replica) noexcept;
    /// Takes the turn back. Throws FAILED_PRECONDITION and changes nothing if no merge is open. On replica 0 it throws
    /// the same with reason `busy` while the merge is at work.
    void take_turn_back(const Replica &replica, const char *function);

    /// Called when the strategy is closed. Ends runs that no replica is inside of.
    void close() noexcept;

  private:
    enum class Place : uint8_t { kNotEntered, kInside, kLeft };

    struct Run {
        explicit Run(uint32_t replicas) : places(replicas, Place::kNotEntered), merged(replicas, 0) {}
        bool anybody_inside() const;

        Frame *frame = nullptr;
        std::vector<Place> places;
        std::vector<uint64_t> merged;    // merges completed by each replica; each replica writes its own
        bool merging = false;            // from the first replica in a merge until replica 0 closes it
        std::optional<Failure> failure;  // of a replica that left during a merge; reported when the merge is over
        std::atomic<uint64_t> merges{0}; // closed so far
    };

    Run &innermost(const char *function);
    Run &run_of(const Replica &replica);
    void fail(Run &run, FunctionRef<Failure()> why) noexcept;
    void finish(std::unique_lock<std::mutex> &lock) noexcept;
    void hand_in(Run &run, Replica &replica, const char *function, FunctionRef<std::vector<ValuePointer>()> merge);
    void await_merge(Run &run, Replica &replica);
    void end_merge(Run &run, Replica &replica) noexcept;

    Runs &runs_;
    Job &job_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Run>> open_; // innermost last
};

} // namespace mdist
