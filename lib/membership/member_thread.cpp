// SPDX-License-Identifier: Apache-2.0
#include "membership/member_thread.h"

#include <algorithm>
#include <utility>

#include "membership/net/address.h"
#include "util/text.h"

namespace mdist {
namespace {

void check_options(const MembershipOptions &options) {
    const bool is_elastic = options.elastic_id != 0; // then rank and size come later
    if (!is_elastic && options.rank >= options.size)
        throw invalid(text("rank ", options.rank, " of ", options.size, " workers"));
    if (options.job.size() > kMostJobBytes) throw invalid(text("the job's name has ", options.job.size(), " bytes"));
    if (options.agreement.size() > kMostAgreementBytes)
        throw invalid(text("the configuration to agree on has ", options.agreement.size(), " bytes"));
    if (options.run.size() > kMostRunBytes)
        throw invalid(text("what tells the run apart has ", options.run.size(), " bytes"));
    if (options.join_timeout_ns == 0 || options.heartbeat_timeout_ns == 0)
        throw invalid("the limits for joining and for silence must be more than 0");
    check_secret(options.secret);
}

} // namespace

MemberThread::MemberThread(const MembershipOptions &options) {
    check_options(options);
    const uint64_t began_ns = reactor_.now_ns();
    std::vector<Endpoint> at;
    if (options.serves_store) {
        const FixedStoreOptions job{options.size, options.restart, options.job, options.secret};
        store_ = std::make_unique<StoreService>(options.store, job, options.join_timeout_ns);
        at = {store_->endpoint()};
    } else {
        at = resolve(split_address(options.store), options.join_timeout_ns);
    }
    reactor_.set_listen_at(options.listen_at);
    member_ = std::make_unique<Member>(reactor_, options, std::move(at));
    const uint64_t passed_ns = std::min(reactor_.now_ns() - began_ns, options.join_timeout_ns);
    if (options.elastic_id == 0) member_->ask({}, options.join_timeout_ns - passed_ns);
    reactor_.start(*member_, "mdist-member");
}

void MemberThread::tell(const void *by, std::function<void()> call) {
    const std::lock_guard<std::mutex> hold(call_mutex_);
    if (!call && by != told_by_) return;
    told_by_ = by;
    call_ = std::move(call);
}

void MemberThread::after_news() {
    { const std::lock_guard<std::mutex> hold(lock()); } // a caller about to wait is waiting after this
    changed_.notify_all();
    const std::lock_guard<std::mutex> hold(call_mutex_);
    if (call_) call_();
}

bool MemberThread::wait_for_generation(std::unique_lock<std::mutex> &hold, const char *operation,
                                       FunctionRef<bool()> enough) {
    // The member itself ends at the deadline. This later one is in case its thread cannot run.
    constexpr uint64_t kGraceNs = 1'000'000'000;
    const auto settled = [&] { return member_->state() != Member::State::kAsking || enough(); };
    for (;;) {
        const uint64_t until = member_->deadline_ns(), now = reactor_.now_ns();
        const uint64_t left = std::min(until - std::min(until, now), UINT64_MAX - kGraceNs) + kGraceNs;
        const auto describe = [&]() -> WaitText { return {member_->name(), operation, member_->awaited()}; };
        if (await(hold, deadline_after(left), settled, describe)) return true;
        if (reactor_.now_ns() >= member_->deadline_ns()) return false; // else it was put off
    }
}

void MemberThread::leave() noexcept {
    try {
        const std::lock_guard<std::mutex> hold(lock());
        member_->leave();
    } catch (const std::exception &) { // no memory for a goodbye; the others see the connections end
    }
    reactor_.stop();
    store_.reset();
}

} // namespace mdist
