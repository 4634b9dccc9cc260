// SPDX-License-Identifier: Apache-2.0
#include "strategy/steps/open_runs.h"

#include "strategy/context.h"
#include "strategy/strategy.h"
#include "util/callback.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {

OpenRuns::Run::Run(Frame &run_frame, uint32_t replicas, uint64_t timeout_ns)
    : frame(run_frame), places(replicas, Place::kNotEntered), merged(replicas, 0), timeout_before(timeout_ns) {}

bool OpenRuns::Run::anybody_inside() const {
    return std::find(places.begin(), places.end(), Place::kInside) != places.end();
}

OpenRuns::Run &OpenRuns::innermost(const char *function) {
    if (runs_.empty())
        throw Failure(MDIST_ERR_FAILED_PRECONDITION, text(function, ": no run is open; mdist_run_begin opens one"))
            .reason("no_run");
    return *runs_.back();
}

OpenRuns::Run &OpenRuns::run_of(const Replica &replica) {
    const std::lock_guard lock(mutex_);
    return **std::find_if(runs_.begin(), runs_.end(), [&](const auto &run) { return &run->frame == &replica.frame(); });
}

void OpenRuns::begin(std::vector<ValuePointer> arguments, std::size_t result_count, uint64_t timeout_ns) {
    const Context *context = Context::of(strategy_);
    if (context != nullptr && context->kind() != Context::Kind::kReplica)
        throw Failure(MDIST_ERR_WRONG_CONTEXT,
                      "mdist_run_begin inside a merge or update function: call mdist_run there, or open the merge by "
                      "mdist_merge_begin");
    Turn turn(strategy_, "mdist_run_begin", "mdist_merge_call first, and mdist_run inside the merge");
    strategy_.require_no_commands("mdist_run_begin", "register a step on every worker and call mdist_run_named");
    strategy_.check_arguments(arguments);
    Frame &frame = strategy_.frame_at(strategy_.depth_);
    auto run = std::make_unique<Run>(frame, strategy_.local_replica_count(), strategy_.group().timeout());

    const std::lock_guard lock(mutex_);
    strategy_.require_open(); // under the lock, so that close() sees the run or this sees the end
    runs_.reserve(runs_.size() + 1);
    frame.begin(std::move(arguments), result_count);
    runs_.push_back(std::move(run));
    ++count_;
    ++strategy_.depth_;
    if (timeout_ns != 0) strategy_.group().set_timeout(timeout_ns);
    turn.keep();
}

void OpenRuns::end(std::vector<ValuePointer> &results) {
    std::unique_lock lock(mutex_);
    Run &run = innermost("mdist_run_end");
    const auto place = [&](Place wanted) { return std::find(run.places.begin(), run.places.end(), wanted); };
    if (const auto inside = place(Place::kInside); inside != run.places.end())
        throw Failure(MDIST_ERR_FAILED_PRECONDITION, text("mdist_run_end: local replica ", inside - run.places.begin(),
                                                          " is still inside; mdist_replica_exit lets it out"))
            .reason("replica_inside");
    if (results.size() != run.frame.result_count())
        throw invalid(
            text("result_count is ", results.size(), "; mdist_run_begin was given ", run.frame.result_count()));

    struct Finish {
        OpenRuns &runs;
        std::unique_lock<std::mutex> &lock;
        ~Finish() { runs.finish(lock); }
    };
    const Finish finish{*this, lock};
    if (std::optional<Failure> cause = strategy_.group().cause()) throw *cause;
    if (const auto missing = place(Place::kNotEntered); missing != run.places.end()) {
        const auto local = static_cast<uint32_t>(missing - run.places.begin());
        const uint32_t id = strategy_.first_replica_id() + local;
        const Failure failure =
            Failure(MDIST_ERR_FAILED_PRECONDITION, text("local replica ", local, " never entered the run"))
                .replica(static_cast<int32_t>(id))
                .reason("not_entered");
        release_failure(strategy_.group(), "mdist_run", id, failure); // a run that fails, for whoever counts those
        throw failure;
    }
    results = run.frame.take_results();
}

/// Closes the innermost run, which nobody is inside of.
void OpenRuns::finish(std::unique_lock<std::mutex> &lock) noexcept {
    const std::unique_ptr<Run> run = std::move(runs_.back());
    runs_.pop_back();
    strategy_.end_frame(run->frame);
    strategy_.group().set_timeout(run->timeout_before);
    --count_;
    lock.unlock();
    strategy_.release_turn();
}

void OpenRuns::enter(uint32_t local, FunctionRef<void(Replica &)> publish) {
    const std::lock_guard lock(mutex_);
    Run &run = innermost("mdist_replica_enter");
    if (local >= run.places.size())
        throw invalid(text("local_replica is ", local, "; this strategy has ", run.places.size()));
    if (run.places[local] != Place::kNotEntered)
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      text("local replica ", local, " has entered this run before; each may enter once"))
            .reason("entered_before");
    Replica &replica = run.frame.replica(local);
    publish(replica);
    replica.begin_device();
    replica.merging = false;
    replica.entered = true;
    run.places[local] = Place::kInside;
}

void OpenRuns::exit(Replica &replica, int32_t code, FunctionRef<void()> retire) {
    const uint32_t local = replica.local_index();
    const uint32_t id = replica.id();
    const bool in_merge = replica.merging;
    if (in_merge) take_turn_back(replica, "mdist_replica_exit");
    Run &run = run_of(replica);
    const auto why = [&] {
        return in_merge && code == 0
                   ? Failure(MDIST_ERR_FAILED_PRECONDITION,
                             text("replica ", id, " left its step with a merge open; mdist_merge_end closes it"))
                         .replica(static_cast<int32_t>(id))
                         .reason("merge_open")
                   : callback_returned(text("the step of replica ", id), code, replica.last_failure)
                         .replica(static_cast<int32_t>(id));
    };
    std::unique_lock lock(mutex_);
    if (in_merge || code != 0) fail(run, why);
    if (in_merge && local == 0) end_merge(run, replica);
    const bool worked = replica.end_work();
    replica.end_device();
    if (!run.merging) strategy_.group().depart(local);
    run.places[local] = Place::kLeft;
    replica.merging = false;
    replica.entered = false;
    retire();
    if (strategy_.closed_ && &run == runs_.back().get() && !run.anybody_inside()) finish(lock);
    if (in_merge && code == 0) throw why();
    if (worked)
        throw Failure(
            MDIST_ERR_FAILED_PRECONDITION,
            text("replica ", id,
                 " left its step with a started operation or a round of gradients under way; wait for it first"))
            .replica(static_cast<int32_t>(id))
            .reason("work_under_way");
}

/// While a merge is open the group may be at work for a nested run: the failure is kept for when the merge is over.
void OpenRuns::fail(Run &run, FunctionRef<Failure()> why) noexcept {
    Group &group = strategy_.group();
    try {
        Failure failure = why();
        if (!run.merging)
            group.release(std::move(failure).operation("mdist_run"));
        else if (!run.failure)
            run.failure.emplace(std::move(failure).operation("mdist_run"));
    } catch (const std::bad_alloc &) {
        group.release(Failure(MDIST_ERR_OUT_OF_MEMORY, "out of memory"));
    }
}

void OpenRuns::close() noexcept {
    std::unique_lock lock(mutex_);
    if (!runs_.empty() && !runs_.back()->anybody_inside()) finish(lock);
}

} // namespace mdist
