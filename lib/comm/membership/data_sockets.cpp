// SPDX-License-Identifier: Apache-2.0
#include "comm/membership/data_sockets.h"

#include <algorithm>

#include "comm/membership/descriptors.h"
#include "comm/membership/forming.h"

namespace mdist {
namespace {

/// Connections that a worker may have made before this one asked for them.
constexpr uint32_t kMostAhead = 4;
constexpr std::size_t kMostFromPeer = 4096;

} // namespace

DataSockets::DataSockets(World &world, const MembershipOptions &options, const SessionId &session,
                         const std::vector<Endpoint> &roster)
    : world_(world), options_(options), session_(session), roster_(roster), asked_(options.size, 0) {}

DataSockets::~DataSockets() {
    for (const auto &[key, descriptor] : ready_) close_descriptor(descriptor);
}

const Dialer *DataSockets::dialer_of(ConnectionId connection) const {
    for (const auto &[key, dialer] : dialers_)
        if (dialer.connection() == connection) return &dialer;
    return nullptr;
}

std::size_t DataSockets::wanted(ConnectionId connection) const {
    const Dialer *dialer = dialer_of(connection);
    return dialer == nullptr ? 0 : dialer->channel().reader.wanted();
}

void DataSockets::connected(ConnectionId connection) {
    for (auto &[key, dialer] : dialers_)
        if (dialer.connection() == connection) return dialer.connected();
}

void DataSockets::received(ConnectionId connection, std::string_view bytes) {
    for (auto &[key, dialer] : dialers_) {
        if (dialer.connection() != connection) continue;
        try {
            const auto frame = dialer.received(bytes);
            if (!frame) return;
            if (frame->kind != FrameKind::kWelcome) return dialer.retry("it refused the connection");
        } catch (const Failure &) {
            return; // the dialer keeps the words and tries again
        }
        ready_[key] = world_.release(connection);
        dialers_.erase(key);
        return;
    }
}

void DataSockets::closed(ConnectionId connection, int error) {
    for (auto &[key, dialer] : dialers_)
        if (dialer.connection() == connection) return dialer.closed(error);
}

void DataSockets::arrived(Guest guest) {
    const uint32_t rank = guest.hello.rank, number = guest.hello.number;
    const bool expected = rank > options_.rank && rank < options_.size && number < asked_[rank] + kMostAhead;
    if (!expected) return world_.close(guest.connection);
    world_.send(guest.connection, guest.channel.pack(FrameKind::kWelcome, session_, {}));
    const auto [place, fresh] = ready_.try_emplace({rank, number}, -1);
    if (!fresh) close_descriptor(place->second); // it saw the first attempt fail where this side did not
    place->second = world_.release(guest.connection);
}

void DataSockets::dial(uint32_t rank, uint32_t number) {
    Dial dial;
    dial.to = {roster_[rank]};
    dial.who = worker_name(options_, roster_, rank);
    dial.hello = hello_of(options_, Role::kData);
    dial.hello.number = number;
    dial.session = session_;
    dial.key = peer_key(options_, session_);
    dial.most_payload = kMostFromPeer;
    dialers_.emplace(std::pair(rank, number), Dialer(world_, std::move(dial)));
}

DataSockets::Wanted DataSockets::begin(const std::vector<uint32_t> &ranks) {
    Wanted wanted;
    for (const uint32_t rank : ranks) {
        wanted.emplace_back(rank, asked_[rank]++);
        if (rank < options_.rank) dial(rank, wanted.back().second);
    }
    return wanted;
}

std::optional<std::vector<int>> DataSockets::take(const Wanted &wanted) {
    std::vector<int> descriptors;
    for (const auto &key : wanted) {
        const auto found = ready_.find(key);
        if (found == ready_.end()) return std::nullopt;
        descriptors.push_back(found->second);
    }
    for (const auto &key : wanted) ready_.erase(key);
    return descriptors;
}

std::pair<uint32_t, std::string> DataSockets::awaited(const Wanted &wanted) const {
    for (const auto &key : wanted) {
        if (ready_.count(key) != 0) continue;
        const auto dialer = dialers_.find(key);
        return {key.first, dialer == dialers_.end() ? "it has not called this worker" : dialer->second.problem()};
    }
    return {options_.rank, ""};
}

void DataSockets::cancel(const Wanted &wanted) {
    for (const auto &key : wanted) {
        if (const auto dialer = dialers_.find(key); dialer != dialers_.end()) {
            dialer->second.give_up();
            dialers_.erase(dialer);
        }
        if (const auto found = ready_.find(key); found != ready_.end()) {
            close_descriptor(found->second);
            ready_.erase(found);
        }
    }
}

void DataSockets::tick() {
    for (auto &[key, dialer] : dialers_) dialer.tick();
}

uint64_t DataSockets::next_tick_ns() const {
    uint64_t next = UINT64_MAX;
    for (const auto &[key, dialer] : dialers_) next = std::min(next, dialer.next_tick_ns());
    return next;
}

} // namespace mdist
