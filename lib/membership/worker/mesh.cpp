// SPDX-License-Identifier: Apache-2.0
#include "membership/worker/mesh.h"

#include <algorithm>

#include "membership/protocol/credentials.h"
#include "membership/protocol/dial_waves.h"
#include "membership/protocol/neighbors.h"
#include "util/text.h"

namespace mdist {
namespace {

/// How many frames of each worker a peer may pass on that got GO before this worker did. Until they hear from this
/// worker, they can say little but heartbeats, which are not passed on, and of which only the last is kept.
constexpr std::size_t kMostEarly = 16;
constexpr uint64_t kOutages = 4; // TCP may take this many heartbeat timeouts to come back after an outage

/// The longest frame is a table of all workers' blobs.
std::size_t most_from_peer(uint32_t size) {
    return (kMostBlobBytes + 64) * std::size_t{size};
}

} // namespace

Mesh::Mesh(World &world, const MembershipOptions &options, Formed session)
    : world_(world),
      options_(options),
      neighbors_(neighbors_of(options.rank, options.size)),
      key_(peer_key(options, session.session)),
      formed_(std::move(session)) {
    for (const uint32_t rank : neighbors_)
        if (rank < options_.rank) dial(rank);
}

void Mesh::dial(uint32_t rank) {
    Dial dial;
    dial.to = {formed_.roster.find(rank).value()};
    dial.who = worker_name(options_, formed_.roster, rank);
    dial.hello = hello_of(options_, Role::kControl, rank);
    dial.session = formed_.session;
    dial.key = key_;
    dial.most_payload = most_from_peer(options_.size);
    dialers_.emplace(rank, Dialer(world_, std::move(dial)));
}

std::optional<uint32_t> Mesh::peer_of(ConnectionId connection) const {
    for (const auto &[rank, peer] : formed_.peers)
        if (peer.connection == connection) return rank;
    return std::nullopt;
}

bool Mesh::has(ConnectionId connection) const {
    return connection != 0 && (dialer_of(dialers_, connection) != dialers_.end() || peer_of(connection).has_value());
}

std::size_t Mesh::wanted(ConnectionId connection) const {
    if (const auto dialer = dialer_of(dialers_, connection); dialer != dialers_.end())
        return dialer->second.channel().reader.wanted();
    const auto rank = peer_of(connection);
    return rank ? formed_.peers.at(*rank).channel->reader.wanted() : 0;
}

void Mesh::connected(ConnectionId connection) {
    if (const auto dialer = dialer_of(dialers_, connection); dialer != dialers_.end()) dialer->second.connected();
}

void Mesh::received(ConnectionId connection, std::string_view bytes) {
    if (const auto rank = peer_of(connection)) return receive_peer(*rank, bytes);
    const auto dialer = dialer_of(dialers_, connection);
    if (dialer == dialers_.end()) return;
    try {
        if (const auto frame = dialer->second.received(bytes)) heard_dialed(dialer->first, *frame);
    } catch (const Failure &) {
        // Another process may listen there now. The dialer keeps the message and tries again.
    }
}

void Mesh::heard_dialed(uint32_t rank, const ControlFrame &frame) {
    Dialer &dialer = dialers_.at(rank);
    if (frame.kind != FrameKind::kWelcome || frame.session != formed_.session) {
        const auto failure = frame.kind == FrameKind::kRefused ? decode_failure(frame.payload) : std::nullopt;
        return dialer.retry(failure ? failure->message() : "it does not know this session");
    }
    const ConnectionId connection = dialer.connection();
    Channel channel = std::move(dialer.channel());
    dialers_.erase(rank);
    accept(rank, connection, std::move(channel));
}

void Mesh::arrived(Guest guest) {
    const uint32_t rank = guest.hello.rank;
    if (!std::binary_search(neighbors_.begin(), neighbors_.end(), rank)) return world_.close(guest.connection);
    if (const auto old = formed_.peers.find(rank); old != formed_.peers.end())
        world_.close(old->second.connection); // it ended there, not here
    guest.channel.reader.set_most_payload(most_from_peer(options_.size));
    world_.send(guest.connection, guest.channel.pack(FrameKind::kWelcome, formed_.session, {}));
    accept(rank, guest.connection, std::move(guest.channel));
}

void Mesh::accept(uint32_t rank, ConnectionId connection, Channel channel) {
    formed_.peers[rank] = Peer{connection, std::move(channel)};
    // Limits how long the kernel tries to send. After an outage that the job survives, TCP may send again only after as
    // long again as the outage lasted, so the limit is generous. Heartbeats notice a silent worker sooner. This limit
    // is for a single connection that does not come back.
    world_.watch(connection, kOutages * std::min(options_.heartbeat_timeout_ns, UINT64_MAX / kOutages));
}

/// Keeps what a peer says before this worker is told GO, but of its heartbeats only the last.
void Mesh::receive_peer(uint32_t rank, std::string_view bytes) {
    Peer &peer = formed_.peers.at(rank);
    peer.channel->reader.feed(bytes);
    bool broken = false;
    if (auto frame = peer.channel->reader.next()) {
        if (frame->kind == FrameKind::kHeartbeat)
            std::erase_if(peer.early, [](const ControlFrame &old) { return old.kind == FrameKind::kHeartbeat; });
        peer.early_bytes += frame->payload.size();
        peer.early.push_back(std::move(*frame));
        broken = peer.early.size() > kMostEarly * options_.size || peer.early_bytes > most_from_peer(options_.size);
    } else {
        broken = peer.channel->reader.fault() != FrameReader::Fault::kNone;
    }
    if (!broken) return;
    world_.close(peer.connection);
    lose(rank);
}

void Mesh::closed(ConnectionId connection, int error) {
    if (const auto dialer = dialer_of(dialers_, connection); dialer != dialers_.end())
        dialer->second.closed(error);
    else if (const auto rank = peer_of(connection))
        ended(*rank);
}

/// A peer that has said something was told GO. So all were connected then, and it may have left since.
void Mesh::ended(uint32_t rank) {
    Peer &peer = formed_.peers.at(rank);
    peer.early.empty() ? lose(rank) : void(peer.connection = 0);
}

void Mesh::lose(uint32_t rank) {
    formed_.peers.erase(rank);
    if (rank < options_.rank) dial(rank);
}

void Mesh::tick() {
    tick_in_waves(dialers_);
}

uint64_t Mesh::next_tick_ns() const {
    return next_tick_in_waves(dialers_);
}

std::vector<uint32_t> Mesh::missing() const {
    std::vector<uint32_t> ranks;
    for (const uint32_t rank : neighbors_)
        if (formed_.peers.count(rank) == 0) ranks.push_back(rank);
    return ranks;
}

std::optional<uint32_t> Mesh::unconnected() const {
    const std::vector<uint32_t> ranks = missing();
    return ranks.empty() ? std::nullopt : std::optional(ranks.front());
}

std::string Mesh::obstacle(uint32_t rank) const {
    const auto dialer = dialers_.find(rank);
    if (dialer == dialers_.end())
        return text("it has not connected to this worker at ", text_of(formed_.roster.find(options_.rank).value()));
    const std::string &problem = dialer->second.problem();
    return text("this worker has not connected to it at ",
                problem.empty() ? text(text_of(formed_.roster.find(rank).value()), ": no answer yet") : problem);
}

void Mesh::give_up() {
    for (auto &[rank, dialer] : dialers_) dialer.give_up();
    dialers_.clear();
    for (const auto &[rank, peer] : formed_.peers)
        if (peer.connection != 0) world_.close(peer.connection);
    formed_.peers.clear();
}

} // namespace mdist
