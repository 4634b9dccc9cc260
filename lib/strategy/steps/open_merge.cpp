// SPDX-License-Identifier: Apache-2.0
// Merges of replicas that were entered: all replicas meet, replica 0's caller works in cross-replica context, and all
// continue.
#include "strategy/job/call_functions.h"
#include "strategy/job/context.h"
#include "strategy/job/release.h"
#include "strategy/steps/merge.h"
#include "strategy/steps/open_runs.h"
#include "util/forced_unwind.h"
#include "util/text.h"

#include <utility>

namespace mdist {

void OpenRuns::merge(Replica &replica, const Merge &merge, std::vector<Part> arguments, std::size_t result_count,
                     uint64_t timeout_ns) {
    std::vector<ValuePointer> regrouped;
    open_merge(replica, &calls::kMerge, std::move(arguments), result_count, timeout_ns,
               [&](const std::vector<ValuePointer> &values) { regrouped = values; });
    close_merge(replica, "mdist_merge_call", result_count, [&] {
        std::vector<ValuePointer> merged(result_count);
        if (replica.local_index() != 0) return merged;
        const Context context(job_, Context::Kind::kMerge);
        merge(regrouped, merged);
        return merged;
    });
}

void OpenRuns::open_merge(Replica &replica, CallKind kind, std::vector<Part> arguments, std::size_t result_count,
                          uint64_t timeout_ns, FunctionRef<void(const std::vector<ValuePointer> &)> hand_out) {
    Run &run = run_of(replica);
    Common &common = replica.common();
    Group &group = job_.comm.group();
    replica.merge_arguments = std::move(arguments);
    meet_to_merge(replica, kind, result_count, timeout_ns);
    {
        const std::lock_guard lock(mutex_);
        run.merging = true;
    }
    replica.merging = true;
    group.finish(); // no replica is in the group: a nested run may use it
    if (replica.local_index() != 0) return;

    common.merge_failed = true;
    common.refusals = group.refusals();
    common.merged.clear();
    const auto failed = [&] {
        const std::lock_guard lock(mutex_);
        end_merge(run, replica);
    };
    try {
        hand_out(regrouped_arguments(*run.frame, job_.replicas.local_count()));
    } catch (const Failure &failure) {
        release_failure(group, kind->name(), replica.id(), failure);
        failed();
        throw;
    } catch (...) {
        failed();
        rethrow();
    }
}

void OpenRuns::lend_turn(const Replica &replica) noexcept {
    if (replica.local_index() == 0) job_.use.end();
}

void OpenRuns::take_turn_back(const Replica &replica, const char *function) {
    if (!replica.merging)
        throw Failure(MDIST_ERR_FAILED_PRECONDITION, text(function, ": no merge is open; mdist_merge_begin opens one"))
            .reason("no_merge");
    if (replica.local_index() == 0 && !job_.use.begin())
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      text(function, ": another thread is still at work in this merge, or has a run open in it"))
            .reason("busy");
}

void OpenRuns::close_merge(Replica &replica, const char *function, std::size_t count,
                           FunctionRef<std::vector<ValuePointer>()> merge) {
    Run &run = run_of(replica);
    const Common &common = replica.common();
    if (replica.local_index() == 0)
        hand_in(run, replica, function, merge);
    else
        await_merge(run, replica);
    ++run.merged[replica.local_index()];
    if (common.merge_failed)
        throw Failure(MDIST_ERR_ABORTED, "the merge failed; mdist_run_end returns why").reason("step_failed");
    if (replica.local_index() != 0) merge();
    if (count != common.merged.size())
        throw Failure(MDIST_ERR_MISMATCH, text("count is ", count, "; replica ", job_.replicas.first_id(),
                                               " closed this merge with ", common.merged.size()));
    replica.merged = common.merged;
}

/// Does replica 0's part. The others continue afterwards in any case.
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
    keep_merged(replica, function, merge);
}

/// Lets the others continue, and reports failures that were kept meanwhile. Needs the lock and the turn.
void OpenRuns::end_merge(Run &run, Replica &replica) noexcept {
    Group &group = job_.comm.group();
    if (run.failure) group.release(*run.failure);
    // The cause must be the first failure that they see. If none was released by now, memory ran out.
    if (replica.common().merge_failed) group.release(out_of_memory());
    run.failure.reset();
    run.merging = false;
    replica.merging = false;
    for (uint32_t local = 0; local < run.places.size(); ++local)
        if (run.places[local] == Place::kLeft) group.depart(local);
    ++run.merges;
    job_.comm.changes().advance();
}

/// Waits for the caller's code, so it has no deadline. Ends when all collectives have ended.
void OpenRuns::await_merge(Run &run, Replica &replica) {
    const uint64_t before = run.merged[replica.local_index()];
    LongWait long_wait;
    const auto describe = [&]() -> WaitText {
        return {text("local replica ", replica.local_index()), "a merge", "local replica 0, which has not ended it"};
    };
    for (;;) {
        const uint32_t seen = job_.comm.changes().now();
        if (run.merges != before) break;
        if (job_.comm.group().failed()) {
            replica.merging = false;
            job_.require_sound();
        }
        job_.comm.changes().wait(seen, Patience(), kNoDeadline, long_wait, describe);
    }
    replica.merging = false;
}

} // namespace mdist
