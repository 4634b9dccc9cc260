// SPDX-License-Identifier: Apache-2.0
#include "membership/elastic/elastic_membership.h"

#include <algorithm>
#include <utility>

#include "membership/address.h"
#include "membership/await.h"
#include "membership/elastic/elastic_member.h"
#include "membership/reactor.h"
#include "util/text.h"

namespace mdist {

/// The thread, and the member that it runs.
class ElasticMembership::Body {
  public:
    Body(MembershipOptions given, WorkerId given_id) : options(std::move(given)) {
        if (options.join_timeout_ns == 0 || options.heartbeat_timeout_ns == 0)
            throw invalid("the limits for joining and for silence must be more than 0");
        check_secret(options.secret);
        WorkerId id = given_id;
        while (id == 0) reactor.random(&id, sizeof id);
        std::vector<Endpoint> store = resolve(split_address(options.store), options.join_timeout_ns);
        reactor.set_listen_at(options.listen_at);
        member = std::make_unique<ElasticMember>(reactor, options, id, std::move(store));
        reactor.start(*member, "mdist-member");
    }

    /// Waits until ready(), which runs with the lock held, for that time. Returns whether it is.
    bool await(std::unique_lock<std::mutex> &hold, uint64_t timeout_ns, const char *operation,
               FunctionRef<bool()> ready) {
        return mdist::await(hold, changed, deadline_after(timeout_ns), ready,
                            [&]() -> WaitText { return {"this worker", operation, member->awaited()}; });
    }

    /// `by`: who sets it. Only the last one can take it back.
    void tell(const void *by, std::function<void()> call) {
        const std::lock_guard<std::mutex> hold(call_mutex_);
        if (!call && by != told_by_) return;
        told_by_ = by;
        call_ = std::move(call);
    }

    /// For whatever ends the member before it has a reason of its own.
    Failure why_ended() const {
        return member->failure().value_or(Failure(MDIST_ERR_ABORTED, "this worker has left the job"));
    }

    const MembershipOptions options;
    std::condition_variable changed; // used with the reactor's lock
    std::mutex call_mutex_;          // held while call_ runs
    std::function<void()> call_;
    const void *told_by_ = nullptr;
    Reactor reactor{[this] { after_news(); }};
    std::unique_ptr<ElasticMember> member;

  private:
    void after_news() {
        { const std::lock_guard<std::mutex> hold(reactor.lock()); } // a caller about to wait is waiting after this
        changed.notify_all();
        const std::lock_guard<std::mutex> hold(call_mutex_);
        if (call_) call_();
    }

    struct StopFirst {
        Reactor &reactor;
        ~StopFirst() { reactor.stop(); }
    } stop_first_{reactor}; // the thread ends before the members it uses, also if the constructor throws
};

/// What the Membership of one generation stands on.
class ElasticMembership::OfGeneration final : public MemberThread {
  public:
    explicit OfGeneration(std::shared_ptr<Body> body) : body_(std::move(body)) {}
    ~OfGeneration() override { body_->tell(this, nullptr); }
    Reactor &reactor() override { return body_->reactor; }
    std::condition_variable &changed() override { return body_->changed; }
    void tell(std::function<void()> call) override { body_->tell(this, std::move(call)); }
    Peers &peers() override { return body_->member->peers(); }
    DataSockets &sockets() override { return body_->member->sockets(); }
    std::optional<Failure> failure() const override { return body_->member->failure(); }
    bool failed() const override { return body_->member->failure().has_value(); }
    /// The member leaves the generation when it asks for the next, or leaves the job.
    void leave() noexcept override { body_->tell(this, nullptr); }

  private:
    const std::shared_ptr<Body> body_;
};

ElasticMembership::ElasticMembership(MembershipOptions options, WorkerId id)
    : body_(std::make_shared<Body>(std::move(options), id)) {
    std::unique_lock<std::mutex> hold(body_->reactor.lock());
    ElasticMember &member = *body_->member;
    const auto let_in = [&] { return member.without_me() || member.state() == ElasticMember::State::kEnded; };
    const uint64_t limit = body_->options.join_timeout_ns;
    const bool in_time = body_->await(hold, limit, "mdist_strategy_create", let_in);
    if (in_time && member.state() != ElasticMember::State::kEnded) return;
    const Failure failure =
        in_time ? body_->why_ended()
                : Failure(MDIST_ERR_TIMEOUT, text("this worker could not join the job within ", seconds_text(limit),
                                                  "; still waiting for ", member.awaited()));
    member.leave();
    hold.unlock();
    throw Failure(failure);
}

ElasticMembership::~ElasticMembership() {
    leave();
}

bool ElasticMembership::is_newcomer() const {
    const std::lock_guard<std::mutex> hold(body_->reactor.lock());
    return body_->member->without_me().value_or(0) != 0;
}

std::optional<Generation> ElasticMembership::first(uint64_t timeout_ns) {
    return ask({}, timeout_ns, true);
}

Generation ElasticMembership::next(Holdings held, uint64_t timeout_ns) {
    return *ask(held, timeout_ns, false);
}

std::optional<Generation> ElasticMembership::ask(const Holdings &held, uint64_t timeout_ns, bool first) {
    ElasticMember &member = *body_->member;
    std::unique_lock<std::mutex> hold(body_->reactor.lock());
    for (;;) {
        member.ask(held, timeout_ns);
        body_->reactor.wake();
        const auto left_out = [&] { return first && member.passed_over(); };
        const auto settled = [&] { return member.state() != ElasticMember::State::kAsking || left_out(); };
        // The member itself ends at the deadline. This later one is in case its thread cannot run.
        constexpr uint64_t kGraceNs = 1'000'000'000;
        const auto wait = [&] {
            const uint64_t until = member.deadline_ns(), at = body_->reactor.now_ns();
            const uint64_t left = std::min(until - std::min(until, at), UINT64_MAX - kGraceNs) + kGraceNs;
            return body_->await(hold, left, first ? "mdist_strategy_create" : "mdist_regroup", settled);
        };
        bool in_time = wait();
        while (!in_time && body_->reactor.now_ns() < member.deadline_ns()) in_time = wait(); // it was put off
        if (left_out()) {
            member.withdraw();
            body_->reactor.wake();
            return std::nullopt;
        }
        switch (member.state()) {
            case ElasticMember::State::kReady:
                return member.generation();
            case ElasticMember::State::kFailed:
                continue; // a member was lost just as all were connected
            default:
                throw in_time
                    ? body_->why_ended()
                    : Failure(MDIST_ERR_TIMEOUT, text("no next generation within ", seconds_text(timeout_ns)));
        }
    }
}

std::unique_ptr<Membership> ElasticMembership::membership() {
    MembershipOptions options = body_->options;
    {
        const std::lock_guard<std::mutex> hold(body_->reactor.lock());
        options.rank = body_->member->rank();
        options.size = static_cast<uint32_t>(body_->member->generation().members.size());
        options.names.clear();
    }
    return std::make_unique<Membership>(std::move(options), std::make_unique<OfGeneration>(body_));
}

uint32_t ElasticMembership::newcomers() const {
    const std::lock_guard<std::mutex> hold(body_->reactor.lock());
    return body_->member->newcomers();
}

bool ElasticMembership::any_leaves() const {
    const std::lock_guard<std::mutex> hold(body_->reactor.lock());
    return body_->member->any_leaves();
}

void ElasticMembership::leave() noexcept {
    try {
        const std::lock_guard<std::mutex> hold(body_->reactor.lock());
        body_->member->leave();
    } catch (const std::exception &) { // no memory for a goodbye; the store sees the connection end
    }
    body_->reactor.stop();
}

} // namespace mdist
