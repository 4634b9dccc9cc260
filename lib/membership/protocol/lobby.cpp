// SPDX-License-Identifier: Apache-2.0
#include "membership/protocol/lobby.h"

#include <algorithm>
#include <vector>

#include "util/log.h"
#include "util/payload.h"
#include "util/text.h"

namespace mdist {
namespace {

constexpr const char *kNoWorkersWords = "its first bytes are not those of a worker";

} // namespace

Lobby::Lobby(World &world, std::string who, uint32_t rank, std::size_t most_body)
    : world_(world), who_(std::move(who)), rank_(rank), most_body_(most_body) {}

void Lobby::answer_as(std::string who, uint32_t rank) {
    who_ = std::move(who);
    rank_ = rank;
}

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
    if (guests_.size() < kMostGuests + workers_) return;
    std::map<uint64_t, std::size_t> kinds;
    for (const auto &[id, guest] : guests_) ++kinds[kind_of(guest)];
    const auto fewer = [](const auto &a, const auto &b) { return a.second < b.second; };
    const uint64_t most = std::max_element(kinds.begin(), kinds.end(), fewer)->first;
    for (const auto &[id, guest] : guests_)
        if (kind_of(guest) == most)
            return drop(id, guest.silent() ? "it had sent nothing, and other connections needed its place"
                                           : "too many connections claim to be that worker");
}

/// Returns the guest's group for make_room(): the rank it claims. All ranks that no worker has are one group. All
/// silent guests are another.
uint64_t Lobby::kind_of(const Waiting &guest) const {
    if (guest.silent()) return UINT64_MAX;
    return std::min<uint64_t>(guest.called.hello().rank, workers_);
}

void Lobby::drop(ConnectionId connection, const char *why) {
    log_.write(world_.now_ns(), MDIST_LOG_DEBUG, why,
               text(who_, ": dropped a connection from ", guests_.at(connection).host, ": ", why));
    guests_.erase(connection);
    world_.close(connection);
}

void Lobby::refuse(ConnectionId connection, Waiting &guest, const Failure &failure) {
    const std::string cause = failure.reason().empty() ? mdist_status_name(failure.status()) : failure.reason();
    note_refusal(cause, text(who_, " refused a connection from ", guest.host, ": ", failure.message()));
    // A refusal never tells the session: without a secret, a stranger that knows it could pass for a worker.
    std::string words = guest.channel.pack(FrameKind::kRefused, SessionId{}, encode(failure));
    // The other side reads only its own version of the protocol. A refusal looks the same in all versions.
    if (guest.channel.reader.version() != 0) words[kVersionAt] = static_cast<char>(guest.channel.reader.version());
    world_.send(connection, words);
    guests_.erase(connection);
    world_.close(connection);
}

void Lobby::note_refusal(const std::string &cause, const std::string &sentence) {
    log_.write(world_.now_ns(), MDIST_LOG_WARN, cause, sentence);
}

std::optional<Guest> Lobby::received(ConnectionId connection, std::string_view bytes) {
    Waiting &guest = guests_.at(connection);
    FrameReader &reader = guest.channel.reader;
    reader.feed(bytes);
    if (const auto frame = reader.next()) return heard(connection, guest, *frame);
    if (reader.fault() == FrameReader::Fault::kVersion)
        refuse(connection, guest,
               Failure(MDIST_ERR_CONFIG, text(who_, " speaks version ", kProtocolVersion,
                                              " of the protocol between workers, but this worker speaks version ",
                                              reader.version(), "; run the same libmdist on all workers"))
                   .reason("different_version"));
    else if (reader.fault() != FrameReader::Fault::kNone)
        drop(connection, "it does not speak this protocol");
    return std::nullopt;
}

std::optional<Guest> Lobby::heard(ConnectionId connection, Waiting &guest, const ControlFrame &frame) {
    if (!guest.greeted) {
        if (guest.held)
            drop(connection, "it sent data before the handshake was complete");
        else if (open_)
            greet(connection, guest, frame);
        else if (!guest.called.challenge(guest.channel, frame, frame.session, {})) // to learn which rank it claims
            drop(connection, kNoWorkersWords);
        else
            guest.held = frame;
        return std::nullopt;
    }
    auto proven = guest.called.prove(guest.channel, frame);
    if (!proven) {
        const Failure failure(MDIST_ERR_UNAUTHENTICATED, text(who_, " has a different secret from that of worker ",
                                                              guest.called.hello().rank, " at ", guest.host));
        if (when_refused_) when_refused_(guest.called.hello().rank, failure.message());
        refuse(connection, guest, failure);
        return std::nullopt;
    }
    world_.send(connection, proven->answer);
    Guest known{connection, guest.host, guest.called.hello(), std::move(proven->body), std::move(guest.channel)};
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
    else if (!answer || guest.called.hello().called != rank_)
        drop(connection, kNoWorkersWords);
    else if (guest.called.other_byte_order())
        refuse(connection, guest,
               Failure(MDIST_ERR_CONFIG, text(who_, " runs on a machine with the other byte order"))
                   .reason("different_byte_order"));
    else {
        guest.greeted = true;
        guest.channel.reader.set_most_payload(most_body_ + 64);
        world_.send(connection, *answer); // tells a caller without a secret that one is needed
        if (guest.called.hello().with_secret == key_.empty()) note_lack_of_secret(guest);
    }
}

/// The caller learns it from the answer, and does not go on.
void Lobby::note_lack_of_secret(const Waiting &guest) {
    const uint32_t rank = guest.called.hello().rank;
    const bool none_here = key_.empty();
    const std::string why =
        text("worker ", rank, " at ", guest.host, none_here ? " has a secret, but " : " has no secret, but ", who_,
             none_here ? " has none; set secret_file on all workers or on none"
                       : " has one; set secret_file there as on the other workers");
    note_refusal("no secret", text(who_, " cannot take a connection: ", why));
    if (when_refused_) when_refused_(rank, why);
}

void Lobby::tick() {
    const uint64_t now = world_.now_ns();
    log_.tick(now);
    while (!guests_.empty()) {
        const auto &[id, guest] = *guests_.begin();
        if (now < guest.since_ns + kHandshakeNs) break;
        drop(id, "it did not say who it is within 5 s");
    }
}

uint64_t Lobby::next_tick_ns() const {
    const uint64_t next = log_.next_tick_ns();
    return guests_.empty() ? next : std::min(next, guests_.begin()->second.since_ns + kHandshakeNs);
}

} // namespace mdist
