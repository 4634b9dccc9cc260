// SPDX-License-Identifier: Apache-2.0
#include "comm/links/tcp.h"

#include "comm/links/pollable.h"
#include "comm/links/tcp_stream.h"
#include "util/alertness.h"
#include "util/clock.h"
#include "util/failure.h"
#include "util/text.h"
#include "util/thread.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <ctime>
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
        if (event_ < 0)
            throw Failure(MDIST_ERR_RESOURCE,
                          text("cannot make an event for a link: ", std::generic_category().message(errno)))
                .native(errno);
    }
    ~Bell() { ::close(event_); }
    Bell(const Bell &) = delete;
    Bell &operator=(const Bell &) = delete;

    int descriptor() const { return event_; }
    void ring() const noexcept {
        const uint64_t one = 1;
        while (::write(event_, &one, sizeof one) < 0 && errno == EINTR) {
        }
    }
    void silence() const noexcept {
        uint64_t rung = 0;
        while (::read(event_, &rung, sizeof rung) < 0 && errno == EINTR) {
        }
    }

  private:
    const int event_;
};

class Tcp final : public Link, public Pollable {
  public:
    Tcp(uint32_t self, std::vector<std::unique_ptr<TcpStream>> streams, uint64_t awake_ns, std::vector<uint32_t> ranks)
        : self_(self), streams_(std::move(streams)), alertness_(awake_ns), ranks_(std::move(ranks)) {}
    ~Tcp() override { close(); }

    uint32_t self() const override { return self_; }
    uint32_t parties() const override { return static_cast<uint32_t>(streams_.size()); }
    uint32_t rank(uint32_t party) const override { return ranks_.empty() ? party : ranks_[party]; }

    void send(uint32_t peer, uint64_t tag, const void *data, std::size_t bytes, Pending &pending) override {
        const std::lock_guard lock(mutex_);
        streams_[peer]->send(tag, data, bytes, pending);
    }

    void receive(uint32_t peer, uint64_t tag, void *data, std::size_t bytes, Pending &pending) override {
        const std::lock_guard lock(mutex_);
        streams_[peer]->receive(tag, data, bytes, pending);
    }

    uint64_t moved(uint32_t peer) const override {
        const std::lock_guard lock(mutex_);
        return streams_[peer]->moved();
    }
    void progress() override;
    void wait(uint64_t timeout_ns) override;
    void interrupt() noexcept override { bell_.ring(); }
    void close() noexcept override;

    Pollable *pollable() override { return this; }
    bool stirs() override;
    uint64_t begin_wait(std::vector<pollfd> &descriptors) override;
    void end_wait(const pollfd *found) override;

  private:
    bool has_to_try() const;
    bool can_try();
    bool watch();
    bool ready_within(uint64_t timeout_ns);
    void hand_over();

    const uint32_t self_;
    std::vector<std::unique_ptr<TcpStream>> streams_; // none for this worker
    Alertness alertness_;
    const std::vector<uint32_t> ranks_; // in the job; empty: the same
    Bell bell_;

    mutable std::mutex mutex_; // close() may come at any time
    bool closed_ = false;
    bool looked_ = false;         // wait() has just looked at the sockets
    std::vector<pollfd> watched_; // the bell, then streams that wait; used by the link's thread only
    std::vector<TcpStream *> watching_;
};

void Tcp::progress() {
    const std::lock_guard lock(mutex_);
    if (closed_) throw Failure(MDIST_ERR_ABORTED, "the link is closed");
    // Not if there is something to do anyway: looking costs as much as a small message.
    if (!looked_ && !has_to_try() && watch() && ready_within(0)) hand_over();
    looked_ = false;
    // First send what peers wait for, then receive.
    for (const auto &stream : streams_)
        if (stream) stream->write();
    for (const auto &stream : streams_)
        if (stream) stream->read();
    for (const auto &stream : streams_)
        if (stream) stream->check();
}

void Tcp::wait(uint64_t timeout_ns) {
    if (can_try()) return;
    const uint64_t start = monotonic_clock().now_ns();
    if (!alertness_.look(timeout_ns, [this] { return ready_within(0); })) {
        const uint64_t waited = monotonic_clock().now_ns() - start;
        if (alertness_.doubts()) prefer_short_turns();
        ready_within(timeout_ns - std::min(timeout_ns, waited));
    }
    end_wait(watched_.data());
}

/// Lists the sockets to wait for. Returns whether there is something to do without waiting.
bool Tcp::can_try() {
    const std::lock_guard lock(mutex_);
    watch();
    return closed_ || has_to_try();
}

bool Tcp::has_to_try() const {
    return std::any_of(streams_.begin(), streams_.end(),
                       [](const auto &stream) { return stream && stream->has_to_try(); });
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
    for (const auto &stream : streams_) {
        const short events = stream ? stream->waits_for() : short{0};
        if (events == 0) continue;
        watched_.push_back({stream->socket(), events, 0});
        watching_.push_back(stream.get());
    }
    return !watching_.empty();
}

bool Tcp::ready_within(uint64_t timeout_ns) {
    constexpr uint64_t kSecond = 1'000'000'000;
    const timespec timeout = {static_cast<time_t>(timeout_ns / kSecond), static_cast<long>(timeout_ns % kSecond)};
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
        for (const auto &stream : streams_)
            if (stream) stream->shut_down();
    }
    bell_.ring();
}

} // namespace

std::unique_ptr<Link> make_tcp_link(uint32_t self, const std::vector<int> &sockets, uint64_t awake_ns, bool checksums,
                                    const std::vector<uint32_t> &ranks, bool drops) {
    std::vector<std::unique_ptr<TcpStream>> streams;
    std::size_t rank = 0;
    const auto name_of = [&](std::size_t party) { return ranks.empty() ? static_cast<uint32_t>(party) : ranks[party]; };
    try {
        streams.resize(sockets.size());
        for (; rank < sockets.size(); ++rank)
            if (rank != self)
                streams[rank] = std::make_unique<TcpStream>(sockets[rank], name_of(rank), checksums, drops);
    } catch (...) {
        for (; rank < sockets.size(); ++rank)
            if (rank != self) ::close(sockets[rank]);
        throw;
    }
    return std::make_unique<Tcp>(self, std::move(streams), awake_ns, ranks);
}

} // namespace mdist
