// SPDX-License-Identifier: Apache-2.0
#include "membership/worker/peers.h"

#include <algorithm>
#include <cstring>

#include "membership/protocol/neighbors.h"
#include "util/payload.h"
#include "util/text.h"

namespace mdist {
namespace {

constexpr uint64_t kLongestIntervalNs = 1'000'000'000;
constexpr uint64_t kShortestIntervalNs = 1'000'000;
/// How many notices may come before the layer above takes them.
constexpr std::size_t kMostNotices = 65536;

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
      interval_ns_(std::clamp(options.heartbeat_timeout_ns / 10, kShortestIntervalNs, kLongestIntervalNs)),
      next_heartbeat_ns_(world.now_ns()),
      next_tick_ns_(next_heartbeat_ns_) {
    for (auto &[rank, peer] : formed.peers) {
        if (peer.connection != 0) by_connection_[peer.connection] = rank;
        neighbors_.emplace(rank, Neighbor{std::move(peer), next_heartbeat_ns_});
    }
    for (auto &[rank, neighbor] : neighbors_)
        for (const ControlFrame &frame : std::exchange(neighbor.peer.early, {})) heard(rank, frame);
    for (const auto &[rank, neighbor] : neighbors_)
        if (neighbor.peer.connection == 0) end_of_connection(rank, 0);
    if (options_.rank != 0) return;
    if (!connects_all(options_.size) && options_.elastic_id == 0) // in an elastic job the store has told all
        send_to(children_of(0, 0, options_.size), FrameKind::kRoster, roster_.table());
    world_.random(key_.emplace().data(), sizeof(Digest));
    send_to_neighbors(FrameKind::kKey, PayloadWriter().bytes(*key_).take());
}

std::size_t Peers::wanted(ConnectionId connection) const {
    const auto found = by_connection_.find(connection);
    return found == by_connection_.end() ? 0 : neighbors_.at(found->second).peer.channel->reader.wanted();
}

void Peers::received(ConnectionId connection, std::string_view bytes) {
    const uint32_t rank = by_connection_.at(connection);
    Neighbor &neighbor = neighbors_.at(rank);
    neighbor.heard_ns = world_.now_ns();
    FrameReader &reader = neighbor.peer.channel->reader;
    reader.feed(bytes);
    if (const auto frame = reader.next())
        heard(rank, *frame);
    else if (reader.fault() != FrameReader::Fault::kNone)
        broke_protocol(rank);
}

void Peers::closed(ConnectionId connection, int error) {
    const uint32_t rank = by_connection_.at(connection);
    by_connection_.erase(connection);
    neighbors_.at(rank).peer.connection = 0;
    end_of_connection(rank, error);
}

void Peers::end_of_connection(uint32_t rank, int error) {
    if (left(rank) || failure_) return;
    const char *const how = error == 0 ? "its connection has ended" : std::strerror(error);
    const auto why = [&] { return lost(rank, text(name(rank), " is lost: ", how)); };
    end(failure_or(lost(rank, ""), why).native(error));
}

void Peers::broke_protocol(uint32_t rank) {
    drop(rank);
    end(lost(rank, text(name(rank), " is lost: its connection carried bytes that no worker sends")));
}

void Peers::drop(uint32_t rank) {
    ConnectionId &connection = neighbors_.at(rank).peer.connection;
    if (connection == 0) return;
    by_connection_.erase(connection);
    world_.close(std::exchange(connection, 0));
}

// ---- What neighbors say

void Peers::heard(uint32_t from, const ControlFrame &frame) {
    if (frame.session != session_) return broke_protocol(from);
    switch (frame.kind) {
        case FrameKind::kHeartbeat: {
            PayloadReader payload(frame.payload);
            entered_by_[from] = payload.number<uint64_t>();
            if (!payload.complete()) broke_protocol(from);
            break;
        }
        case FrameKind::kAbort: {
            const auto cause = decode_failure(frame.payload);
            cause ? end(*cause) : broke_protocol(from);
            break;
        }
        case FrameKind::kGoodbye:
            heard_goodbye(from, frame.payload);
            break;
        case FrameKind::kExchange:
            heard_blob(from, frame.payload);
            break;
        case FrameKind::kTable:
            heard_table(from, frame.payload);
            break;
        case FrameKind::kEntered:
            heard_entered(from, frame.payload);
            break;
        case FrameKind::kRoster:
            heard_roster(from, frame.payload);
            break;
        case FrameKind::kKey:
            heard_key(from, frame.payload);
            break;
        case FrameKind::kNotice:
            heard_notice(from, frame.payload);
            break;
        default:
            broke_protocol(from);
    }
}

void Peers::heard_roster(uint32_t from, const std::string &table) {
    const uint32_t self = options_.rank, size = options_.size;
    if (connects_all(size) || self == 0 || from != parent_of(0, self, size) || !roster_.learn(table))
        return broke_protocol(from);
    send_to(children_of(0, self, size), FrameKind::kRoster, table);
}

/// It comes from each neighbor, since the one on the shortest way may have left before it passed it on.
void Peers::heard_key(uint32_t from, const std::string &bytes) {
    PayloadReader payload(bytes);
    const auto key = payload.bytes<sizeof(Digest)>();
    const bool may_say = !connects_all(options_.size) || from == 0;
    if (!payload.complete() || !may_say || (key_ && *key_ != key)) return broke_protocol(from);
    if (key_) return;
    key_ = key;
    if (!connects_all(options_.size)) send_to_neighbors(FrameKind::kKey, bytes, from);
}

/// Passes on what a worker says to all, and keeps it.
void Peers::heard_notice(uint32_t from, const std::string &bytes) {
    PayloadReader payload(bytes);
    const auto origin = payload.number<uint32_t>();
    const uint32_t self = options_.rank, size = options_.size;
    const bool comes_here = origin < size && origin != self && from == parent_of(origin, self, size);
    if (payload.bad() || !comes_here || notices_.size() >= kMostNotices) return broke_protocol(from);
    send_to(children_of(origin, self, size), FrameKind::kNotice, bytes);
    notices_.emplace_back(origin, bytes.substr(sizeof origin));
}

/// Pairs of a worker and the number of operations that it has entered. In a large session they come from a child, on
/// their way to worker 0, or from the parent, on their way to all.
void Peers::heard_entered(uint32_t from, const std::string &bytes) {
    const uint32_t self = options_.rank, size = options_.size;
    const bool direct = connects_all(size);
    const bool ascends = !direct && from != 0 && parent_of(0, from, size) == self;
    const bool descends = !direct && self != 0 && from == parent_of(0, self, size);
    PayloadReader payload(bytes);
    while (!payload.complete() && !payload.bad()) {
        const auto rank = payload.number<uint32_t>();
        const auto entered = payload.number<uint64_t>();
        const bool may_say = direct ? rank == from : ascends ? hears_through(0, from, rank, size) : descends;
        if (payload.bad() || rank >= size || !may_say) return broke_protocol(from);
        entered_by_[rank] = std::max(entered_by_[rank], entered);
        if (ascends && self == 0) announced_.insert(rank);
    }
    if (ascends && self != 0) send(parent_of(0, self, size), FrameKind::kEntered, bytes);
    if (descends) send_to(children_of(0, self, size), FrameKind::kEntered, bytes);
}

std::string Peers::goodbye(uint32_t rank, const Departure &departure) {
    return PayloadWriter()(rank, departure.entered, departure.exchanges).take() +
           (departure.why ? encode(*departure.why) : std::string());
}

void Peers::heard_goodbye(uint32_t from, std::string_view bytes) {
    constexpr std::size_t kNumbers = sizeof(uint32_t) + 2 * sizeof(uint64_t);
    PayloadReader payload(bytes);
    uint32_t rank = 0;
    Departure departure;
    payload(rank, departure.entered, departure.exchanges);
    if (bytes.size() > kNumbers) departure.why = decode_failure(bytes.substr(kNumbers));
    const bool passed_on = !connects_all(options_.size) && rank < options_.size && rank != options_.rank;
    if (payload.bad() || !(rank == from || passed_on) || (bytes.size() > kNumbers && !departure.why))
        return broke_protocol(from);
    departed(rank, std::move(departure), from);
    if (rank == from) drop(from); // it waits for that
}

void Peers::departed(uint32_t rank, Departure departure, uint32_t from) {
    const bool is_news = departure.entered < first_departure_.load() || departure.exchanges < first_missed_exchange_;
    const auto [known, fresh] = departed_.try_emplace(rank, std::move(departure));
    if (!fresh) return;
    entered_by_[rank] = known->second.entered;
    first_missed_exchange_ = std::min(first_missed_exchange_, known->second.exchanges);
    first_departure_.store(std::min(first_departure_.load(), known->second.entered));
    if (!connects_all(options_.size)) {
        if (is_news)
            send_to_neighbors(FrameKind::kGoodbye, goodbye(rank, known->second), from);
        else
            untold_.push_back(rank);
    }
    missed(entered_.load());
}

/// Passes on who has left since the last heartbeat, in one piece to each neighbor: at the end of a job all leave.
void Peers::tell_departures() {
    const std::vector<uint32_t> ranks = std::exchange(untold_, {});
    for (const auto &[to, neighbor] : neighbors_)
        send(to, [&, self = to](Channel &channel) {
            std::string frames;
            for (const uint32_t rank : ranks)
                if (rank != self)
                    frames += channel.pack(FrameKind::kGoodbye, session_, goodbye(rank, departed_.at(rank)));
            return frames;
        });
}

// ---- What this worker says

uint64_t Peers::entered(uint32_t rank) const {
    if (rank == options_.rank) return entered_.load(std::memory_order_relaxed);
    const auto known = entered_by_.find(rank);
    return known == entered_by_.end() ? 0 : known->second;
}

void Peers::announce() {
    if (failure_) return;
    const uint32_t self = options_.rank, size = options_.size;
    const std::string pair = PayloadWriter().number(self).number(entered(self)).take();
    if (connects_all(size))
        send_to_neighbors(FrameKind::kEntered, pair);
    else if (self != 0)
        send(parent_of(0, self, size), FrameKind::kEntered, pair);
    else
        announced_.insert(0);
}

/// At worker 0 of a large session: tells all what has been announced since it last did.
void Peers::tell_announced() {
    PayloadWriter pairs;
    for (const uint32_t rank : std::exchange(announced_, {})) pairs.number(rank).number(entered(rank));
    send_to(children_of(0, 0, options_.size), FrameKind::kEntered, pairs.take());
}

void Peers::tell(const std::string &notice) {
    if (failure_) return;
    const uint32_t self = options_.rank;
    send_to(children_of(self, self, options_.size), FrameKind::kNotice, PayloadWriter().number(self).take() + notice);
}

void Peers::missed(uint64_t sequence) noexcept {
    if (failure_) return;
    for (const auto &[rank, departure] : departed_) {
        const bool exchanging = under_way_ && departure.exchanges < last_exchange_;
        if (sequence <= departure.entered && !exchanging) continue;
        return end(has_left(rank), exchanging ? 0 : departure.entered + 1);
    }
}

void Peers::need(uint32_t rank) noexcept {
    if (left(rank)) end(has_left(rank));
}

Failure Peers::has_left(uint32_t rank) const noexcept {
    const Departure &departure = departed_.at(rank);
    if (departure.why) return *departure.why;
    return failure_or(lost(rank, ""), [&] { return lost(rank, text(name(rank), " has left the job")); }).reason("left");
}

void Peers::fail(const Failure &cause) noexcept {
    end(cause);
}

/// The only way into FAILED. Keeps the first cause and sends it to the neighbors. A cause that another worker reported
/// is also sent on, since that worker may not have reached all. `from`: the first operation that fails because of it; 0
/// means that operations under way fail too. Whoever cannot be told, for lack of memory, sees that the connection ends.
void Peers::end(const Failure &cause, uint64_t from) noexcept {
    if (failure_) return;
    failure_ = cause;
    try {
        const Failure told = for_others(cause);
        if (from == 0)
            send_to_neighbors(FrameKind::kAbort, encode(told));
        else
            send_to_neighbors(FrameKind::kGoodbye,
                              goodbye(options_.rank, {from - 1, last_exchange_ - (under_way_ ? 1 : 0), told}));
    } catch (const std::bad_alloc &) {
        for (const auto &[rank, neighbor] : neighbors_) drop(rank);
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
    if (!failure_)
        send_to_neighbors(FrameKind::kGoodbye, goodbye(options_.rank, {entered_.load(), last_exchange_, {}}));
    for (auto &[rank, neighbor] : neighbors_) {
        if (neighbor.peer.connection == 0) continue;
        failure_ ? world_.close(neighbor.peer.connection) : world_.part(neighbor.peer.connection);
        neighbor.peer.connection = 0;
    }
    by_connection_.clear();
}

void Peers::send(uint32_t rank, FrameKind kind, const std::string &payload) {
    send(rank, [&](Channel &channel) { return channel.pack(kind, session_, payload); });
}

/// Sends the frames that `pack` makes.
void Peers::send(uint32_t rank, FunctionRef<std::string(Channel &)> pack) {
    Peer &peer = neighbors_.at(rank).peer;
    if (peer.connection == 0) return;
    try {
        world_.send(peer.connection, pack(*peer.channel));
    } catch (const std::bad_alloc &) {
        drop(rank); // the channel may count a frame that was never sent, and its seals would be wrong from now on
        throw;
    }
}

void Peers::send_to(const std::vector<uint32_t> &ranks, FrameKind kind, const std::string &payload) {
    for (const uint32_t rank : ranks) send(rank, kind, payload);
}

void Peers::send_to_neighbors(FrameKind kind, const std::string &payload, uint32_t but) {
    for (const auto &[rank, neighbor] : neighbors_)
        if (rank != but) send(rank, kind, payload);
}

// ---- Signs of life

void Peers::heard_datagram(std::string_view bytes) {
    if (failure_) return; // the others know of the failure, and need no answer
    const auto sign = pulse_.heard(bytes);
    const auto neighbor = sign ? neighbors_.find(sign->rank) : neighbors_.end();
    if (neighbor != neighbors_.end()) neighbor->second.heard_ns = std::max(neighbor->second.heard_ns, sign->at_ns);
}

/// Looks for a silent neighbor: fails the job after the timeout, and asks for a sign of life before. Returns whether it
/// asked.
bool Peers::look_after(uint32_t rank, uint64_t now, uint64_t slept_ns) {
    uint64_t &heard_ns = neighbors_.at(rank).heard_ns;
    if (failure_ || left(rank)) return false;
    heard_ns = std::min(now, heard_ns + slept_ns);
    const uint64_t silence = now - heard_ns;
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
    for (const auto &[rank, neighbor] : neighbors_)
        if (look_after(rank, now, slept_ns)) any_is_silent = true;
    if (now >= next_heartbeat_ns_) {
        const std::string heartbeat = PayloadWriter().number(entered_.load(std::memory_order_relaxed)).take();
        if (!failure_) send_to_neighbors(FrameKind::kHeartbeat, heartbeat);
        if (!failure_ && !announced_.empty()) tell_announced();
        if (!failure_ && !untold_.empty()) tell_departures();
        next_heartbeat_ns_ = now + interval_ns_;
    }
    next_tick_ns_ = any_is_silent ? std::min(next_heartbeat_ns_, now + interval_ns_ / 4) : next_heartbeat_ns_;
}

} // namespace mdist
