// SPDX-License-Identifier: Apache-2.0
#include "membership/peers.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "util/payload.h"
#include "util/text.h"

namespace mdist {
namespace {

constexpr uint64_t kLongestIntervalNs = 1'000'000'000;
constexpr uint64_t kShortestIntervalNs = 1'000'000;
/// How many notices may come before the layer above takes them.
constexpr std::size_t kMostNotices = 65536;

/// Whether two workers exchange heartbeats. Both get the same answer. However an outage splits the workers into two
/// groups, some pair across the split watches each other, since neighbors in the ring always do.
bool watch_each_other(uint32_t a, uint32_t b, uint32_t size) {
    constexpr uint32_t kAllWatchAll = 33;
    const uint32_t apart = a > b ? a - b : b - a;
    return apart != 0 && (size <= kAllWatchAll || std::has_single_bit(apart) || std::has_single_bit(size - apart));
}

Failure lost(uint32_t rank, std::string_view message) noexcept {
    return Failure(MDIST_ERR_PEER_LOST, message).worker(rank);
}

} // namespace

Peers::Peers(World &world, const MembershipOptions &options, Formed formed)
    : world_(world),
      options_(options),
      session_(formed.session),
      roster_(std::move(formed.roster)),
      pulse_(world, options, session_, formed.pulse, roster_),
      others_(options.size),
      interval_ns_(std::clamp(options.heartbeat_timeout_ns / 10, kShortestIntervalNs, kLongestIntervalNs)),
      next_heartbeat_ns_(world.now_ns()),
      next_tick_ns_(next_heartbeat_ns_) {
    for (uint32_t rank = 0; rank < options_.size; ++rank) {
        others_[rank].peer = std::move(formed.peers[rank]);
        others_[rank].heard_ns = next_heartbeat_ns_;
        if (rank != options_.rank) by_connection_[others_[rank].peer.connection] = rank;
    }
    for (uint32_t rank = 0; rank < options_.size; ++rank)
        if (watch_each_other(rank, options_.rank, options_.size)) watched_.push_back(rank);
    for (uint32_t rank = 0; rank < options_.size; ++rank)
        for (const ControlFrame &frame : std::exchange(others_[rank].peer.early, {})) heard(rank, frame);
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
    const char *const how = error == 0 ? "its connection has ended" : std::strerror(error);
    const auto why = [&] { return lost(rank, text(name(rank), " is lost: ", how)); };
    end(failure_or(lost(rank, ""), why).native(error));
}

void Peers::broke_protocol(uint32_t rank) {
    drop(rank);
    end(lost(rank, text(name(rank), " is lost: its connection carried bytes that no worker sends")));
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
            if (!payload.complete()) broke_protocol(rank);
            break;
        case FrameKind::kAbort:
            heard_abort(rank, frame.payload);
            break;
        case FrameKind::kGoodbye: {
            const auto entered = payload.number<uint64_t>();
            payload.complete() ? departed(rank, entered, std::nullopt) : broke_protocol(rank);
            break;
        }
        case FrameKind::kExchange:
            heard_exchange(rank, frame.payload);
            break;
        case FrameKind::kNotice:
            notices_.size() < kMostNotices ? void(notices_.emplace_back(rank, frame.payload)) : broke_protocol(rank);
            break;
        default:
            broke_protocol(rank);
    }
}

void Peers::heard_abort(uint32_t rank, std::string_view bytes) {
    const std::size_t number_bytes = std::min(bytes.size(), sizeof(uint64_t));
    const auto from = PayloadReader(bytes.substr(0, number_bytes)).number<uint64_t>();
    const auto cause = decode_failure(bytes.substr(number_bytes));
    if (!cause) return broke_protocol(rank);
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
    // A worker can be ahead by one exchange. For the one after that it needs our blob. It sends each blob once.
    const bool ahead = number == last_exchange_ + 1;
    if (!payload.complete() || (!ahead && exchanges_.count(number) == 0)) return broke_protocol(rank);
    Blobs &blobs = exchanges_.try_emplace(number, options_.size).first->second;
    if (blobs[rank]) return broke_protocol(rank);
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

std::string Peers::heartbeat() const {
    return PayloadWriter().number(entered_.load(std::memory_order_relaxed)).take();
}

void Peers::announce() {
    if (!failure_) send_to_all(FrameKind::kHeartbeat, heartbeat());
}

void Peers::missed(uint64_t sequence) noexcept {
    if (failure_) return;
    for (uint32_t rank = 0; rank < options_.size; ++rank) {
        const Other &other = others_[rank];
        const bool exchanging = !exchanges_.empty() && exchanges_.begin()->first <= last_exchange_ &&
                                !exchanges_.begin()->second[rank].has_value();
        if (!other.left || (sequence <= other.entered && !exchanging)) continue;
        const uint64_t from = exchanging || sequence == UINT64_MAX ? 0 : other.entered + 1;
        return end(has_left(rank), from);
    }
}

void Peers::need(uint32_t rank) noexcept {
    if (others_[rank].left) end(has_left(rank));
}

Failure Peers::has_left(uint32_t rank) const noexcept {
    if (others_[rank].why) return *others_[rank].why;
    return failure_or(lost(rank, ""), [&] { return lost(rank, text(name(rank), " has left the job")); }).reason("left");
}

void Peers::tell(const std::string &notice) {
    if (!failure_) send_to_all(FrameKind::kNotice, notice);
}

void Peers::fail(const Failure &cause) noexcept {
    end(cause);
}

/// The only way into FAILED. Keeps the first cause and sends it to all. A cause that another worker reported is also
/// sent on, since that worker may not have reached all. `from`: the first operation that fails because of it; 0 means
/// that operations under way fail too. Whoever cannot be told, for lack of memory, sees that the connection ends.
void Peers::end(const Failure &cause, uint64_t from) noexcept {
    if (failure_) return;
    failure_ = cause;
    try {
        send_to_all(FrameKind::kAbort, PayloadWriter().number(from).take() + encode(for_others(cause)));
    } catch (const std::bad_alloc &) {
        for (uint32_t rank = 0; rank < options_.size; ++rank) drop(rank);
    }
}

Failure Peers::for_others(const Failure &cause) const noexcept {
    const mdist_status_t status = cause.status();
    const bool as_it_is = status == MDIST_ERR_TIMEOUT || status == MDIST_ERR_MISMATCH ||
                          status == MDIST_ERR_PEER_LOST || status == MDIST_ERR_DATA_LOSS || status == MDIST_ERR_ABORTED;
    const bool names_one = as_it_is && cause.worker() != MDIST_NONE;
    return Failure(as_it_is ? status : MDIST_ERR_ABORTED, cause.message())
        .reason(cause.reason())
        .operation(cause.operation())
        .replica(cause.replica())
        .native(cause.native())
        .worker(names_one ? cause.worker() : options_.rank);
}

void Peers::leave() {
    if (!failure_) send_to_all(FrameKind::kGoodbye, PayloadWriter().number(entered_.load()).take());
    for (uint32_t rank = 0; rank < options_.size; ++rank) drop(rank);
}

void Peers::send(uint32_t rank, FrameKind kind, const std::string &payload) {
    Other &other = others_[rank];
    if (other.peer.connection == 0) return;
    try {
        world_.send(other.peer.connection, other.peer.channel->pack(kind, session_, payload));
    } catch (const std::bad_alloc &) {
        drop(rank); // the channel may count a frame that was never sent, and its seals would be wrong from now on
        throw;
    }
}

void Peers::send_to_all(FrameKind kind, const std::string &payload) {
    for (uint32_t rank = 0; rank < options_.size; ++rank) send(rank, kind, payload);
}

void Peers::heard_datagram(std::string_view bytes) {
    if (failure_) return; // the others know of the failure, and need no answer
    if (const auto sign = pulse_.heard(bytes)) {
        uint64_t &heard_ns = others_[sign->rank].heard_ns;
        heard_ns = std::max(heard_ns, sign->at_ns);
    }
}

/// Looks for a silent worker: fails the job after the timeout, and asks for a sign of life before. Returns whether it
/// asked.
bool Peers::look_after(uint32_t rank, uint64_t now, uint64_t slept_ns) {
    Other &other = others_[rank];
    if (failure_ || other.left) return false;
    other.heard_ns = std::min(now, other.heard_ns + slept_ns);
    const uint64_t silence = now - other.heard_ns;
    if (silence > options_.heartbeat_timeout_ns)
        end(lost(rank,
                 text(name(rank), " is lost: it has been silent for ", seconds_text(options_.heartbeat_timeout_ns))));
    if (silence < 2 * interval_ns_ || failure_ || !pulse_.reaches(rank)) return false;
    pulse_.ask(rank);
    return true;
}

void Peers::tick() {
    const uint64_t now = world_.now_ns();
    if (failure_ || now < next_tick_ns_) return;
    const uint64_t late = now - next_tick_ns_;
    const uint64_t slept_ns = late > interval_ns_ ? late : 0; // this process itself was not running
    bool any_is_silent = false;
    for (const uint32_t rank : watched_)
        if (look_after(rank, now, slept_ns)) any_is_silent = true;
    if (now >= next_heartbeat_ns_) {
        for (const uint32_t rank : watched_)
            if (!failure_) send(rank, FrameKind::kHeartbeat, heartbeat());
        next_heartbeat_ns_ = now + interval_ns_;
    }
    next_tick_ns_ = any_is_silent ? std::min(next_heartbeat_ns_, now + interval_ns_ / 4) : next_heartbeat_ns_;
}

} // namespace mdist
