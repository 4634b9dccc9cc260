// SPDX-License-Identifier: Apache-2.0
#include "comm/links/tcp.h"

#include "comm/links/pollable.h"
#include "comm/links/tcp_stream.h"
#include "util/alertness.h"
#include "util/clock.h"
#include "util/failure.h"
#include "util/text.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <system_error>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace mdist {
namespace {

/// Wakes a thread in poll().
class Bell {
  public:
    Bell() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        if (!event_.is_open())
            throw Failure(MDIST_ERR_RESOURCE,
                          text("cannot make an event for a link: ", std::generic_category().message(errno)))
                .native(errno);
    }

    int descriptor() const { return event_.get(); }
    void ring() const noexcept {
        const uint64_t one = 1;
        while (::write(event_.get(), &one, sizeof one) < 0 && errno == EINTR) {
        }
    }
    void silence() const noexcept {
        uint64_t rung = 0;
        while (::read(event_.get(), &rung, sizeof rung) < 0 && errno == EINTR) {
        }
    }

  private:
    const OpenFile event_;
};

class Tcp final : public Link, public Pollable {
  public:
    Tcp(uint32_t self, uint32_t parties, std::unique_ptr<SocketSource> sockets, uint64_t awake_ns, bool checksums,
        std::vector<uint32_t> ranks, bool drops)
        : self_(self),
          checksums_(checksums),
          drops_(drops),
          ranks_(std::move(ranks)),
          alertness_(awake_ns),
          by_peer_(parties),
          sockets_(std::move(sockets)) {
        sockets_->when_news([this] {
            news_.store(true, std::memory_order_seq_cst);
            bell_.ring();
        });
    }
    ~Tcp() override { close(); }

    uint32_t self() const override { return self_; }
    uint32_t parties() const override { return static_cast<uint32_t>(by_peer_.size()); }
    uint32_t rank(uint32_t party) const override { return ranks_.empty() ? party : ranks_[party]; }

    void send(uint32_t peer, uint64_t tag, const void *data, std::size_t bytes, Pending &pending) override {
        const std::lock_guard lock(mutex_);
        stream_to(peer).send(tag, data, bytes, pending);
    }

    void receive(uint32_t peer, uint64_t tag, void *data, std::size_t bytes, Pending &pending) override {
        const std::lock_guard lock(mutex_);
        stream_to(peer).receive(tag, data, bytes, pending);
    }

    uint64_t moved(uint32_t peer) const override {
        const std::lock_guard lock(mutex_);
        return by_peer_[peer] ? by_peer_[peer]->moved() : 0;
    }
    uint64_t moved() const override;
    void progress() override;
    void wait(uint64_t timeout_ns) override;
    void interrupt() noexcept override { bell_.ring(); }
    void close() noexcept override;

    Pollable *pollable() override { return this; }
    bool stirs() override;
    uint64_t begin_wait(std::vector<pollfd> &descriptors) override;
    void end_wait(const pollfd *found) override;

  private:
    TcpStream &stream_to(uint32_t peer);
    void open_streams();
    bool has_to_try() const;
    bool can_try();
    bool watch();
    bool ready_within(uint64_t timeout_ns);
    void hand_over();

    const uint32_t self_;
    const bool checksums_;
    const bool drops_;
    const std::vector<uint32_t> ranks_; // in the job; empty: the same
    Alertness alertness_;
    Bell bell_;

    mutable std::mutex mutex_;                        // close() may come at any time
    std::vector<std::unique_ptr<TcpStream>> by_peer_; // none for a peer without messages so far
    std::vector<TcpStream *> streams_;                // the others
    std::vector<uint32_t> awaited_;                   // peers whose sockets have been asked for
    bool closed_ = false;
    bool looked_ = false;         // wait() has just looked at the sockets
    std::vector<pollfd> watched_; // the bell, then streams that wait; used by the link's thread only
    std::vector<TcpStream *> watching_;
    std::atomic<bool> news_{false};               // of the sockets
    const std::unique_ptr<SocketSource> sockets_; // ends first: it calls this object
};

/// The stream of that peer. The first time, it asks for a socket.
TcpStream &Tcp::stream_to(uint32_t peer) {
    std::unique_ptr<TcpStream> &stream = by_peer_[peer];
    if (stream) return *stream;
    if (closed_) throw Failure(MDIST_ERR_ABORTED, "the link is closed");
    auto fresh = std::make_unique<TcpStream>(rank(peer), checksums_, drops_);
    streams_.reserve(streams_.size() + 1);
    awaited_.reserve(awaited_.size() + 1);
    sockets_->ask(peer);
    news_.store(true, std::memory_order_seq_cst); // it may be there already
    awaited_.push_back(peer);
    streams_.push_back(fresh.get());
    stream = std::move(fresh);
    return *stream;
}

/// Gives the streams the sockets that have come.
void Tcp::open_streams() {
    if (!news_.load(std::memory_order_seq_cst)) return;
    news_.store(false, std::memory_order_seq_cst); // first: later news come again
    std::erase_if(awaited_, [this](uint32_t peer) {
        const int socket = sockets_->take(peer);
        if (socket == SocketSource::kNotYet) return false;
        if (socket == SocketSource::kGone) return by_peer_[peer]->give_up(), true;
        return by_peer_[peer]->open(OpenFile(socket)), true;
    });
}

uint64_t Tcp::moved() const {
    const std::lock_guard lock(mutex_);
    uint64_t all = 0;
    for (const TcpStream *const stream : streams_) all += stream->moved();
    return all;
}

void Tcp::progress() {
    const std::lock_guard lock(mutex_);
    if (closed_) throw Failure(MDIST_ERR_ABORTED, "the link is closed");
    open_streams();
    // Not if there is something to do anyway: looking costs as much as a small message.
    if (!looked_ && !has_to_try() && watch() && ready_within(0)) hand_over();
    looked_ = false;
    // First send what peers wait for, then receive.
    for (TcpStream *const stream : streams_) stream->write();
    for (TcpStream *const stream : streams_) stream->read();
    for (const TcpStream *const stream : streams_) stream->check();
}

void Tcp::wait(uint64_t timeout_ns) {
    if (can_try()) return;
    const uint64_t start = monotonic_clock().now_ns();
    if (!alertness_.look(timeout_ns, [this] { return ready_within(0); })) {
        const uint64_t waited = monotonic_clock().now_ns() - start;
        ready_within(timeout_ns - std::min(timeout_ns, waited));
    }
    end_wait(watched_.data());
}

/// Lists the sockets to wait for. Returns whether there is something to do without waiting.
bool Tcp::can_try() {
    const std::lock_guard lock(mutex_);
    watch();
    return closed_ || news_.load(std::memory_order_seq_cst) || has_to_try();
}

bool Tcp::has_to_try() const {
    return std::any_of(streams_.begin(), streams_.end(), [](const TcpStream *stream) { return stream->has_to_try(); });
}

bool Tcp::stirs() {
    if (can_try()) return true;
    if (watching_.empty() || !ready_within(0)) return false;
    end_wait(watched_.data()); // progress() need not look again
    return true;
}

uint64_t Tcp::begin_wait(std::vector<pollfd> &descriptors) {
    const bool now = can_try();
    descriptors.insert(descriptors.end(), watched_.begin(), watched_.end());
    return now ? 0 : UINT64_MAX;
}

void Tcp::end_wait(const pollfd *found) {
    for (pollfd &watched : watched_) watched.revents = found++->revents;
    const std::lock_guard lock(mutex_);
    if (watched_[0].revents != 0) bell_.silence();
    hand_over();
    looked_ = true;
}

/// Lists the sockets to wait for. Returns false if there are none.
bool Tcp::watch() {
    watched_.assign(1, {bell_.descriptor(), POLLIN, 0});
    watching_.clear();
    for (TcpStream *const stream : streams_) {
        const short events = stream->waits_for();
        if (events == 0) continue;
        watched_.push_back({stream->socket(), events, 0});
        watching_.push_back(stream);
    }
    return !watching_.empty();
}

bool Tcp::ready_within(uint64_t timeout_ns) {
    const timespec timeout = timespec_of(timeout_ns);
    return ppoll(watched_.data(), watched_.size(), &timeout, nullptr) > 0;
}

/// Tells the streams what poll() found for them.
void Tcp::hand_over() {
    for (std::size_t i = 0; i < watching_.size(); ++i)
        if (watched_[i + 1].revents != 0) watching_[i]->found(watched_[i + 1].revents);
}

void Tcp::close() noexcept {
    {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        for (TcpStream *const stream : streams_) stream->shut_down();
    }
    bell_.ring();
}

} // namespace

std::unique_ptr<Link> make_tcp_link(uint32_t self, uint32_t parties, std::unique_ptr<SocketSource> sockets,
                                    uint64_t awake_ns, bool checksums, const std::vector<uint32_t> &ranks, bool drops) {
    return std::make_unique<Tcp>(self, parties, std::move(sockets), awake_ns, checksums, ranks, drops);
}

} // namespace mdist
