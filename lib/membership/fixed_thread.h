// SPDX-License-Identifier: Apache-2.0
// The thread of a worker in a job of fixed size.
#pragma once

#include "membership/address.h"
#include "membership/member.h"
#include "membership/member_thread.h"
#include "membership/options.h"
#include "membership/reactor.h"
#include "membership/store_service.h"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace mdist {

/// Runs a Member, and the store if this worker serves it.
class FixedThread final : public MemberThread {
  public:
    explicit FixedThread(const MembershipOptions &options) {
        if (!options.serves_store) return;
        const StoreOptions as{options.size, options.restart, options.job, options.secret};
        store_ = std::make_unique<StoreService>(options.store, as, options.join_timeout_ns);
    }

    /// Begins to form the group. Call it after tell(). `options` must outlive this object.
    void start(const MembershipOptions &options, uint64_t deadline_ns) {
        std::vector<Endpoint> at;
        if (store_)
            at = {store_->endpoint()};
        else
            at = resolve(split_address(options.store), options.join_timeout_ns);
        reactor_.set_listen_at(options.listen_at);
        member_ = std::make_unique<Member>(reactor_, options, std::move(at), deadline_ns);
        reactor_.start(*member_, "mdist-member");
    }

    Reactor &reactor() override { return reactor_; }
    std::condition_variable &changed() override { return changed_; }
    void tell(std::function<void()> call) override { call_ = std::move(call); }
    Peers &peers() override { return member_->peers(); }
    DataSockets &sockets() override { return member_->sockets(); }
    std::optional<Failure> failure() const override { return member_->failure(); }
    bool failed() const override { return member_->state() == Member::State::kFailed; }
    void leave() noexcept override {
        try {
            const std::lock_guard<std::mutex> hold(reactor_.lock());
            if (member_) member_->leave();
        } catch (const std::exception &) { // no memory for a goodbye; the others see the connections end
        }
        reactor_.stop();
        store_.reset();
    }
    Member &member() { return *member_; }

  private:
    void after_news() {
        { const std::lock_guard<std::mutex> hold(reactor_.lock()); } // a caller about to wait is waiting after this
        changed_.notify_all();
        call_();
    }

    std::unique_ptr<StoreService> store_;
    std::function<void()> call_; // set before the thread starts
    Reactor reactor_{[this] { after_news(); }};
    std::unique_ptr<Member> member_;
    std::condition_variable changed_;
    struct StopFirst {
        Reactor &reactor;
        ~StopFirst() { reactor.stop(); }
    } stop_first_{reactor_}; // the thread ends before the members it uses
};

} // namespace mdist
