// SPDX-License-Identifier: Apache-2.0
#include "comm/membership/peers.h"

#include <algorithm>
#include <cstring>

#include "comm/membership/payload.h"
#include "comm/membership/store.h"
#include "util/text.h"

namespace mdist {
namespace {

constexpr uint64_t kLongestIntervalNs = 1'000'000'000;
constexpr uint64_t kShortestIntervalNs = 1'000'000;

Failure lost(uint32_t rank, std::string message) {
    return Failure(MDIST_ERR_PEER_LOST, std::move(message)).worker(static_cast<int32_t>(rank));
}

} // namespace

Peers::Peers(World &world, const MembershipOptions &options, Formed formed)
    : world_(world),
      options_(options),
      session_(formed.session),
      roster_(std::move(formed.roster)),
      others_(options.size),
      interval_ns_(std::clamp(options.heartbeat_timeout_ns / 10, kShortestIntervalNs, kLongestIntervalNs)),
      next_heartbeat_ns_(world.now_ns()) {
    for (uint32_t rank = 0; rank < options_.size; ++rank) {
        others_[rank].peer = std::move(formed.peers[rank]);
        others_[rank].heard_ns = next_heartbeat_ns_;
        if (rank != options_.rank) by_connection_[others_[rank].peer.connection] = rank;
    }
    for (const auto &[rank, frame] : formed.early) heard(rank, frame);
}

std::size_t Peers::wanted(ConnectionId connection) const {
    const auto found = by_connection_.find(connection);
    return found == by_connection_.end() ? 0 : others_[found->second].peer.channel->reader.wanted();
}

void Peers::received(ConnectionId connection, std::string_view bytes) {
    const uint32_t rank = by_connection_.at(connection);
    Other &other = others_[rank];
    other.heard_ns = world_.now_ns();
    other.peer.channel->reader.feed(bytes);
    if (const auto frame = other.peer.channel->reader.next())
        heard(rank, *frame);
    else if (other.peer.channel->reader.fault() != FrameReader::Fault::kNone)
        broke_protocol(rank);
}

void Peers::closed(ConnectionId connection, int error) {
    const uint32_t rank = by_connection_.at(connection);
    const bool left = others_[rank].left;
    by_connection_.erase(connection);
    others_[rank].peer.connection = 0;
    if (left || failure_) return;
    const std::string how = error == 0 ? std::string("its connection has ended") : std::strerror(error);
    end(Failure(lost(rank, text(name(rank), " is lost: ", how))).native(error));
}

void Peers::broke_protocol(uint32_t rank) {
    drop(rank);
    end(lost(rank, text(name(rank), " is lost: what came on its connection is not what a worker sends")));
}

void Peers::drop(uint32_t rank) {
    Other &other = others_[rank];
    if (other.peer.connection == 0) return;
    by_connection_.erase(other.peer.connection);
    world_.close(other.peer.connection);
    other.peer.connection = 0;
}

void Peers::heard(uint32_t rank, const ControlFrame &frame) {
    if (frame.session != session_) return broke_protocol(rank);
    PayloadReader payload(frame.payload);
    switch (frame.kind) {
        case FrameKind::kHeartbeat:
            others_[rank].entered = payload.number<uint64_t>();
            break;
        case FrameKind::kAbort:
            heard_abort(rank, frame.payload);
            break;
        case FrameKind::kGoodbye:
            departed(rank, payload.number<uint64_t>(), std::nullopt);
            break;
        case FrameKind::kExchange:
            heard_exchange(rank, frame.payload);
            break;
        default:
            broke_protocol(rank);
    }
}

void Peers::heard_abort(uint32_t rank, std::string_view bytes) {
    const std::size_t number_bytes = std::min(bytes.size(), sizeof(uint64_t));
    const auto from = PayloadReader(bytes.substr(0, number_bytes)).number<uint64_t>();
    const auto cause = decode_failure(bytes.substr(number_bytes));
    if (!cause) return;
    from == 0 ? end(*cause) : departed(rank, from - 1, cause);
}

void Peers::departed(uint32_t rank, uint64_t entered, std::optional<Failure> why) {
    others_[rank].entered = entered;
    others_[rank].left = true;
    others_[rank].why = std::move(why);
    first_departure_.store(std::min(first_departure_.load(), entered));
    missed(entered_.load());
}

void Peers::heard_exchange(uint32_t rank, std::string_view bytes) {
    PayloadReader payload(bytes);
    const auto number = payload.number<uint64_t>();
    std::string blob = payload.text();
    // A worker can be ahead by one: for the next but one it needs our blob.
    if (!payload.complete() || number > last_exchange_ + 1) return broke_protocol(rank);
    Blobs &blobs = exchanges_.try_emplace(number, options_.size).first->second;
    blobs[rank] = std::move(blob);
}

uint64_t Peers::begin_exchange(const std::string &blob) {
    const uint64_t number = ++last_exchange_;
    exchanges_.try_emplace(number, options_.size).first->second[options_.rank] = blob;
    send_to_all(FrameKind::kExchange, PayloadWriter().number(number).text(blob).take());
    for (uint32_t rank = 0; rank < options_.size; ++rank)
        if (others_[rank].left && !exchanges_.at(number)[rank]) missed();
    return number;
}

bool Peers::exchanged(uint64_t number) const {
    const auto found = exchanges_.find(number);
    return found != exchanges_.end() &&
           std::all_of(found->second.begin(), found->second.end(), [](const auto &blob) { return blob.has_value(); });
}

std::vector<std::string> Peers::take_exchange(uint64_t number) {
    std::vector<std::string> blobs;
    for (auto &blob : exchanges_.at(number)) blobs.push_back(std::move(*blob));
    exchanges_.erase(number);
    return blobs;
}

uint32_t Peers::awaited(uint64_t number) const {
    const Blobs &blobs = exchanges_.at(number);
    const auto found = std::find(blobs.begin(), blobs.end(), std::nullopt);
    return static_cast<uint32_t>(found - blobs.begin());
}

uint64_t Peers::entered(uint32_t rank) const {
    return rank == options_.rank ? entered_.load(std::memory_order_relaxed) : others_[rank].entered;
}

void Peers::announce() {
    if (failure_) return;
    send_to_all(FrameKind::kHeartbeat, PayloadWriter().number(entered_.load(std::memory_order_relaxed)).take());
}

void Peers::missed(uint64_t sequence) {
    if (failure_) return;
    for (uint32_t rank = 0; rank < options_.size; ++rank) {
        const Other &other = others_[rank];
        const bool exchanging = !exchanges_.empty() && exchanges_.begin()->first <= last_exchange_ &&
                                !exchanges_.begin()->second[rank].has_value();
        if (!other.left || (sequence <= other.entered && !exchanging)) continue;
        const uint64_t from = exchanging || sequence == UINT64_MAX ? 0 : other.entered + 1;
        if (other.why) return end(*other.why, from);
        return end(Failure(lost(rank, text(name(rank), " has left the job"))).reason("left"), from);
    }
}

void Peers::fail(const Failure &cause) {
    end(cause);
}

/// The one way into FAILED. The first cause stays, and goes to all: also one that somebody else has told, for who told
/// it may not have reached everybody. `from`: the first operation that fails by it; 0: whatever is under way.
void Peers::end(const Failure &cause, uint64_t from) {
    if (failure_) return;
    failure_ = cause;
    send_to_all(FrameKind::kAbort, PayloadWriter().number(from).take() + encode(for_others(cause)));
}

Failure Peers::for_others(const Failure &cause) const {
    const mdist_status_t status = cause.status();
    const bool as_it_is = status == MDIST_ERR_TIMEOUT || status == MDIST_ERR_MISMATCH ||
                          status == MDIST_ERR_PEER_LOST || status == MDIST_ERR_DATA_LOSS || status == MDIST_ERR_ABORTED;
    const bool names_one = as_it_is && cause.worker() >= 0;
    return Failure(as_it_is ? status : MDIST_ERR_ABORTED, cause.message())
        .reason(cause.reason())
        .operation(cause.operation())
        .replica(cause.replica())
        .native(cause.native())
        .worker(names_one ? cause.worker() : static_cast<int32_t>(options_.rank));
}

void Peers::leave() {
    if (!failure_) send_to_all(FrameKind::kGoodbye, PayloadWriter().number(entered_.load()).take());
    for (uint32_t rank = 0; rank < options_.size; ++rank) drop(rank);
}

void Peers::send(uint32_t rank, FrameKind kind, const std::string &payload) {
    Other &other = others_[rank];
    if (other.peer.connection != 0)
        world_.send(other.peer.connection, other.peer.channel->pack(kind, session_, payload));
}

void Peers::send_to_all(FrameKind kind, const std::string &payload) {
    for (uint32_t rank = 0; rank < options_.size; ++rank) send(rank, kind, payload);
}

void Peers::tick() {
    const uint64_t now = world_.now_ns();
    if (failure_ || now < next_heartbeat_ns_) return;
    const uint64_t late = now - next_heartbeat_ns_; // it was this process that slept
    for (uint32_t rank = 0; rank < options_.size; ++rank) {
        Other &other = others_[rank];
        if (rank == options_.rank || other.left) continue;
        if (late > interval_ns_) other.heard_ns = std::min(now, other.heard_ns + late);
        if (now - other.heard_ns <= options_.heartbeat_timeout_ns) continue;
        end(lost(rank,
                 text(name(rank), " is lost: it has been silent for ", seconds_text(options_.heartbeat_timeout_ns))));
        return;
    }
    announce();
    next_heartbeat_ns_ = now + interval_ns_;
}

uint64_t Peers::next_tick_ns() const {
    return failure_ ? UINT64_MAX : next_heartbeat_ns_;
}

} // namespace mdist
