// SPDX-License-Identifier: Apache-2.0
// Membership's body: a Member in a Reactor, and callers that wait for what becomes of it.
#include "comm/membership/membership.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>

#include "comm/membership/address.h"
#include "comm/membership/descriptors.h"
#include "comm/membership/member.h"
#include "comm/membership/reactor.h"
#include "comm/membership/store_service.h"
#include "util/text.h"

namespace mdist {
namespace {

using Deadline = std::chrono::steady_clock::time_point;

/// Far enough, and without overflow.
Deadline deadline_after(uint64_t timeout_ns) {
    constexpr uint64_t kLongestNs = uint64_t{1} << 60;
    return std::chrono::steady_clock::now() + std::chrono::nanoseconds(std::min(timeout_ns, kLongestNs));
}

void check_options(const MembershipOptions &options) {
    if (options.size == 0 || options.rank >= options.size)
        throw invalid(text("rank ", options.rank, " of ", options.size, " workers"));
    if (options.job.size() > kMostJobBytes) throw invalid(text("the job's name has ", options.job.size(), " bytes"));
    if (options.agreement.size() > kMostAgreementBytes)
        throw invalid(text("the configuration to agree on has ", options.agreement.size(), " bytes"));
    if (options.join_timeout_ns == 0 || options.heartbeat_timeout_ns == 0)
        throw invalid("the limits for joining and for silence must be more than 0");
    check_secret(options.secret);
}

} // namespace

class Membership::Body {
  public:
    explicit Body(MembershipOptions options);
    ~Body();

    std::vector<std::string> exchange(const std::string &blob, uint64_t timeout_ns);
    std::vector<int> connect(const std::vector<uint32_t> &ranks, uint64_t timeout_ns);
    void fail(const Failure &cause) noexcept;
    void leave() noexcept;
    void when_failed(std::function<void(const Failure &)> call);
    void set_entered(uint64_t sequence) noexcept;
    void announce() noexcept;
    /// Runs `look(peers)` with the lock.
    template <class Look>
    auto with_peers(Look &&look) const {
        const std::lock_guard<std::mutex> hold(reactor_.lock());
        return look(member_->peers());
    }
    std::optional<Failure> failure() const {
        const std::lock_guard<std::mutex> hold(reactor_.lock());
        return member_->failure();
    }

    const MembershipOptions options_;
    std::atomic<bool> failed_{false};

  private:
    void changed();
    void tell_failure();
    void throw_failure() const;

    std::unique_ptr<StoreService> store_;
    mutable Reactor reactor_;
    std::unique_ptr<Member> member_;
    std::condition_variable changed_; // with the reactor's lock
    std::function<void(const Failure &)> when_failed_;
};

Membership::Body::Body(MembershipOptions options) : options_(std::move(options)), reactor_([this] { changed(); }) {
    check_options(options_);
    const uint64_t now = reactor_.now_ns();
    const uint64_t deadline_ns = now + std::min(options_.join_timeout_ns, UINT64_MAX - now);
    const Deadline deadline = deadline_after(options_.join_timeout_ns);
    std::vector<Endpoint> store;
    if (options_.serves_store) {
        const StoreOptions as{options_.size, options_.restart, options_.job, options_.secret};
        store_ = std::make_unique<StoreService>(options_.store, as, options_.join_timeout_ns);
        store = {store_->endpoint()};
    } else {
        store = resolve(split_address(options_.store), options_.join_timeout_ns);
    }
    member_ = std::make_unique<Member>(reactor_, options_, std::move(store), deadline_ns);
    reactor_.start(*member_, "mdist-member");
    std::unique_lock<std::mutex> hold(reactor_.lock());
    // The member keeps the deadline; this one is for a thread that cannot.
    const auto formed = [&] { return member_->state() != Member::State::kForming; };
    changed_.wait_until(hold, deadline + std::chrono::seconds(1), formed);
    if (member_->state() == Member::State::kReady) return;
    const std::optional<Failure> failure = member_->failure();
    member_->leave();
    hold.unlock();
    reactor_.stop();
    throw failure ? *failure : Failure(MDIST_ERR_TIMEOUT, "the group could not be formed in time");
}

Membership::Body::~Body() {
    leave();
}

void Membership::Body::leave() noexcept {
    {
        const std::lock_guard<std::mutex> hold(reactor_.lock());
        when_failed_ = nullptr;
        if (member_) member_->leave();
    }
    reactor_.stop();
    store_.reset();
}

/// On the reactor's thread, without the lock.
void Membership::Body::changed() {
    { const std::lock_guard<std::mutex> hold(reactor_.lock()); } // whoever is about to wait does so by now
    changed_.notify_all();
    tell_failure();
}

void Membership::Body::tell_failure() {
    std::function<void(const Failure &)> call;
    std::optional<Failure> failure;
    {
        const std::lock_guard<std::mutex> hold(reactor_.lock());
        if (member_->state() != Member::State::kFailed) return;
        failed_.store(true, std::memory_order_release);
        failure = member_->failure();
        call = std::exchange(when_failed_, nullptr);
    }
    if (call) call(*failure);
}

void Membership::Body::throw_failure() const {
    if (const auto failure = member_->failure()) throw *failure;
}

std::vector<std::string> Membership::Body::exchange(const std::string &blob, uint64_t timeout_ns) {
    if (blob.size() > kMostBlobBytes) throw invalid(text("a blob of ", blob.size(), " bytes; at most 65536 fit"));
    const Deadline deadline = deadline_after(timeout_ns);
    std::unique_lock<std::mutex> hold(reactor_.lock());
    throw_failure();
    Peers &peers = member_->peers();
    const uint64_t number = peers.begin_exchange(blob);
    reactor_.wake();
    const bool in_time =
        changed_.wait_until(hold, deadline, [&] { return peers.failure().has_value() || peers.exchanged(number); });
    if (peers.exchanged(number)) return peers.take_exchange(number);
    if (!in_time) {
        const uint32_t late = peers.awaited(number);
        peers.fail(Failure(MDIST_ERR_TIMEOUT, text(peers.name(late),
                                                   " did not come to an exchange of all workers "
                                                   "within ",
                                                   seconds_text(timeout_ns)))
                       .worker(static_cast<int32_t>(late)));
        reactor_.wake();
    }
    throw *peers.failure();
}

std::vector<int> Membership::Body::connect(const std::vector<uint32_t> &ranks, uint64_t timeout_ns) {
    for (const uint32_t rank : ranks)
        if (rank >= options_.size || rank == options_.rank) throw invalid(text("there is no other worker ", rank));
    const Deadline deadline = deadline_after(timeout_ns);
    std::unique_lock<std::mutex> hold(reactor_.lock());
    member_->peers().missed();
    throw_failure();
    DataSockets &sockets = member_->sockets();
    const DataSockets::Wanted wanted = sockets.begin(ranks);
    reactor_.wake();
    std::optional<std::vector<int>> descriptors;
    const bool in_time = changed_.wait_until(hold, deadline, [&] {
        if (!descriptors) descriptors = sockets.take(wanted);
        return descriptors.has_value() || member_->failure().has_value();
    });
    if (descriptors) return std::move(*descriptors);
    const auto [late, why] = sockets.awaited(wanted);
    sockets.cancel(wanted);
    if (!in_time) {
        Peers &peers = member_->peers();
        peers.fail(Failure(MDIST_ERR_TIMEOUT, text("no data connection with ", peers.name(late), " within ",
                                                   seconds_text(timeout_ns), why.empty() ? "" : ": ", why))
                       .worker(static_cast<int32_t>(late)));
        reactor_.wake();
    }
    throw *member_->failure();
}

void Membership::Body::fail(const Failure &cause) noexcept {
    try {
        with_peers([&](Peers &peers) { peers.fail(cause); });
        reactor_.wake();
        changed_.notify_all();
        tell_failure();
    } catch (const std::exception &) {
        return; // no memory to say it with: others will miss this worker
    }
}

void Membership::Body::when_failed(std::function<void(const Failure &)> call) {
    {
        const std::lock_guard<std::mutex> hold(reactor_.lock());
        when_failed_ = std::move(call);
    }
    tell_failure();
}

void Membership::Body::set_entered(uint64_t sequence) noexcept {
    // The object stays where it is from READY on.
    Peers &peers = member_->peers();
    if (!peers.set_entered(sequence)) return;
    try {
        with_peers([&](Peers &locked) { locked.missed(sequence); });
        changed_.notify_all();
        tell_failure();
    } catch (const std::exception &) {
        return;
    }
}

void Membership::Body::announce() noexcept {
    try {
        with_peers([](Peers &peers) { peers.announce(); });
        reactor_.wake();
    } catch (const std::exception &) {
        fail(Failure(MDIST_ERR_OUT_OF_MEMORY, "out of memory")); // a seal may have counted what was never sent
    }
}

// ---- The outside

Membership::Membership(MembershipOptions options) : body_(std::make_unique<Body>(std::move(options))) {}

Membership::~Membership() = default;

void Membership::leave() noexcept {
    body_->leave();
}

uint32_t Membership::rank() const {
    return body_->options_.rank;
}

uint32_t Membership::size() const {
    return body_->options_.size;
}

const SessionId &Membership::session() const {
    return *body_->with_peers([](Peers &peers) { return &peers.session(); });
}

std::string Membership::name(uint32_t rank) const {
    return body_->with_peers([&](Peers &peers) { return peers.name(rank); });
}

std::string Membership::host(uint32_t rank) const {
    return body_->with_peers([&](Peers &peers) { return peers.roster().at(rank).host; });
}

std::vector<std::string> Membership::exchange(const std::string &blob, uint64_t timeout_ns) {
    return body_->exchange(blob, timeout_ns);
}

std::vector<int> Membership::connect(const std::vector<uint32_t> &ranks, uint64_t timeout_ns) {
    return body_->connect(ranks, timeout_ns);
}

bool Membership::failed() const {
    return body_->failed_.load(std::memory_order_acquire);
}

std::optional<Failure> Membership::failure() const {
    return body_->failure();
}

void Membership::fail(const Failure &cause) noexcept {
    body_->fail(cause);
}

void Membership::when_failed(std::function<void(const Failure &)> call) {
    body_->when_failed(std::move(call));
}

void Membership::set_entered(uint64_t sequence) noexcept {
    body_->set_entered(sequence);
}

void Membership::announce() noexcept {
    body_->announce();
}

uint64_t Membership::entered(uint32_t rank) const {
    return body_->with_peers([&](Peers &peers) { return peers.entered(rank); });
}

} // namespace mdist
