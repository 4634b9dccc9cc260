// SPDX-License-Identifier: Apache-2.0
// Lets callers wait for what a member in a reactor achieves.
#include "membership/membership.h"

#include <algorithm>
#include <set>
#include <utility>

#include "membership/net/descriptor_limit.h"
#include "membership/protocol/neighbors.h"
#include "util/text.h"

namespace mdist {

Membership::Membership(MembershipOptions options) : rank_(options.rank), size_(options.size), ends_thread_(true) {
    const std::size_t neighbors = neighbors_of(rank_, size_).size();
    const std::size_t control = neighbors + (options.serves_store ? size_ : 1);
    check_descriptors(size_, control);
    warn_of_few_descriptors(size_, control);
    thread_ = std::make_shared<MemberThread>(options);
    {
        std::unique_lock<std::mutex> hold(thread_->lock());
        const bool in_time = thread_->wait_for_generation(hold, "mdist_strategy_create", [] { return false; });
        Member &member = thread_->member();
        if (!member.has_peers()) { // else a failure is one of the job's work
            const Failure failure = in_time ? member.failure().value_or(out_of_memory())
                                            : Failure(MDIST_ERR_TIMEOUT, "the group could not be formed in time");
            hold.unlock();
            thread_->leave();
            throw Failure(failure);
        }
    }
    begin();
}

Membership::Membership(std::shared_ptr<MemberThread> thread) : ends_thread_(false), thread_(std::move(thread)) {
    {
        const std::lock_guard<std::mutex> hold(thread_->lock());
        rank_ = thread_->member().rank();
        size_ = static_cast<uint32_t>(thread_->member().generation().members.size());
    }
    begin();
}

void Membership::begin() {
    peers_ = with_peers([](Peers &peers) { return &peers; });
    thread_->tell(this, [this] { hear_news(); });
    thread_->reactor().wake(); // something may have come before
}

void Membership::hear_news() {
    tell_failure();
    hand_on_notices();
    tell_links();
}

Membership::~Membership() {
    leave();
}

void Membership::leave() noexcept {
    {
        const std::lock_guard<std::mutex> hold(thread_->lock());
        when_failed_ = nullptr;
        left_ = true;
    }
    thread_->tell(this, nullptr);
    if (ends_thread_) thread_->leave();
}

void Membership::hand_on_notices() {
    const std::lock_guard<std::mutex> in_order(telling_);
    if (!when_told_) return;
    Peers::Notices notices;
    {
        const std::lock_guard<std::mutex> hold(thread_->lock());
        Member &member = thread_->member();
        if (!left_ && !member.failure()) notices = member.peers().take_notices();
    }
    for (const auto &[rank, notice] : notices) when_told_(rank, notice);
}

/// Runs on the reactor's thread, or on a caller's, without the lock.
void Membership::tell_failure() {
    std::function<void(const Failure &)> call;
    std::optional<Failure> failure;
    {
        const std::lock_guard<std::mutex> hold(thread_->lock());
        failure = left_ ? std::nullopt : thread_->member().failure();
        if (!failure) return;
        failed_.store(true, std::memory_order_release);
        call = std::exchange(when_failed_, nullptr);
    }
    if (call) call(*failure);
}

std::vector<std::string> Membership::exchange(const std::string &blob, uint64_t timeout_ns) {
    if (blob.size() > kMostBlobBytes)
        throw invalid(text("a blob of ", blob.size(), " bytes is too large; the maximum is 65536"));
    const Deadline deadline = deadline_after(timeout_ns);
    std::unique_lock<std::mutex> hold(thread_->lock());
    if (const auto failure = thread_->member().failure()) throw *failure;
    Peers &peers = thread_->member().peers();
    const uint64_t number = peers.begin_exchange(blob);
    thread_->reactor().wake();
    const auto ready = [&] { return peers.failure().has_value() || peers.exchanged(number); };
    const auto wait_until = [&](Deadline end) {
        return thread_->await(hold, end, ready, [&]() -> WaitText {
            return {peers.name(rank_), "an exchange of all workers", peers.name(peers.awaited(number))};
        });
    };
    bool in_time = wait_until(deadline);
    // Worker 0 knows whom all wait for. If it waits, too, it is the one to say so.
    constexpr uint64_t kGraceNs = 1'000'000'000;
    if (!in_time && rank_ != 0 && peers.chief_waits(number))
        in_time = wait_until(deadline_after(timeout_ns + std::min(kGraceNs, UINT64_MAX - timeout_ns)));
    if (peers.exchanged(number)) return peers.take_exchange(number);
    if (!in_time) {
        const uint32_t late = peers.awaited(number);
        peers.fail(Failure(MDIST_ERR_TIMEOUT, text(peers.name(late),
                                                   " did not reach an exchange of all workers "
                                                   "within ",
                                                   seconds_text(timeout_ns)))
                       .worker(late));
        thread_->reactor().wake();
    }
    throw *peers.failure();
}

void Membership::when_connected(uint32_t link, std::function<void()> call) {
    const std::lock_guard<std::mutex> hold(telling_links_);
    when_connected_[link] = std::move(call);
}

void Membership::ask_for_socket(uint32_t link, uint32_t rank) {
    {
        const std::lock_guard<std::mutex> hold(thread_->lock());
        if (left_) return;
        thread_->member().sockets().ask({link, rank});
    }
    thread_->reactor().wake();
}

int Membership::take_socket(uint32_t link, uint32_t rank) {
    const std::lock_guard<std::mutex> hold(thread_->lock());
    return left_ ? DataSockets::kGone : thread_->member().sockets().take({link, rank});
}

void Membership::end_link(uint32_t link) noexcept {
    {
        const std::lock_guard<std::mutex> hold(telling_links_);
        when_connected_.erase(link);
    }
    const std::lock_guard<std::mutex> hold(thread_->lock());
    if (!left_) thread_->member().sockets().forget(link);
}

/// Runs on the reactor's thread, without the lock.
void Membership::tell_links() {
    const std::lock_guard<std::mutex> one_by_one(telling_links_);
    std::set<uint32_t> news;
    {
        const std::lock_guard<std::mutex> hold(thread_->lock());
        if (!left_) news = thread_->member().sockets().take_news();
    }
    for (const uint32_t link : news)
        if (const auto call = when_connected_.find(link); call != when_connected_.end()) call->second();
}

void Membership::fail(const Failure &cause) noexcept {
    try {
        {
            const std::lock_guard<std::mutex> hold(thread_->lock());
            if (left_) return; // the peers may be gone
            thread_->member().peers().fail(cause);
        }
        thread_->changed();
        tell_failure();
    } catch (const std::exception &) {
        return; // an elastic job is between two generations, and has no peers
    }
}

void Membership::when_failed(std::function<void(const Failure &)> call) {
    {
        const std::lock_guard<std::mutex> hold(thread_->lock());
        when_failed_ = std::move(call);
    }
    tell_failure();
}

void Membership::set_entered(uint64_t sequence) noexcept {
    // No lock is needed: from READY on the object does not move.
    if (!peers_->set_entered(sequence)) return;
    try {
        with_peers([&](Peers &locked) { locked.missed(sequence); });
        thread_->changed();
        tell_failure();
    } catch (const std::exception &) {
        return;
    }
}

void Membership::announce() noexcept {
    try {
        with_peers([](Peers &peers) { peers.announce(); });
        thread_->reactor().wake();
    } catch (const std::exception &) {
        fail(out_of_memory()); // somebody has not heard it, and has lost the connection
    }
}

void Membership::need(uint32_t rank) noexcept {
    try {
        with_peers([&](Peers &peers) { peers.need(rank); });
        thread_->changed();
        tell_failure();
    } catch (const std::exception &) {
        return; // likewise
    }
}

void Membership::tell(const std::string &notice) noexcept {
    try {
        with_peers([&](Peers &peers) { peers.tell(notice); });
        thread_->reactor().wake();
    } catch (const std::exception &) {
        fail(out_of_memory()); // likewise
    }
}

void Membership::when_told(std::function<void(uint32_t, const std::string &)> call) {
    {
        const std::lock_guard<std::mutex> in_order(telling_);
        when_told_ = std::move(call);
    }
    hand_on_notices();
}

std::string Membership::name(uint32_t rank) const {
    return with_peers([&](Peers &peers) { return peers.name(rank); });
}

std::optional<Failure> Membership::failure() const {
    const std::lock_guard<std::mutex> hold(thread_->lock());
    return thread_->member().failure();
}

uint64_t Membership::entered(uint32_t rank) const {
    return with_peers([&](Peers &peers) { return peers.entered(rank); });
}

} // namespace mdist
