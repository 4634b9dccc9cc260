// SPDX-License-Identifier: Apache-2.0
#include "membership/data_sockets.h"

#include <algorithm>

#include "membership/credentials.h"
#include "membership/descriptors.h"
#include "membership/dial_waves.h"
#include "util/payload.h"

namespace mdist {
namespace {

constexpr std::size_t kMostFromDialer = 4096;

} // namespace

DataSockets::DataSockets(World &world, const MembershipOptions &options, Peers &peers)
    : world_(world), options_(options), peers_(peers), asked_(options.size, 0) {}

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
            return; // the dialer keeps the message and tries again
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
    const Place place(guest.hello.rank, guest.hello.number);
    PayloadReader body(guest.body);
    const auto shown = body.bytes<sizeof(Digest)>();
    const auto token = tokens_.find(place);
    if (token == tokens_.end() || !body.complete() || !same_digest(shown, token->second))
        return world_.close(guest.connection);
    world_.send(guest.connection, guest.channel.pack(FrameKind::kWelcome, peers_.session(), {}));
    const auto [ready, fresh] = ready_.try_emplace(place, -1);
    if (!fresh) close_descriptor(ready->second); // the peer's first attempt failed there, but not here
    ready->second = world_.release(guest.connection);
}

void DataSockets::dial(const Place &place, const Digest &token) {
    Dial dial;
    dial.to = {peers_.roster()[place.first]};
    dial.who = peers_.name(place.first);
    dial.hello = hello_of(options_, Role::kData, place.first);
    dial.hello.number = place.second;
    dial.session = peers_.session();
    dial.key = peer_key(options_, peers_.session());
    dial.most_payload = kMostFromDialer;
    dial.make_body = [token](ConnectionId) { return PayloadWriter().bytes(token).take(); };
    dialers_.emplace(place, Dialer(world_, std::move(dial)));
}

void DataSockets::look_for_offers() {
    Peers::Offers &offers = peers_.offers();
    for (auto offer = offers.begin(); offer != offers.end();) {
        const bool is_awaited = awaits_offer_.erase(offer->first) != 0;
        if (is_awaited) dial(offer->first, offer->second);
        offer = is_awaited ? offers.erase(offer) : std::next(offer);
    }
}

DataSockets::Wanted DataSockets::begin(const std::vector<uint32_t> &ranks) {
    Wanted wanted;
    for (const uint32_t rank : ranks) {
        const Place &place = wanted.emplace_back(rank, asked_[rank]++);
        if (rank < options_.rank) {
            awaits_offer_.insert(place);
            continue;
        }
        Digest &token = tokens_[place];
        world_.random(token.data(), token.size());
        peers_.offer(rank, place.second, token);
    }
    look_for_offers();
    return wanted;
}

std::optional<std::vector<int>> DataSockets::take(const Wanted &wanted) {
    std::vector<int> descriptors;
    for (const auto &key : wanted) {
        const auto found = ready_.find(key);
        if (found == ready_.end()) return std::nullopt;
        descriptors.push_back(found->second);
    }
    for (const auto &key : wanted) {
        ready_.erase(key);
        tokens_.erase(key);
    }
    return descriptors;
}

std::pair<uint32_t, std::string> DataSockets::awaited(const Wanted &wanted) const {
    for (const auto &key : wanted) {
        if (ready_.count(key) != 0) continue;
        if (awaits_offer_.count(key) != 0) return {key.first, "it has not offered one"};
        const auto dialer = dialers_.find(key);
        return {key.first, dialer == dialers_.end() ? "it has not connected to this worker" : dialer->second.problem()};
    }
    return {options_.rank, ""};
}

void DataSockets::cancel(const Wanted &wanted) {
    for (const auto &key : wanted) {
        tokens_.erase(key);
        awaits_offer_.erase(key);
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
    tick_in_waves(dialers_);
}

uint64_t DataSockets::next_tick_ns() const {
    return next_tick_in_waves(dialers_);
}

} // namespace mdist
