// SPDX-License-Identifier: Apache-2.0
#include "membership/elastic_membership.h"

#include "util/system_random.h"
#include "util/text.h"

namespace mdist {
namespace {

MembershipOptions with_id(MembershipOptions options, WorkerId id) {
    while (id == 0) system_random(&id, sizeof id);
    options.elastic_id = id;
    options.names.clear(); // ranks change
    return options;
}

} // namespace

ElasticMembership::ElasticMembership(const MembershipOptions &options, WorkerId id)
    : thread_(std::make_shared<MemberThread>(with_id(options, id))) {
    std::unique_lock<std::mutex> hold(thread_->lock());
    Member &member = thread_->member();
    const auto ended = [&] { return member.state() == Member::State::kEnded; };
    const auto let_in = [&] { return member.without_me() || ended(); };
    const auto describe = [&]() -> WaitText { return {member.name(), "mdist_strategy_create", member.awaited()}; };
    const uint64_t limit = options.join_timeout_ns;
    const bool in_time = thread_->await(hold, deadline_after(limit), let_in, describe);
    if (in_time && !ended()) return;
    const Failure failure =
        in_time ? why_ended()
                : Failure(MDIST_ERR_TIMEOUT, text("this worker could not join the job within ", seconds_text(limit),
                                                  "; still waiting for ", member.awaited()));
    hold.unlock();
    thread_->leave();
    throw Failure(failure);
}

ElasticMembership::~ElasticMembership() {
    leave();
}

/// For whatever ends the member before it has a reason of its own.
Failure ElasticMembership::why_ended() const {
    return thread_->member().failure().value_or(Failure(MDIST_ERR_ABORTED, "this worker has left the job"));
}

bool ElasticMembership::is_newcomer() const {
    const std::lock_guard<std::mutex> hold(thread_->lock());
    return thread_->member().without_me().value_or(0) != 0;
}

std::optional<Generation> ElasticMembership::first(uint64_t timeout_ns) {
    return ask({}, timeout_ns, true, false);
}

Generation ElasticMembership::next(Holdings held, uint64_t timeout_ns, bool leaves) {
    return *ask(held, timeout_ns, false, leaves);
}

std::optional<Generation> ElasticMembership::ask(const Holdings &held, uint64_t timeout_ns, bool first, bool leaves) {
    Member &member = thread_->member();
    std::unique_lock<std::mutex> hold(thread_->lock());
    const auto left_out = [&] { return first && member.passed_over(); };
    for (;;) {
        member.ask(held, timeout_ns, leaves);
        thread_->reactor().wake();
        const bool in_time =
            thread_->wait_for_generation(hold, first ? "mdist_strategy_create" : "mdist_regroup", left_out);
        if (left_out()) {
            member.withdraw();
            thread_->reactor().wake();
            return std::nullopt;
        }
        if (member.state() == Member::State::kReady) return member.generation();
        if (member.state() == Member::State::kFailed) continue; // a member was lost just as all were connected
        throw in_time ? why_ended()
                      : Failure(MDIST_ERR_TIMEOUT, text("no next generation within ", seconds_text(timeout_ns)));
    }
}

std::unique_ptr<Membership> ElasticMembership::membership() {
    return std::make_unique<Membership>(thread_);
}

void ElasticMembership::note_commit() noexcept {
    try {
        const std::lock_guard<std::mutex> hold(thread_->lock());
        thread_->member().note_commit();
    } catch (const std::exception &) { // the next heartbeat tells it
    }
    thread_->reactor().wake();
}

uint32_t ElasticMembership::newcomers() const {
    const std::lock_guard<std::mutex> hold(thread_->lock());
    return thread_->member().newcomers();
}

bool ElasticMembership::any_leaves() const {
    const std::lock_guard<std::mutex> hold(thread_->lock());
    return thread_->member().any_leaves();
}

void ElasticMembership::leave() noexcept {
    thread_->leave();
}

} // namespace mdist
