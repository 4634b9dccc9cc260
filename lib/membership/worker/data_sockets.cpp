// SPDX-License-Identifier: Apache-2.0
#include "membership/worker/data_sockets.h"

#include <algorithm>

#include "membership/net/descriptors.h"
#include "membership/protocol/credentials.h"
#include "membership/protocol/dial_waves.h"
#include "util/payload.h"
#include "util/text.h"

namespace mdist {
namespace {

constexpr std::size_t kMostFromDialer = 4096;
/// How many connections that nobody has asked for may wait. Workers of a session are trusted; this finds mistakes.
constexpr std::size_t kMostReady = 65536;
/// How long the lower rank waits for the higher one to connect.
constexpr uint64_t kPatienceNs = 20'000'000;

uint64_t after(uint64_t now, uint64_t ns) {
    return now + std::min(ns, UINT64_MAX - now);
}

} // namespace

DataSockets::DataSockets(World &world, const MembershipOptions &options, Peers &peers)
    : world_(world), options_(options), peers_(peers) {}

DataSockets::~DataSockets() {
    give_up();
}

void DataSockets::give_up() {
    for (const auto &[place, descriptor] : ready_) close_descriptor(descriptor);
    for (auto &[place, dialer] : dialers_) dialer.give_up();
    for (const Guest &guest : early_) world_.close(guest.connection);
    ready_.clear();
    dialers_.clear();
    early_.clear();
    asked_.clear();
}

bool DataSockets::is_early(ConnectionId connection) const {
    return std::any_of(early_.begin(), early_.end(),
                       [connection](const Guest &guest) { return guest.connection == connection; });
}

bool DataSockets::has(ConnectionId connection) const {
    return dialer_of(dialers_, connection) != dialers_.end() || is_early(connection);
}

std::size_t DataSockets::wanted(ConnectionId connection) const {
    if (const auto dialer = dialer_of(dialers_, connection); dialer != dialers_.end())
        return dialer->second.channel().reader.wanted();
    return is_early(connection) ? 1 : 0; // it has nothing to say before it is let in
}

void DataSockets::connected(ConnectionId connection) {
    if (const auto dialer = dialer_of(dialers_, connection); dialer != dialers_.end()) dialer->second.connected();
}

void DataSockets::received(ConnectionId connection, std::string_view bytes) {
    if (is_early(connection)) {
        world_.close(connection);
        return closed(connection, 0);
    }
    const auto dialer = dialer_of(dialers_, connection);
    if (dialer == dialers_.end()) return;
    try {
        const auto frame = dialer->second.received(bytes);
        if (!frame) return;
        if (frame->kind != FrameKind::kWelcome) return dialer->second.retry("it refused the connection");
    } catch (const Failure &) {
        return; // the dialer keeps the message and tries again
    }
    const Place made = dialer->first;
    made_.insert(made);
    dialers_.erase(dialer);
    keep(made, connection);
}

void DataSockets::closed(ConnectionId connection, int error) {
    if (const auto dialer = dialer_of(dialers_, connection); dialer != dialers_.end()) dialer->second.closed(error);
    std::erase_if(early_, [connection](const Guest &guest) { return guest.connection == connection; });
}

void DataSockets::arrived(Guest guest) {
    if (peers_.key()) return let_in(std::move(guest));
    if (early_.size() >= options_.size) return world_.close(guest.connection);
    early_.push_back(std::move(guest));
}

void DataSockets::let_in(Guest guest) {
    PayloadReader body(guest.body);
    const auto shown = body.bytes<sizeof(Digest)>();
    if (!body.complete() || !same_digest(shown, *peers_.key())) return world_.close(guest.connection);
    const Place place(guest.hello.number, guest.hello.rank);
    const auto own = dialers_.find(place);
    const bool own_counts =
        made_.count(place) != 0 || (place.second < options_.rank && own != dialers_.end() && own->second.may_be_in());
    if (own_counts || ready_.size() >= kMostReady) return world_.close(guest.connection);
    drop_dialer(place);
    world_.send(guest.connection, guest.channel.pack(FrameKind::kWelcome, peers_.session(), {}));
    keep(place, guest.connection);
}

/// Keeps a new connection until somebody takes it.
void DataSockets::keep(const Place &place, ConnectionId connection) {
    news_.insert(place.first); // what may throw comes first
    const auto [ready, fresh] = ready_.try_emplace(place, -1);
    close_descriptor(
        std::exchange(ready->second, world_.release(connection))); // a first attempt failed there, not here
    if (ready->second < 0) ready_.erase(ready);                    // it has ended already
}

void DataSockets::drop_dialer(const Place &place) {
    const auto dialer = dialers_.find(place);
    if (dialer == dialers_.end()) return;
    dialer->second.give_up();
    dialers_.erase(dialer);
}

void DataSockets::dial(const Place &place) {
    const auto &[link, rank] = place;
    Dial dial;
    dial.to = {peers_.roster().find(rank).value()};
    dial.who = peers_.name(rank);
    dial.hello = hello_of(options_, Role::kData, rank);
    dial.hello.number = link;
    dial.session = peers_.session();
    dial.key = peer_key(options_, peers_.session());
    dial.most_payload = kMostFromDialer;
    dial.make_body = [this](ConnectionId) { return PayloadWriter().bytes(*peers_.key()).take(); };
    dialers_.emplace(place, Dialer(world_, std::move(dial)));
}

void DataSockets::ask(const Place &place) {
    const uint64_t now = world_.now_ns();
    asked_.try_emplace(place, Asked{now, place.second < options_.rank ? now : after(now, kPatienceNs)});
}

int DataSockets::take(const Place &place) {
    const auto asked = asked_.find(place);
    if (const auto ready = ready_.find(place); ready != ready_.end()) {
        if (asked != asked_.end()) asked_.erase(asked);
        const int descriptor = ready->second;
        ready_.erase(ready);
        return descriptor;
    }
    return asked != asked_.end() && asked->second.gone ? kGone : kNotYet;
}

void DataSockets::forget(uint32_t link) {
    const auto is_of_link = [link](const auto &each) { return each.first.first == link; };
    std::erase_if(made_, [link](const Place &place) { return place.first == link; });
    std::erase_if(asked_, is_of_link);
    for (auto &[place, dialer] : dialers_)
        if (place.first == link) dialer.give_up();
    std::erase_if(dialers_, is_of_link);
    for (const auto &[place, descriptor] : ready_)
        if (place.first == link) close_descriptor(descriptor);
    std::erase_if(ready_, is_of_link);
}

/// Whether that worker has left. It may have let this one in before that.
bool DataSockets::has_no_chance(const Place &place) const {
    const auto dialer = dialers_.find(place);
    return peers_.left(place.second) && (dialer == dialers_.end() || !dialer->second.may_be_in());
}

void DataSockets::look_after(const Place &place, Asked &asked, uint64_t now) {
    if (asked.gone || ready_.count(place) != 0) return;
    const uint32_t rank = place.second;
    const auto dialer = dialers_.find(place);
    if (has_no_chance(place)) {
        drop_dialer(place);
        asked.gone = true;
        news_.insert(place.first);
    } else if (now >= after(asked.since_ns, options_.join_timeout_ns)) {
        const std::string why = dialer != dialers_.end()      ? dialer->second.problem()
                                : peers_.roster().knows(rank) ? "it has not connected to this worker"
                                                              : "worker 0 has not told where it listens";
        peers_.fail(
            Failure(MDIST_ERR_TIMEOUT, text("no data connection with ", peers_.name(rank), " within ",
                                            seconds_text(options_.join_timeout_ns), why.empty() ? "" : ": ", why))
                .worker(rank));
    } else if (now >= asked.dials_ns && dialer == dialers_.end() && can_dial(rank)) {
        dial(place);
    }
}

void DataSockets::tick() {
    const uint64_t now = world_.now_ns();
    if (peers_.key())
        for (Guest &guest : std::exchange(early_, {})) let_in(std::move(guest));
    for (auto &[place, asked] : asked_)
        if (!peers_.failure()) look_after(place, asked, now);
    tick_in_waves(dialers_);
}

uint64_t DataSockets::next_tick_ns() const {
    uint64_t next = next_tick_in_waves(dialers_);
    if (peers_.failure()) return next;
    if (!early_.empty() && peers_.key()) return world_.now_ns();
    for (const auto &[place, asked] : asked_) {
        if (asked.gone || ready_.count(place) != 0) continue;
        if (has_no_chance(place)) return world_.now_ns();
        next = std::min(next, after(asked.since_ns, options_.join_timeout_ns));
        if (dialers_.count(place) == 0 && can_dial(place.second)) next = std::min(next, asked.dials_ns);
    }
    return next;
}

} // namespace mdist
