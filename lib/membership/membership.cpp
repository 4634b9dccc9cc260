// SPDX-License-Identifier: Apache-2.0
// Lets callers wait for what a member in a reactor achieves.
#include "membership/membership.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <set>

#include "membership/await.h"
#include "membership/descriptor_limit.h"
#include "membership/descriptors.h"
#include "membership/fixed_thread.h"
#include "membership/neighbors.h"
#include "util/log.h"
#include "util/text.h"

namespace mdist {
namespace {

void check_options(const MembershipOptions &options) {
    if (options.size == 0 || options.rank >= options.size)
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

class Membership::Body {
  public:
    explicit Body(MembershipOptions options);
    Body(MembershipOptions options, std::unique_ptr<MemberThread> thread);
    ~Body();

    std::vector<std::string> exchange(const std::string &blob, uint64_t timeout_ns);
    void when_connected(uint32_t link, std::function<void()> call);
    void ask_for_socket(uint32_t link, uint32_t rank);
    int take_socket(uint32_t link, uint32_t rank);
    void end_link(uint32_t link) noexcept;
    void fail(const Failure &cause) noexcept;
    void leave() noexcept;
    void when_failed(std::function<void(const Failure &)> call);
    void set_entered(uint64_t sequence) noexcept;
    void announce() noexcept;
    void need(uint32_t rank) noexcept;
    void tell(const std::string &notice) noexcept;
    void when_told(std::function<void(uint32_t, const std::string &)> call);
    /// Runs `look(peers)` with the lock held.
    template <class Look>
    auto with_peers(Look &&look) const {
        const std::lock_guard<std::mutex> hold(reactor().lock());
        return look(thread_->peers());
    }
    std::optional<Failure> failure() const {
        const std::lock_guard<std::mutex> hold(reactor().lock());
        return thread_->failure();
    }

    const MembershipOptions options_;
    std::atomic<bool> failed_{false};
    std::atomic<uint32_t> links_{0};

  private:
    void hear_news() {
        tell_failure();
        hand_on_notices();
        tell_links();
    }
    void tell_links();
    void tell_failure();
    void hand_on_notices();
    void throw_failure() const;
    Reactor &reactor() const { return thread_->reactor(); }

    std::function<void(const Failure &)> when_failed_;
    std::function<void(uint32_t, const std::string &)> when_told_;
    std::mutex telling_links_; // held while one of these runs; taken before the reactor's lock
    std::map<uint32_t, std::function<void()>> when_connected_;
    bool left_ = false;                    // with the reactor's lock
    std::mutex telling_;                   // keeps notices in order; taken before the reactor's lock
    Peers *peers_ = nullptr;               // once READY; does not move
    std::unique_ptr<MemberThread> thread_; // goes first: it calls this object
};

Membership::Body::Body(MembershipOptions options, std::unique_ptr<MemberThread> thread)
    : options_(std::move(options)), thread_(std::move(thread)) {
    peers_ = with_peers([](Peers &peers) { return &peers; });
    thread_->tell([this] { hear_news(); });
}

Membership::Body::Body(MembershipOptions options) : options_(std::move(options)) {
    check_options(options_);
    const std::size_t neighbors = neighbors_of(options_.rank, options_.size).size();
    const std::size_t control = neighbors + (options_.serves_store ? options_.size : 1);
    check_descriptors(options_.size, control);
    warn_of_few_descriptors(options_.size, control);
    const Deadline deadline = deadline_after(options_.join_timeout_ns);
    auto own = std::make_unique<FixedThread>(options_);
    FixedThread &thread = *own;
    thread_ = std::move(own);
    thread_->tell([this] { hear_news(); });
    const uint64_t now = reactor().now_ns();
    thread.start(options_, now + std::min(options_.join_timeout_ns, UINT64_MAX - now));
    Member &member = thread.member();
    std::unique_lock<std::mutex> hold(reactor().lock());
    // The member itself fails at the deadline. This later one is in case its thread cannot run.
    const auto settled = [&] { return member.state() != Member::State::kForming; };
    await(hold, thread_->changed(), deadline + std::chrono::seconds(1), settled, [&]() -> WaitText {
        return {member.name(), "mdist_strategy_create", member.awaited()};
    });
    if (member.formed()) { // a failure since then is one of the job's work
        peers_ = &member.peers();
        return;
    }
    const std::optional<Failure> failure = member.failure();
    hold.unlock();
    thread_->leave();
    throw failure ? *failure : Failure(MDIST_ERR_TIMEOUT, "the group could not be formed in time");
}

Membership::Body::~Body() {
    leave();
}

void Membership::Body::leave() noexcept {
    if (!thread_) return;
    {
        const std::lock_guard<std::mutex> hold(reactor().lock());
        when_failed_ = nullptr;
        left_ = true;
    }
    thread_->leave();
}

void Membership::Body::hand_on_notices() {
    const std::lock_guard<std::mutex> in_order(telling_);
    if (!when_told_) return;
    Peers::Notices notices;
    {
        const std::lock_guard<std::mutex> hold(reactor().lock());
        if (!thread_->failed()) notices = thread_->peers().take_notices();
    }
    for (const auto &[rank, notice] : notices) when_told_(rank, notice);
}

/// Runs on the reactor's thread, or on a caller's, without the lock.
void Membership::Body::tell_failure() {
    std::function<void(const Failure &)> call;
    std::optional<Failure> failure;
    {
        const std::lock_guard<std::mutex> hold(reactor().lock());
        if (left_ || !thread_->failed()) return;
        failed_.store(true, std::memory_order_release);
        failure = thread_->failure();
        call = std::exchange(when_failed_, nullptr);
    }
    if (call) call(*failure);
}

void Membership::Body::throw_failure() const {
    if (const auto failure = thread_->failure()) throw *failure;
}

std::vector<std::string> Membership::Body::exchange(const std::string &blob, uint64_t timeout_ns) {
    if (blob.size() > kMostBlobBytes)
        throw invalid(text("a blob of ", blob.size(), " bytes is too large; the maximum is 65536"));
    const Deadline deadline = deadline_after(timeout_ns);
    std::unique_lock<std::mutex> hold(reactor().lock());
    throw_failure();
    Peers &peers = thread_->peers();
    const uint64_t number = peers.begin_exchange(blob);
    reactor().wake();
    const auto ready = [&] { return peers.failure().has_value() || peers.exchanged(number); };
    const auto wait_until = [&](Deadline end) {
        return await(hold, thread_->changed(), end, ready, [&]() -> WaitText {
            return {peers.name(options_.rank), "an exchange of all workers", peers.name(peers.awaited(number))};
        });
    };
    bool in_time = wait_until(deadline);
    // Worker 0 knows whom all wait for. If it waits, too, it is the one to say so.
    constexpr uint64_t kGraceNs = 1'000'000'000;
    if (!in_time && options_.rank != 0 && peers.chief_waits(number))
        in_time = wait_until(deadline_after(timeout_ns + std::min(kGraceNs, UINT64_MAX - timeout_ns)));
    if (peers.exchanged(number)) return peers.take_exchange(number);
    if (!in_time) {
        const uint32_t late = peers.awaited(number);
        peers.fail(Failure(MDIST_ERR_TIMEOUT, text(peers.name(late),
                                                   " did not reach an exchange of all workers "
                                                   "within ",
                                                   seconds_text(timeout_ns)))
                       .worker(late));
        reactor().wake();
    }
    throw *peers.failure();
}

void Membership::Body::when_connected(uint32_t link, std::function<void()> call) {
    const std::lock_guard<std::mutex> hold(telling_links_);
    when_connected_[link] = std::move(call);
}

void Membership::Body::ask_for_socket(uint32_t link, uint32_t rank) {
    {
        const std::lock_guard<std::mutex> hold(reactor().lock());
        if (left_) return;
        thread_->sockets().ask({link, rank});
    }
    reactor().wake();
}

int Membership::Body::take_socket(uint32_t link, uint32_t rank) {
    const std::lock_guard<std::mutex> hold(reactor().lock());
    return left_ ? DataSockets::kGone : thread_->sockets().take({link, rank});
}

void Membership::Body::end_link(uint32_t link) noexcept {
    {
        const std::lock_guard<std::mutex> hold(telling_links_);
        when_connected_.erase(link);
    }
    const std::lock_guard<std::mutex> hold(reactor().lock());
    if (!left_) thread_->sockets().forget(link);
}

/// Runs on the reactor's thread, without the lock.
void Membership::Body::tell_links() {
    const std::lock_guard<std::mutex> one_by_one(telling_links_);
    std::set<uint32_t> news;
    {
        const std::lock_guard<std::mutex> hold(reactor().lock());
        if (!left_ && peers_ != nullptr) news = thread_->sockets().take_news();
    }
    for (const uint32_t link : news)
        if (const auto call = when_connected_.find(link); call != when_connected_.end()) call->second();
}

void Membership::Body::fail(const Failure &cause) noexcept {
    try {
        {
            const std::lock_guard<std::mutex> hold(reactor().lock());
            if (left_) return; // the peers may be gone
            thread_->peers().fail(cause);
        }
        reactor().wake();
        thread_->changed().notify_all();
        tell_failure();
    } catch (const std::exception &) {
        return; // an elastic job is between two generations, and has no peers
    }
}

void Membership::Body::when_failed(std::function<void(const Failure &)> call) {
    {
        const std::lock_guard<std::mutex> hold(reactor().lock());
        when_failed_ = std::move(call);
    }
    tell_failure();
}

void Membership::Body::set_entered(uint64_t sequence) noexcept {
    // No lock is needed: from READY on the object does not move.
    if (!peers_->set_entered(sequence)) return;
    try {
        with_peers([&](Peers &locked) { locked.missed(sequence); });
        thread_->changed().notify_all();
        tell_failure();
    } catch (const std::exception &) {
        return;
    }
}

void Membership::Body::announce() noexcept {
    try {
        with_peers([](Peers &peers) { peers.announce(); });
        reactor().wake();
    } catch (const std::exception &) {
        fail(out_of_memory()); // somebody has not heard it, and has lost the connection
    }
}

void Membership::Body::need(uint32_t rank) noexcept {
    try {
        with_peers([&](Peers &peers) { peers.need(rank); });
        reactor().wake();
        thread_->changed().notify_all();
        tell_failure();
    } catch (const std::exception &) {
        return; // likewise
    }
}

void Membership::Body::tell(const std::string &notice) noexcept {
    try {
        with_peers([&](Peers &peers) { peers.tell(notice); });
        reactor().wake();
    } catch (const std::exception &) {
        fail(out_of_memory()); // likewise
    }
}

void Membership::Body::when_told(std::function<void(uint32_t, const std::string &)> call) {
    {
        const std::lock_guard<std::mutex> in_order(telling_);
        when_told_ = std::move(call);
    }
    hand_on_notices();
}

// ---- The public functions

Membership::Membership(MembershipOptions options) : body_(std::make_unique<Body>(std::move(options))) {}

Membership::Membership(MembershipOptions options, std::unique_ptr<MemberThread> thread)
    : body_(std::make_unique<Body>(std::move(options), std::move(thread))) {}

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

std::string Membership::name(uint32_t rank) const {
    return body_->with_peers([&](Peers &peers) { return peers.name(rank); });
}

std::vector<std::string> Membership::exchange(const std::string &blob, uint64_t timeout_ns) {
    return body_->exchange(blob, timeout_ns);
}

uint32_t Membership::number_link() noexcept {
    return body_->links_++;
}

void Membership::when_connected(uint32_t link, std::function<void()> call) {
    body_->when_connected(link, std::move(call));
}

void Membership::ask_for_socket(uint32_t link, uint32_t rank) {
    body_->ask_for_socket(link, rank);
}

int Membership::take_socket(uint32_t link, uint32_t rank) {
    return body_->take_socket(link, rank);
}

void Membership::end_link(uint32_t link) noexcept {
    body_->end_link(link);
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

void Membership::need(uint32_t rank) noexcept {
    body_->need(rank);
}

void Membership::tell(const std::string &notice) noexcept {
    body_->tell(notice);
}

void Membership::when_told(std::function<void(uint32_t, const std::string &)> call) {
    body_->when_told(std::move(call));
}

uint64_t Membership::entered(uint32_t rank) const {
    return body_->with_peers([&](Peers &peers) { return peers.entered(rank); });
}

} // namespace mdist
