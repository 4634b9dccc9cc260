// SPDX-License-Identifier: Apache-2.0
#include "comm/membership/lobby.h"

#include <algorithm>
#include <vector>

#include "comm/membership/payload.h"
#include "util/log.h"
#include "util/text.h"

namespace mdist {

Lobby::Lobby(World &world, std::string who, std::size_t most_body)
    : world_(world), who_(std::move(who)), most_body_(most_body) {}

void Lobby::open_for(std::string key, const SessionId &session) {
    key_ = std::move(key);
    session_ = session;
    open_ = true;
    std::vector<ConnectionId> held;
    for (const auto &[id, guest] : guests_)
        if (guest.held) held.push_back(id);
    for (const ConnectionId id : held) {
        Waiting &guest = guests_.at(id);
        const ControlFrame frame = std::move(*guest.held);
        guest.held.reset();
        greet(id, guest, frame);
    }
}

void Lobby::shut() {
    for (const auto &[id, guest] : guests_) world_.close(id);
    guests_.clear();
    open_ = false;
}

void Lobby::accepted(ConnectionId connection, const std::string &host) {
    make_room();
    guests_.emplace(connection, Waiting{host, world_.now_ns(), Channel(kMostHelloBytes), Called({}), false, {}});
}

std::size_t Lobby::wanted(ConnectionId connection) const {
    const auto found = guests_.find(connection);
    return found == guests_.end() ? 0 : found->second.channel.reader.wanted();
}

void Lobby::make_room() {
    if (guests_.size() < kMostGuests) return;
    std::map<uint32_t, uint32_t> claims;
    for (const auto &[id, guest] : guests_) {
        if (!guest.greeted) return drop(id, "others came, and it had said nothing");
        ++claims[guest.called.hello().rank];
    }
    const auto fewer = [](const auto &a, const auto &b) { return a.second < b.second; };
    const uint32_t rank = std::max_element(claims.begin(), claims.end(), fewer)->first;
    for (const auto &[id, guest] : guests_)
        if (guest.called.hello().rank == rank) return drop(id, "too many claim to be that worker");
}

void Lobby::drop(ConnectionId connection, const char *why) {
    log_debug(who_, ": dropped a connection from ", guests_.at(connection).host, ": ", why);
    guests_.erase(connection);
    world_.close(connection);
}

void Lobby::refuse(ConnectionId connection, Waiting &guest, const Failure &failure) {
    // A flood of them must not become one of warnings.
    ++refusals_;
    if ((refusals_ & (refusals_ - 1)) == 0)
        log_warn(who_, " has refused ", refusals_, refusals_ == 1 ? " connection" : " connections", ", this one from ",
                 guest.host, ": ", failure.message());
    world_.send(connection, guest.channel.pack(FrameKind::kRefused, session_, encode(failure)));
    guests_.erase(connection);
    world_.close(connection);
}

std::optional<Guest> Lobby::received(ConnectionId connection, std::string_view bytes) {
    Waiting &guest = guests_.at(connection);
    FrameReader &reader = guest.channel.reader;
    reader.feed(bytes);
    if (const auto frame = reader.next()) return heard(connection, guest, *frame);
    if (reader.fault() == FrameReader::Fault::kVersion)
        refuse(connection, guest,
               Failure(MDIST_ERR_CONFIG, text(who_, " speaks version ", kProtocolVersion,
                                              " of the protocol between workers, this worker version ",
                                              reader.version(), "; run the same libmdist on all"))
                   .reason("different_version"));
    else if (reader.fault() != FrameReader::Fault::kNone)
        drop(connection, "it does not speak this protocol");
    return std::nullopt;
}

std::optional<Guest> Lobby::heard(ConnectionId connection, Waiting &guest, const ControlFrame &frame) {
    if (!guest.greeted) {
        if (guest.held)
            drop(connection, "it went on without waiting for an answer");
        else if (open_)
            greet(connection, guest, frame);
        else
            guest.held = frame;
        return std::nullopt;
    }
    auto body = guest.called.body_of(guest.channel, frame);
    if (!body) {
        refuse(connection, guest,
               Failure(MDIST_ERR_UNAUTHENTICATED,
                       text(who_, " has another secret than worker ", guest.called.hello().rank, " at ", guest.host)));
        return std::nullopt;
    }
    Guest known{connection, guest.host, guest.called.hello(), std::move(*body), std::move(guest.channel)};
    guests_.erase(connection);
    return known;
}

void Lobby::greet(ConnectionId connection, Waiting &guest, const ControlFrame &frame) {
    Digest nonce;
    world_.random(nonce.data(), nonce.size());
    guest.called = Called(key_);
    const auto answer = guest.called.challenge(guest.channel, frame, session_, nonce);
    if (!answer && frame.kind == FrameKind::kHello && frame.session != session_)
        refuse(connection, guest,
               Failure(MDIST_ERR_FAILED_PRECONDITION, text(who_, " is in another session of the job"))
                   .reason("stale_session"));
    else if (!answer)
        drop(connection, "its first words are not a worker's");
    else if (guest.called.other_byte_order())
        refuse(connection, guest,
               Failure(MDIST_ERR_CONFIG, text(who_, " runs on a machine of the other byte order"))
                   .reason("different_byte_order"));
    else {
        guest.greeted = true;
        guest.channel.reader.set_most_payload(most_body_ + 64);
        world_.send(connection, *answer); // who has no secret learns from it that one is wanted
    }
}

void Lobby::tick() {
    const uint64_t now = world_.now_ns();
    while (!guests_.empty()) {
        const auto &[id, guest] = *guests_.begin();
        if (now < guest.since_ns + kHandshakeNs) break;
        drop(id, "it did not say who it is within 5 s");
    }
}

uint64_t Lobby::next_tick_ns() const {
    return guests_.empty() ? UINT64_MAX : guests_.begin()->second.since_ns + kHandshakeNs;
}

} // namespace mdist
