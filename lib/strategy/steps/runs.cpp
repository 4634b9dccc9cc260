// SPDX-License-Identifier: Apache-2.0
// A run: takes the turn, begins a frame, lets the team run the step on each replica, and returns the results or throws
// the first failure.
// A merge: all local replicas meet. Replica 0 runs the merge function while the others are ready for nested runs. Then
// each takes its own part of the results.
#include "strategy/steps/runs.h"

#include "strategy/job/call_functions.h"
#include "strategy/job/context.h"
#include "strategy/job/release.h"
#include "strategy/job/turn.h"
#include "strategy/steps/merge.h"
#include "strategy/values/structure.h"

#include <utility>

namespace mdist {

Runs::Runs(Job &job) : job_(job) {
    frames_.push_back(std::make_unique<Frame>(job));
}

void Runs::run(const Step &step, std::vector<ValuePointer> arguments, std::vector<ValuePointer> &results,
               uint64_t timeout_ns) {
    const Turn turn(job_, "mdist_run", "mdist_merge_call first, and run inside the merge");
    job_.reach.require_no_commands("mdist_run",
                                   "register the step on every worker (mdist_step_register) and call mdist_run_named");
    run_with_turn(step, std::move(arguments), results, timeout_ns);
}

void Runs::run_with_turn(const Step &step, std::vector<ValuePointer> arguments, std::vector<ValuePointer> &results,
                         uint64_t timeout_ns) {
    struct Ending { // runs however this is left, also by a thread's end
        Runs &runs;
        Frame &frame;
        ~Ending() { runs.end(frame); }
    };
    prepare(arguments);
    Frame &frame = begin(std::move(arguments), results.size(), timeout_ns);
    const Ending ending{*this, frame};
    run_frame(frame, step);
    if (std::optional<Failure> cause = job_.comm.group().cause()) throw frame.explained(*cause);
    results = frame.take_results();
}

void Runs::prepare(const std::vector<ValuePointer> &arguments) {
    job_.require_sound();
    check_arguments(arguments, job_.replicas.local_count());
    job_.use.require_open();
    if (before_next_ && depth_ == 0) std::exchange(before_next_, nullptr)();
}

Frame &Runs::begin(std::vector<ValuePointer> arguments, std::size_t result_count, uint64_t timeout_ns) {
    job_.use.require_open();
    while (frames_.size() <= depth_) frames_.push_back(std::make_unique<Frame>(job_));
    Frame &frame = *frames_[depth_];
    frame.begin(std::move(arguments), result_count, timeout_ns);
    ++depth_;
    return frame;
}

void Runs::end(Frame &frame) noexcept {
    --depth_;
    // A thread that ends in a nested step leaves the outer steps, too. Keep what that did to the group after the nested
    // step's own failure is cleared. Otherwise the others would wait for that replica.
    const uint32_t ended = job_.team().forked() ? job_.team().settle_ended() : 0;
    job_.comm.group().reset();
    frame.end();
    if (ended != 0) release_ended(job_.comm.group(), job_.replicas.first_id() + ended);
}

void Runs::run_frame(Frame &frame, const Step &step) {
    if (job_.concurrent()) {
        job_.team().run([&](uint32_t local) { frame.execute(local, step); });
    } else {
        for (uint32_t local = 0; local < job_.replicas.local_count() && !job_.comm.group().cause(); ++local)
            frame.execute(local, step);
    }
}

void Runs::span_changed() {
    drop_attachments();
    frames_.clear();
    frames_.push_back(std::make_unique<Frame>(job_));
}

void Runs::drop_attachments() noexcept {
    for (const auto &frame : frames_)
        for (uint32_t local = 0; local < frame->replica_count(); ++local) frame->replica(local).attachment.reset();
}

void Runs::merge(Replica &replica, const Merge &merge, std::vector<Part> arguments, std::size_t result_count,
                 uint64_t timeout_ns) {
    replica.merge_arguments = std::move(arguments);
    meet_to_merge(replica, &calls::kMerge, result_count, timeout_ns);

    if (replica.local_index() == 0)
        run_merge(replica, merge, result_count);
    else
        job_.team().serve(replica.local_index());

    if (replica.common().merge_failed)
        throw Failure(MDIST_ERR_ABORTED, "the merge function failed; mdist_run returns why").reason("step_failed");
    replica.merged = replica.common().merged;
}

/// Does replica 0's part. The others continue afterwards in any case.
void Runs::run_merge(Replica &replica, const Merge &merge, std::size_t result_count) {
    Common &common = replica.common();
    common.merge_failed = true;
    common.refusals = job_.comm.group().refusals();
    struct Resumption {
        Job &job;
        const bool &failed;
        ~Resumption() {
            // Release the cause before the others continue and report that the merge failed: it must be the first
            // failure that they see. If none was released by now, memory ran out.
            if (failed) job.comm.group().release(out_of_memory());
            job.team().resume();
        }
    };
    const Resumption resumption{job_, common.merge_failed};
    keep_merged(replica, "mdist_merge_call", [&] {
        const Context context(job_, Context::Kind::kMerge);
        std::vector<ValuePointer> merged(result_count);
        merge(regrouped_arguments(*frames_[depth_ - 1], job_.replicas.local_count()), merged);
        return merged;
    });
}

} // namespace mdist
