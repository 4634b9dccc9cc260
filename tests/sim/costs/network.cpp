// SPDX-License-Identifier: Apache-2.0
#include "network.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace mdist::costs {

class Network::End final : public Link {
  public:
    End(Network &network, uint32_t self) : network_(network), self_(self) {}
    uint32_t self() const override { return self_; }
    uint32_t parties() const override { return network_.layout_.workers(); }
    void send(uint32_t peer, uint64_t tag, const void *data, std::size_t bytes, Pending &pending) override {
        network_.send(self_, peer, tag, data, bytes, pending);
    }
    void receive(uint32_t peer, uint64_t tag, void *data, std::size_t bytes, Pending &pending) override {
        ++pending.count;
        const uint64_t key = network_.key(peer, self_);
        Way &way = network_.ways_[key];
        way.receives.push_back({tag, data, bytes, &pending});
        if (!way.come.empty()) network_.workers_[self_].news.push_back(key);
    }
    void progress() override { network_.progress(self_); }
    void wait(uint64_t) override {}
    void interrupt() noexcept override {}
    void close() noexcept override {}

  private:
    Network &network_;
    const uint32_t self_;
};

Network::Network(const Machine &machine, const Wire &wire, const Layout &layout, std::size_t read)
    : machine_(machine), wire_(wire), layout_(layout), read_(read), workers_(layout.workers()), hosts_(layout.hosts) {
    for (uint32_t worker = 0; worker < layout.workers(); ++worker)
        ends_.push_back(std::make_unique<End>(*this, worker));
    for (Host &host : hosts_) host.cores.resize(layout.cores != 0 ? layout.cores : layout.per_host);
}

Network::~Network() = default;

Link &Network::link(uint32_t worker) {
    return *ends_[worker];
}

void Network::at(double time, std::function<void()> happen) {
    events_.push({time, number_++, std::move(happen)});
}

double Network::run(const std::function<bool(uint32_t worker)> &turn) {
    turn_ = turn;
    const double begin = last_ = now_;
    for (uint32_t worker = 0; worker < layout_.workers(); ++worker) {
        workers_[worker].done = false;
        plan_turn(worker, now_);
    }
    while (!events_.empty()) {
        const Event event = events_.top();
        events_.pop();
        now_ = event.at;
        event.happen();
    }
    for (const Worker &worker : workers_)
        if (!worker.done) throw std::logic_error("the workers wait for each other");
    return last_ - begin;
}

/// Something has come for the worker. If it is busy, it sees that at the end of its turn.
void Network::wake(uint32_t worker) {
    const double busy = workers_[worker].busy_until;
    plan_turn(worker, busy > now_ ? busy : now_ + machine_.wake_ns);
}

void Network::plan_turn(uint32_t worker, double time) {
    Worker &self = workers_[worker];
    if (std::exchange(self.planned, true)) return;
    at(time, [this, worker] { take_turn(worker); });
}

/// The core that worked for the worker last, if it is free; else the one that is free first.
Network::Host::Core &Network::core_for(uint32_t worker, Host &host) const {
    for (Host::Core &core : host.cores)
        if (core.worker == worker && core.free_at <= now_) return core;
    return *std::min_element(host.cores.begin(), host.cores.end(),
                             [](const auto &a, const auto &b) { return a.free_at < b.free_at; });
}

void Network::take_turn(uint32_t worker) {
    Worker &self = workers_[worker];
    self.planned = !self.done;
    if (self.done) return;
    Host &host = hosts_[layout_.shared ? 0 : host_of(worker)];
    Host::Core &core = core_for(worker, host);
    if (core.free_at > now_) return at(core.free_at, [this, worker] { take_turn(worker); });
    charged_ = machine_.turn_ns + (core.worker == worker || core.worker == UINT32_MAX ? 0 : machine_.switch_ns);
    core.worker = worker;
    self.planned = false; // what comes from here on wakes it again
    self.done = turn_(worker);
    core.free_at = self.busy_until = now();
    if (self.done) last_ = std::max(last_, now());
    charged_ = 0;
}

void Network::send(uint32_t from, uint32_t to, uint64_t tag, const void *data, std::size_t bytes, Pending &pending) {
    const auto message = std::make_shared<Message>(Message{from, to, tag, bytes, bytes, {}, nullptr});
    if (bytes <= read_)
        message->content.assign(static_cast<const char *>(data), static_cast<const char *>(data) + bytes);
    ++messages_;
    const uint32_t host = host_of(from);
    const double size = static_cast<double>(bytes);
    if (host == host_of(to)) {
        charge(machine_.near_message_ns + size * machine_.near_byte_ns);
        return at(now() + machine_.near_latency_ns, [this, message] { arrive(message); });
    }
    charge(machine_.message_ns + size * machine_.byte_ns);
    if (bytes > kPiece) {
        message->pending = &pending;
        ++pending.count;
    }
    at(now(), [this, host, message] {
        const uint64_t way = key(message->from, message->to);
        if (ways_[way].posted.empty()) hosts_[host].sending.push_back(way);
        ways_[way].posted.push_back(message);
        if (!hosts_[host].sends) send_piece(host);
    });
}

/// Sends the next piece of the next way in turn.
void Network::send_piece(uint32_t number) {
    Host &host = hosts_[number];
    host.sends = !host.sending.empty();
    if (!host.sends) return;
    const uint64_t way = host.sending.front();
    host.sending.pop_front();
    const auto message = ways_[way].posted.front();
    const std::size_t piece = std::min(message->unsent, kPiece);
    const double time = static_cast<double>(piece) * wire_.byte_ns;
    message->unsent -= piece;
    at(now_ + time, [this, number, way, message, time] {
        const bool last = message->unsent == 0;
        std::deque<std::shared_ptr<Message>> &posted = ways_[way].posted;
        if (last) posted.pop_front();
        if (!posted.empty()) hosts_[number].sending.push_back(way);
        if (last && message->pending != nullptr) {
            workers_[message->from].sent.push_back(message->pending);
            wake(message->from);
        }
        at(now_ + wire_.latency_ns, [this, message, time, last] {
            double &until = hosts_[host_of(message->to)].takes_until;
            until = std::max(now_, until + time);
            if (last) at(until, [this, message] { arrive(message); });
        });
        send_piece(number);
    });
}

void Network::arrive(const std::shared_ptr<Message> &message) {
    const uint64_t way = key(message->from, message->to);
    ways_[way].come.push_back(message);
    workers_[message->to].news.push_back(way);
    wake(message->to);
}

void Network::progress(uint32_t worker) {
    Worker &self = workers_[worker];
    for (Pending *pending : std::exchange(self.sent, {})) --pending->count;
    for (const uint64_t key : std::exchange(self.news, {}))
        take(ways_[key], host_of(static_cast<uint32_t>(key / layout_.workers())) == host_of(worker));
}

void Network::take(Way &way, bool near) {
    for (; !way.come.empty() && !way.receives.empty(); way.come.pop_front(), way.receives.pop_front()) {
        const Message &message = *way.come.front();
        const Receive &receive = way.receives.front();
        if (message.tag != receive.tag || message.bytes != receive.bytes)
            throw std::logic_error("a receive met another send");
        if (!message.content.empty()) std::memcpy(receive.data, message.content.data(), message.content.size());
        const double size = static_cast<double>(message.bytes);
        charge(near ? machine_.near_message_ns + size * machine_.near_byte_ns
                    : machine_.message_ns + size * machine_.byte_ns);
        --receive.pending->count;
    }
}

} // namespace mdist::costs
