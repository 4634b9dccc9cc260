// SPDX-License-Identifier: Apache-2.0
#include "strategy/steps/open_runs.h"

#include "strategy/job/context.h"
#include "strategy/job/release.h"
#include "strategy/job/turn.h"
#include "util/callback.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {

bool OpenRuns::Run::anybody_inside() const {
    return std::find(places.begin(), places.end(), Place::kInside) != places.end();
}

OpenRuns::Run &OpenRuns::innermost(const char *function) {
    if (open_.empty())
        throw Failure(MDIST_ERR_FAILED_PRECONDITION, text(function, ": no run is open; mdist_run_begin opens one"))
            .reason("no_run");
    return *open_.back();
}

OpenRuns::Run &OpenRuns::run_of(const Replica &replica) {
    const std::lock_guard lock(mutex_);
    return **std::find_if(open_.begin(), open_.end(),
                          [&](const auto &run) { return &run->frame->common == &replica.common(); });
}

void OpenRuns::begin(std::vector<ValuePointer> arguments, std::size_t result_count, uint64_t timeout_ns) {
    const Context *context = Context::of(job_);
    if (context != nullptr && context->kind() != Context::Kind::kReplica)
        throw Failure(MDIST_ERR_WRONG_CONTEXT,
                      "mdist_run_begin cannot be called in a merge or update function. Call mdist_run there, or open "
                      "the merge with mdist_merge_begin");
    Turn turn(job_, "mdist_run_begin", "mdist_merge_call first, and mdist_run inside the merge");
    job_.reach.require_no_commands("mdist_run_begin", "register a step on every worker and call mdist_run_named");
    auto run = std::make_unique<Run>(job_.replicas.local_count());
    runs_.prepare(arguments);

    const std::lock_guard lock(mutex_); // either close() sees the run, or this sees that the job is closed
    open_.reserve(open_.size() + 1);
    run->frame = &runs_.begin(std::move(arguments), result_count, timeout_ns);
    open_.push_back(std::move(run));
    turn.keep_for_run();
}

void OpenRuns::end(std::vector<ValuePointer> &results) {
    std::unique_lock lock(mutex_);
    Run &run = innermost("mdist_run_end");
    const auto place = [&](Place wanted) { return std::find(run.places.begin(), run.places.end(), wanted); };
    if (const auto inside = place(Place::kInside); inside != run.places.end())
        throw Failure(MDIST_ERR_FAILED_PRECONDITION, text("mdist_run_end: local replica ", inside - run.places.begin(),
                                                          " is still in the run; call mdist_replica_exit first"))
            .reason("replica_inside");
    if (results.size() != run.frame->result_count())
        throw invalid(
            text("result_count is ", results.size(), "; mdist_run_begin was given ", run.frame->result_count()));

    struct Ending {
        OpenRuns &runs;
        std::unique_lock<std::mutex> &lock;
        ~Ending() { runs.finish(lock); }
    };
    const Ending ending{*this, lock};
    if (std::optional<Failure> cause = job_.comm.group().cause()) throw run.frame->explained(*cause);
    if (const auto missing = place(Place::kNotEntered); missing != run.places.end()) {
        const auto local = static_cast<uint32_t>(missing - run.places.begin());
        const uint32_t id = job_.replicas.first_id() + local;
        const Failure failure =
            Failure(MDIST_ERR_FAILED_PRECONDITION, text("local replica ", local, " never entered the run"))
                .replica(id)
                .reason("not_entered");
        release_failure(job_.comm.group(), "mdist_run", id, failure); // counted as a failed run
        throw failure;
    }
    results = run.frame->take_results();
}

/// Closes the innermost run, of which no replica is inside. Its end frees what the program has passed, so it holds no
/// lock; nobody else can begin a run before the turn is given back.
void OpenRuns::finish(std::unique_lock<std::mutex> &lock) noexcept {
    const std::unique_ptr<Run> run = std::move(open_.back());
    open_.pop_back();
    lock.unlock();
    runs_.end(*run->frame);
    job_.use.end_run();
    job_.stop_if_over();
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
    Replica &replica = run.frame->replica(local);
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
    const std::string said = CalledBack::take_said();
    const auto lost = code != 0 ? replica.lost_device() : std::nullopt;
    const auto why = [&] {
        if (lost) return *lost;
        return in_merge && code == 0
                   ? Failure(MDIST_ERR_FAILED_PRECONDITION,
                             text("replica ", id, " left its step with a merge open; mdist_merge_end closes it"))
                         .replica(id)
                         .reason("merge_open")
                   : callback_returned(text("the step of replica ", id), code, {said, replica.last_failure.sentence()})
                         .replica(id);
    };
    std::unique_lock lock(mutex_);
    if (in_merge || code != 0) fail(run, why);
    if (in_merge && local == 0) end_merge(run, replica);
    lock.unlock(); // functions of the program may be called, and others' ends awaited; the replica is still inside
    const bool worked = replica.end_work();
    replica.end_device();
    lock.lock();
    if (!run.merging) job_.comm.group().depart(local);
    run.places[local] = Place::kLeft;
    replica.merging = false;
    replica.entered = false;
    retire();
    if (job_.use.closed() && &run == open_.back().get() && !run.anybody_inside()) finish(lock);
    if (in_merge && code == 0) throw why();
    if (worked)
        throw Failure(
            MDIST_ERR_FAILED_PRECONDITION,
            text("replica ", id,
                 " left its step with a started operation or a round of gradients under way; wait for it first"))
            .replica(id)
            .reason("work_under_way");
}

/// Keeps the failure until the merge is over if one is open, since a nested run may be using the group.
void OpenRuns::fail(Run &run, FunctionRef<Failure()> why) noexcept {
    Group &group = job_.comm.group();
    try {
        Failure failure = why();
        if (!run.merging)
            group.release(std::move(failure).operation("mdist_run"));
        else if (!run.failure)
            run.failure.emplace(std::move(failure).operation("mdist_run"));
    } catch (const std::bad_alloc &) {
        group.release(out_of_memory());
    }
}

void OpenRuns::close() noexcept {
    std::unique_lock lock(mutex_);
    if (!open_.empty() && !open_.back()->anybody_inside()) finish(lock);
}

} // namespace mdist
