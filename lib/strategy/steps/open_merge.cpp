// SPDX-License-Identifier: Apache-2.0
// Merges of replicas that were entered: all meet, replica 0's caller works in cross-replica context, all go on.
#include "strategy/steps/merge.h"
#include "strategy/steps/open_runs.h"
#include "strategy/strategy.h"
#include "util/text.h"

#include <utility>

namespace mdist {

void OpenRuns::open_merge(Replica &replica, CallKind kind, std::vector<Part> arguments, std::size_t result_count,
                          uint64_t timeout_ns, FunctionRef<void(const std::vector<ValuePointer> &)> hand_out) {
    Run &run = run_of(replica);
    Frame::Shared &shared = run.frame.shared;
    Group &group = strategy_.group();
    replica.merge_arguments = std::move(arguments);
    meet_to_merge(group, replica, kind, result_count, timeout_ns);
    {
        const std::lock_guard lock(mutex_);
        run.merging = true;
    }
    replica.merging = true;
    group.finish(); // nobody is in the group any more: a nested run may use it
    if (replica.local_index() != 0) return;

    shared.merge_failed = true;
    shared.merged.clear();
    const auto failed = [&] {
        const std::lock_guard lock(mutex_);
        end_merge(run, replica);
    };
    try {
        hand_out(strategy_.regroup(run.frame, replica.merge_arguments.size()));
    } catch (const Failure &failure) {
        release_failure(group, call_name(kind), replica.id(), failure);
        failed();
        throw;
    } catch (...) {
        failed();
        throw;
    }
}

void OpenRuns::lend_turn(const Replica &replica) noexcept {
    if (replica.local_index() == 0) strategy_.busy_ = false;
}

void OpenRuns::take_turn_back(const Replica &replica, const char *function) {
    if (!replica.merging)
        throw Failure(MDIST_ERR_FAILED_PRECONDITION, text(function, ": no merge is open; mdist_merge_begin opens one"))
            .reason("no_merge");
    if (replica.local_index() == 0 && strategy_.busy_.exchange(true))
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      text(function, ": another thread is still at work in this merge, or has a run open in it"))
            .reason("busy");
}

void OpenRuns::close_merge(Replica &replica, const char *function, std::size_t count,
                           FunctionRef<std::vector<ValuePointer>()> merge) {
    Run &run = run_of(replica);
    Frame::Shared &shared = run.frame.shared;
    if (replica.local_index() == 0)
        hand_in(run, replica, function, merge);
    else
        await_merge(run, replica);
    ++run.merged[replica.local_index()];
    if (shared.merge_failed)
        throw Failure(MDIST_ERR_ABORTED, "the merge failed; mdist_run_end returns why").reason("step_failed");
    if (replica.local_index() != 0) merge();
    if (count != shared.merged.size())
        throw Failure(MDIST_ERR_MISMATCH, text("count is ", count, "; replica ", strategy_.first_replica_id(),
                                               " closed this merge with ", shared.merged.size()));
    take_merged(replica);
}

/// Replica 0's part. Whatever happens, the others go on afterwards.
void OpenRuns::hand_in(Run &run, Replica &replica, const char *function,
                       FunctionRef<std::vector<ValuePointer>()> merge) {
    struct Closing {
        OpenRuns &runs;
        Run &run;
        Replica &replica;
        ~Closing() {
            const std::lock_guard lock(runs.mutex_);
            runs.end_merge(run, replica);
        }
    };
    const Closing closing{*this, run, replica};
    try {
        std::vector<ValuePointer> merged = merge();
        strategy_.check_merged(merged);
        run.frame.shared.merged = std::move(merged);
    } catch (const Failure &cause) {
        release_failure(strategy_.group(), function, replica.id(), cause);
        throw;
    } catch (const std::exception &) {
        throw; // the library's own: no memory
    } catch (...) {
        release_callback(strategy_.group(), function, replica.id(), 0,
                         [] { return std::string("the merge function ended its thread"); });
        throw;
    }
    run.frame.shared.merge_failed = false;
}

/// Lets the others go on, with the failures that came meanwhile. Under the lock, with the turn.
void OpenRuns::end_merge(Run &run, Replica &replica) noexcept {
    Group &group = strategy_.group();
    if (run.failure) group.release(*run.failure);
    // The cause must be the first they see. What has not been released by now is a lack of memory.
    if (run.frame.shared.merge_failed) group.release(Failure(MDIST_ERR_OUT_OF_MEMORY, "out of memory"));
    run.failure.reset();
    run.merging = false;
    replica.merging = false;
    for (uint32_t local = 0; local < run.places.size(); ++local)
        if (run.places[local] == Place::kLeft) group.depart(local);
    ++run.merges;
    merges_.advance();
}

/// Without a deadline, since it waits for the caller's code; but not when all collectives have ended.
void OpenRuns::await_merge(Run &run, Replica &replica) {
    const uint64_t before = run.merged[replica.local_index()];
    for (;;) {
        const uint32_t seen = merges_.now();
        if (run.merges != before) break;
        if (strategy_.group().failed()) {
            replica.merging = false;
            strategy_.require_sound();
        }
        merges_.wait(seen, Patience(), kNoDeadline);
    }
    replica.merging = false;
}

void OpenRuns::wake() noexcept {
    merges_.advance();
}

} // namespace mdist
