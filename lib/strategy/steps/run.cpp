// SPDX-License-Identifier: Apache-2.0
// Running a step: program -> turn -> frame -> team -> step on each replica -> the first failure, or the results.
#include "strategy/context.h"
#include "strategy/strategy.h"
#include "strategy/values/structure.h"
#include "util/text.h"

#include <utility>

namespace mdist {
Frame &Strategy::frame_at(uint32_t depth) {
    while (frames_.size() <= depth)
        frames_.push_back(std::make_unique<Frame>(*this, static_cast<uint32_t>(frames_.size())));
    return *frames_[depth];
}

void Strategy::check_arguments(const std::vector<ValuePointer> &arguments) {
    require_sound();
    for (std::size_t i = 0; i < arguments.size(); ++i)
        visit_leaves(*arguments[i], [&](const Value &leaf, std::size_t) {
            leaf.check_count(local_replica_count(), static_cast<std::ptrdiff_t>(i));
            leaf.check_whole(static_cast<std::ptrdiff_t>(i));
        });
}

void Strategy::run(const Step &step, std::vector<ValuePointer> arguments, std::vector<ValuePointer> &results,
                   uint64_t timeout_ns) {
    const Turn turn(*this, "mdist_run", "mdist_merge_call first, and run inside the merge");
    require_no_commands("mdist_run",
                        "register the step on every worker (mdist_step_register) and call mdist_run_named");
    run_with_turn(step, std::move(arguments), results, timeout_ns);
}

void Strategy::run_with_turn(const Step &step, std::vector<ValuePointer> arguments, std::vector<ValuePointer> &results,
                             uint64_t timeout_ns) {
    check_arguments(arguments);
    require_open();

    // Whatever way this is left, also by a thread's end: everybody is out of the group, which can be used again.
    struct Ending {
        Strategy &strategy;
        Frame &frame;
        const uint64_t timeout_before;
        ~Ending() {
            strategy.end_frame(frame);
            strategy.group_.set_timeout(timeout_before);
        }
    };
    Frame &frame = frame_at(depth_);
    frame.begin(std::move(arguments), results.size());
    ++depth_;
    const Ending ending{*this, frame, group_.timeout()};
    if (timeout_ns != 0) group_.set_timeout(timeout_ns);

    run_frame(frame, step);
    if (std::optional<Failure> cause = group_.cause()) throw *cause;
    results = frame.take_results();
}

void Strategy::end_frame(Frame &frame) noexcept {
    --depth_;
    // A thread that ends in a nested step leaves the outer steps too. What that did to the group must not be forgotten
    // with the nested step's own failure: the others would wait for that replica.
    const uint32_t ended = team_->forked() ? team_->settle_ended() : 0;
    group_.reset();
    frame.clear();
    if (ended != 0) release_ended(group_, first_replica_id() + ended);
}

void Strategy::run_frame(Frame &frame, const Step &step) {
    if (concurrent_) {
        const auto work = [&](uint32_t local) { frame.execute(local, step); };
        const Team::Work each(work);
        const Team::Fork fork(*team_, each);
        work(0);
    } else {
        for (uint32_t local = 0; local < local_replica_count() && !group_.cause(); ++local) frame.execute(local, step);
    }
}

void Strategy::run_internal(const Team::Work &work) {
    require_open();
    const Team::Fork fork(*team_, work);
    work(0);
}

} // namespace mdist
