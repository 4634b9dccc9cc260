// SPDX-License-Identifier: Apache-2.0
#include "membership/forming.h"

#include <algorithm>

#include "membership/credentials.h"
#include "membership/dial_waves.h"
#include "util/payload.h"
#include "util/text.h"

namespace mdist {
namespace {

/// How many frames to keep of one peer that got GO before this worker did. The limit is per peer, since all peers may
/// get GO earlier: one limit for all would make the last of many workers break off. Until a peer hears from this
/// worker, it can say little but heartbeats, and only its last heartbeat is kept.
constexpr std::size_t kMostEarly = 16;
constexpr std::size_t kMostMissing = 64;
constexpr uint64_t kOutages = 4; // TCP may take this many heartbeat timeouts to come back after an outage
constexpr std::size_t kMostFromPeer = kMostBlobBytes + 64;
/// An entry of the roster takes some 20 to 50 bytes.
constexpr std::size_t kMostFromStore = 1024 * 1024;

Dial dial_store(World &world, const MembershipOptions &options, std::vector<Endpoint> store) {
    Dial dial;
    dial.to = std::move(store);
    dial.who = text("the store at ", options.store);
    dial.hello = hello_of(options, Role::kJoin, kStoreRank);
    dial.key = store_key(options.secret);
    dial.most_payload = kMostFromStore;
    dial.make_body = [&world, &options](ConnectionId connection) {
        Endpoint at = world.listen(connection);
        at.pid = options.pid;
        at.started_as = options.started_as;
        PayloadWriter body;
        write_endpoint(body, at);
        return body.text(options.agreement).text(options.run).take();
    };
    return dial;
}

} // namespace

Forming::Forming(World &world, const MembershipOptions &options, Lobby &lobby, std::vector<Endpoint> store,
                 uint64_t deadline_ns)
    : world_(world),
      options_(options),
      lobby_(lobby),
      deadline_ns_(deadline_ns),
      store_(world, dial_store(world, options, std::move(store))) {}

Dialer *Forming::dialer_of(ConnectionId connection) {
    for (auto &[rank, dialer] : dialers_)
        if (dialer.connection() == connection) return &dialer;
    return nullptr;
}

const Dialer *Forming::dialer_of(ConnectionId connection) const {
    return const_cast<Forming *>(this)->dialer_of(connection);
}

std::optional<uint32_t> Forming::peer_of(ConnectionId connection) const {
    for (uint32_t rank = 0; rank < formed_.peers.size(); ++rank)
        if (formed_.peers[rank].connection == connection) return rank;
    return std::nullopt;
}

bool Forming::has(ConnectionId connection) const {
    return connection == store_.connection() || dialer_of(connection) != nullptr || peer_of(connection).has_value();
}

std::size_t Forming::wanted(ConnectionId connection) const {
    if (connection == store_.connection()) return store_.channel().reader.wanted();
    if (const Dialer *dialer = dialer_of(connection)) return dialer->channel().reader.wanted();
    if (const auto rank = peer_of(connection)) return formed_.peers[*rank].channel->reader.wanted();
    return 0;
}

void Forming::connected(ConnectionId connection) {
    if (connection == store_.connection()) {
        store_.connected();
        reached_store_ = true;
    } else if (Dialer *dialer = dialer_of(connection)) {
        dialer->connected();
    }
}

void Forming::received(ConnectionId connection, std::string_view bytes) {
    if (connection == store_.connection()) {
        try {
            if (!store_.done()) {
                if (const auto frame = store_.received(bytes)) heard_store(*frame);
                return;
            }
        } catch (const Failure &failure) {
            failure_ = failure;
            return;
        }
        store_.channel().reader.feed(bytes);
        if (const auto frame = store_.channel().reader.next())
            heard_store(*frame);
        else if (store_.channel().reader.fault() != FrameReader::Fault::kNone)
            start_over("the store sent bytes that do not follow this protocol");
    } else if (const auto rank = peer_of(connection)) {
        receive_peer(*rank, bytes);
    } else {
        for (auto &[dialed, dialer] : dialers_) {
            if (dialer.connection() != connection) continue;
            try {
                if (const auto frame = dialer.received(bytes)) heard_dialed(dialed, *frame);
            } catch (const Failure &) {
                return; // someone else may listen there now; the dialer keeps the message and tries again
            }
            return;
        }
    }
}

void Forming::heard_store(const ControlFrame &frame) {
    PayloadReader payload(frame.payload);
    switch (frame.kind) {
        case FrameKind::kRefused:
            failure_ = decode_failure(frame.payload);
            if (!failure_)
                failure_ = Failure(MDIST_ERR_UNAUTHENTICATED, text("the store at ", options_.store, " refused"));
            break;
        case FrameKind::kTryAgain:
            start_over("it waits for the workers of an earlier start of the job");
            break;
        case FrameKind::kProgress: {
            joined_ = true;
            missing_.resize(std::min<std::size_t>(payload.number<uint32_t>(), kMostMissing));
            for (uint32_t &rank : missing_) rank = payload.number<uint32_t>();
            progress_ = payload.text();
            break;
        }
        case FrameKind::kRoster:
            roster_came(frame);
            break;
        case FrameKind::kGo:
            complete_ = reported_ && frame.session == formed_.session;
            break;
        case FrameKind::kOver:
            start_over(payload.text());
            break;
        default:
            start_over("the store sent an unexpected message");
    }
}

void Forming::roster_came(const ControlFrame &frame) {
    PayloadReader payload(frame.payload);
    formed_ = Formed();
    formed_.session = frame.session;
    for (uint32_t rank = 0; rank < options_.size && !payload.bad(); ++rank) {
        formed_.roster.push_back(read_endpoint(payload));
    }
    formed_.pulse = payload.bytes<sizeof(Digest)>();
    if (!payload.complete()) return start_over("the store's roster cannot be read");
    joined_ = has_roster_ = true;
    formed_.peers.resize(options_.size);
    const std::string key = peer_key(options_, formed_.session);
    for (uint32_t rank = 0; rank < options_.rank; ++rank) {
        Dial dial;
        dial.to = {formed_.roster[rank]};
        dial.who = worker_name(options_, formed_.roster, rank);
        dial.hello = hello_of(options_, Role::kControl, rank);
        dial.session = formed_.session;
        dial.key = key;
        dial.most_payload = kMostFromPeer;
        dialers_.emplace(rank, Dialer(world_, std::move(dial)));
    }
    lobby_.open_for(key, formed_.session);
    report_if_meshed();
}

void Forming::heard_dialed(uint32_t rank, const ControlFrame &frame) {
    Dialer &dialer = dialers_.at(rank);
    if (frame.kind != FrameKind::kWelcome || frame.session != formed_.session) {
        const auto failure = frame.kind == FrameKind::kRefused ? decode_failure(frame.payload) : std::nullopt;
        return dialer.retry(failure ? failure->message() : "it does not know this session");
    }
    formed_.peers[rank].connection = dialer.connection();
    formed_.peers[rank].channel = std::move(dialer.channel());
    dialers_.erase(rank);
    watch(formed_.peers[rank].connection);
    report_if_meshed();
}

void Forming::arrived(Guest guest) {
    const uint32_t rank = guest.hello.rank;
    if (!has_roster_) return world_.close(guest.connection);
    Peer &peer = formed_.peers[rank];
    if (peer.connection != 0) { // the peer's first attempt failed there, but not here
        world_.close(peer.connection);
        peer_lost(rank);
        if (!has_roster_) return world_.close(guest.connection);
    }
    peer.connection = guest.connection;
    peer.channel = std::move(guest.channel);
    peer.channel->reader.set_most_payload(kMostFromPeer);
    world_.send(peer.connection, peer.channel->pack(FrameKind::kWelcome, formed_.session, {}));
    watch(peer.connection);
    report_if_meshed();
}

/// Limits how long the kernel tries to send on a connection. After an outage that the job survives, TCP may send again
/// only after as long again as the outage lasted, so the limit is generous. Heartbeats notice a silent worker sooner.
/// This limit is for a single connection that does not come back.
void Forming::watch(ConnectionId connection) {
    world_.watch(connection, kOutages * std::min(options_.heartbeat_timeout_ns, UINT64_MAX / kOutages));
}

void Forming::receive_peer(uint32_t rank, std::string_view bytes) {
    Peer &peer = formed_.peers[rank];
    peer.channel->reader.feed(bytes);
    if (auto frame = peer.channel->reader.next()) {
        std::vector<ControlFrame> &early = peer.early;
        if (frame->kind == FrameKind::kHeartbeat)
            std::erase_if(early, [](const ControlFrame &old) { return old.kind == FrameKind::kHeartbeat; });
        early.push_back(std::move(*frame));
        if (early.size() <= kMostEarly) return;
    } else if (peer.channel->reader.fault() == FrameReader::Fault::kNone) {
        return;
    }
    start_over(text(worker_name(options_, formed_.roster, rank), " sent an unexpected message"));
}

void Forming::report_if_meshed() {
    for (uint32_t rank = 0; rank < options_.size; ++rank)
        if (rank != options_.rank && formed_.peers[rank].connection == 0) return;
    reported_ = true;
    world_.send(store_.connection(), store_.channel().pack(FrameKind::kMeshed, formed_.session, {}));
}

void Forming::closed(ConnectionId connection, int error) {
    if (connection == store_.connection()) {
        if (!store_.done()) return store_.closed(error);
        start_over("the store has closed the connection");
    } else if (Dialer *dialer = dialer_of(connection)) {
        dialer->closed(error);
    } else if (const auto rank = peer_of(connection)) {
        peer_lost(*rank);
    }
}

/// Starts over if a lost connection was already reported to the store, since other workers may rely on that report.
/// Also starts over if the peer is one that this worker connects to.
void Forming::peer_lost(uint32_t rank) {
    formed_.peers[rank] = Peer();
    if (reported_ || rank < options_.rank)
        start_over(text("lost the connection with ", worker_name(options_, formed_.roster, rank)));
}

void Forming::give_up() {
    for (auto &[rank, dialer] : dialers_) dialer.give_up();
    dialers_.clear();
    for (const Peer &peer : formed_.peers)
        if (peer.connection != 0) world_.close(peer.connection);
    formed_ = Formed();
}

void Forming::start_over(const std::string &problem) {
    if (complete_) return; // the store no longer matters
    if (const auto rank = has_roster_ ? unconnected() : std::nullopt)
        missed_ = text("; before, there was no connection with ", worker_name(options_, formed_.roster, *rank), ": ",
                       obstacle(*rank));
    give_up();
    lobby_.shut();
    joined_ = has_roster_ = reported_ = complete_ = false;
    store_.retry(problem);
}

void Forming::leave_store(bool well) {
    if (store_.done() && well)
        world_.send(store_.connection(), store_.channel().pack(FrameKind::kGoodbye, formed_.session, {}));
    store_.give_up();
}

void Forming::tick() {
    store_.tick();
    tick_in_waves(dialers_);
    if (!complete_ && !failure_ && world_.now_ns() >= deadline_ns_) failure_ = timed_out();
}

uint64_t Forming::next_tick_ns() const {
    return std::min({deadline_ns_, store_.next_tick_ns(), next_tick_in_waves(dialers_)});
}

/// Returns the first worker without a connection to this one. Only once there is a roster.
std::optional<uint32_t> Forming::unconnected() const {
    for (uint32_t rank = 0; rank < options_.size; ++rank)
        if (rank != options_.rank && formed_.peers[rank].connection == 0) return rank;
    return std::nullopt;
}

std::string Forming::obstacle(uint32_t rank) const {
    const auto dialer = dialers_.find(rank);
    if (dialer == dialers_.end())
        return text("it has not connected to this worker at ", text_of(formed_.roster[options_.rank]));
    const std::string &problem = dialer->second.problem();
    return problem.empty() ? "it has not answered yet" : problem;
}

std::string Forming::missing_names() const {
    std::string names;
    for (const uint32_t rank : missing_)
        if (rank < options_.names.size()) names += text(names.empty() ? "" : ", ", options_.names[rank]);
    return names;
}

std::string Forming::awaited() const {
    if (has_roster_) {
        const auto rank = unconnected();
        if (!rank) return "other workers, which are being connected with each other";
        const std::string why = obstacle(*rank);
        return text(worker_name(options_, formed_.roster, *rank), ", with which there is no connection yet",
                    why.empty() ? "" : ": ", why);
    }
    if (!joined_) {
        const std::string &why = store_.problem();
        return text("the store at ", options_.store, ", which has not answered", why.empty() ? "" : ": ", why);
    }
    const std::string names = missing_names();
    return text(names.empty() ? "the others" : names, "; ", progress_);
}

Failure Forming::timed_out() const {
    const std::string limit = seconds_text(options_.join_timeout_ns);
    if (has_roster_) {
        if (const auto rank = unconnected())
            return Failure(MDIST_ERR_TIMEOUT,
                           text("all workers have joined, but there is no connection with ",
                                worker_name(options_, formed_.roster, *rank), " after ", limit, ": ", obstacle(*rank)))
                .worker(*rank);
        return Failure(MDIST_ERR_TIMEOUT, text("other workers could not be connected with each other within ", limit));
    }
    if (!joined_) {
        const std::string &why = store_.problem();
        return Failure(MDIST_ERR_TIMEOUT,
                       text("the store at ", options_.store, options_.serves_store ? ", which this worker serves," : "",
                            reached_store_ ? " did not let this worker join within " : " could not be reached within ",
                            limit, why.empty() ? "; no answer yet" : "; ", why, missed_));
    }
    const std::string names = missing_names();
    Failure failure(MDIST_ERR_TIMEOUT, text("not all workers joined within ", limit, ": ", progress_,
                                            names.empty() ? "" : "; still waiting for: ", names, missed_));
    return missing_.empty() ? failure : Failure(failure).worker(missing_.front());
}

} // namespace mdist
