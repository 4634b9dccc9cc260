// SPDX-License-Identifier: Apache-2.0
// Running a step: program -> turn -> frame -> team -> step on each replica -> the first failure, or the results.
#include "strategy/context.h"
#include "strategy/strategy.h"
#include "util/text.h"

#include <utility>

namespace mdist {
Frame &Strategy::frame_at(uint32_t depth) {
    while (frames_.size() <= depth)
        frames_.push_back(std::make_unique<Frame>(*this, static_cast<uint32_t>(frames_.size())));
    return *frames_[depth];
}

void Strategy::run(const Step &step, std::vector<ValuePointer> arguments, std::vector<ValuePointer> &results) {
    const Turn turn(*this, "mdist_run", "mdist_merge_call first, and run inside the merge");
    require_sound();
    for (std::size_t i = 0; i < arguments.size(); ++i)
        arguments[i]->check_count(local_replica_count(), static_cast<std::ptrdiff_t>(i));
    if (!team_) throw Failure(MDIST_ERR_FAILED_PRECONDITION, "the strategy was destroyed").reason("destroyed");

    // Whatever way this is left, also by a thread's end: everybody is out of the group, which can be used again.
    struct Ending {
        Strategy &strategy;
        Frame &frame;
        ~Ending() {
            --strategy.depth_;
            strategy.group_.reset();
            frame.clear();
        }
    };
    Frame &frame = frame_at(depth_);
    frame.begin(std::move(arguments), results.size());
    ++depth_;
    const Ending ending{*this, frame};

    run_frame(frame, step);
    if (std::optional<Failure> cause = group_.cause()) throw *cause;
    results = frame.take_results();
}

void Strategy::run_frame(Frame &frame, const Step &step) {
    if (concurrent_) {
        const auto work = [&](uint32_t local) { frame.execute(local, step); };
        const Team::Work each(work);
        const Team::Forked forked(*team_, each, frame.depth() != 0);
        work(0);
    } else {
        for (uint32_t local = 0; local < local_replica_count() && !group_.cause(); ++local) frame.execute(local, step);
    }
}

void Strategy::run_internal(const Team::Work &work) {
    if (!team_) throw Failure(MDIST_ERR_FAILED_PRECONDITION, "the strategy was destroyed").reason("destroyed");
    const Team::Forked forked(*team_, work, depth_ != 0);
    work(0);
}

} // namespace mdist
