// SPDX-License-Identifier: Apache-2.0
#include "membership/worker/member.h"

#include <algorithm>
#include <utility>

#include "membership/protocol/credentials.h"
#include "util/log.h"
#include "util/payload.h"
#include "util/text.h"

namespace mdist {
namespace {

constexpr std::size_t kMostFromStore = 4 * 1024 * 1024; // an entry of a generation takes some 30 to 60 bytes
constexpr std::size_t kMostMissing = 64;
constexpr uint64_t kOutagesOfStore = 4; // see Mesh::accept

} // namespace

Member::Member(World &world, MembershipOptions options, std::vector<Endpoint> store)
    : world_(world),
      options_(std::move(options)),
      store_is_near_(!options_.serves_store && std::all_of(store.begin(), store.end(), is_loopback)),
      interval_ns_(std::clamp<uint64_t>(options_.heartbeat_timeout_ns / 10, 1'000'000, 1'000'000'000)),
      lobby_(world, "a worker", 0, 64),
      store_(world, [&] {
          Dial dial = dial_store();
          dial.to = std::move(store);
          return dial;
      }()) {
    lobby_.expect(options_.size);
}

Dial Member::dial_store() {
    Dial dial;
    dial.who = store_name();
    dial.hello = hello_of(options_, is_elastic() ? Role::kElastic : Role::kJoin, kStoreRank);
    dial.key = store_key(options_.secret);
    dial.most_payload = kMostFromStore;
    // In an elastic job the port stays the same when it connects again, since the others of the generation know it.
    dial.make_body = [this](ConnectionId connection) {
        if (!listens_ || !is_elastic()) listens_ = world_.listen(connection);
        listens_->pid = options_.pid;
        listens_->started_as = options_.started_as;
        // The store of an elastic job has no default address, and workers may come from anywhere.
        return encode(
            Joining{id(), generation_.number, *listens_, options_.agreement, is_elastic() ? "" : options_.run});
    };
    return dial;
}

// ---- Connections

void Member::accepted(ConnectionId connection, const std::string &host) {
    lobby_.accepted(connection, host);
}

void Member::connected(ConnectionId connection) {
    if (connection == store_.connection()) {
        store_.connected();
        reached_store_ = true;
    } else if (mesh_ && mesh_->has(connection)) {
        mesh_->connected(connection);
    } else if (sockets_ && sockets_->has(connection)) {
        sockets_->connected(connection);
    }
}

std::size_t Member::wanted(ConnectionId connection) const {
    if (lobby_.has(connection)) return lobby_.wanted(connection);
    if (connection == store_.connection()) return store_.channel().reader.wanted();
    if (mesh_ && mesh_->has(connection)) return mesh_->wanted(connection);
    if (sockets_ && sockets_->has(connection)) return sockets_->wanted(connection);
    return peers_ ? peers_->wanted(connection) : 0;
}

void Member::received(ConnectionId connection, std::string_view bytes) {
    if (ended_) return;
    if (lobby_.has(connection)) {
        if (auto guest = lobby_.received(connection, bytes)) arrived(std::move(*guest));
    } else if (connection == store_.connection()) {
        receive_from_store(bytes);
    } else if (mesh_ && mesh_->has(connection)) {
        mesh_->received(connection, bytes);
        report_if_meshed();
    } else if (peers_ && peers_->has(connection)) {
        peers_->received(connection, bytes);
    } else if (sockets_ && sockets_->has(connection)) {
        sockets_->received(connection, bytes);
    }
}

void Member::arrived(Guest guest) {
    const Hello &hello = guest.hello;
    const bool is_of_this_generation = hello.job == options_.job && hello.size == options_.size &&
                                       hello.rank != options_.rank && hello.rank < options_.size;
    if (is_of_this_generation && hello.role == Role::kControl && mesh_ && hello.rank > options_.rank) {
        mesh_->arrived(std::move(guest));
        report_if_meshed();
    } else if (is_of_this_generation && hello.role == Role::kData && sockets_) {
        sockets_->arrived(std::move(guest));
    } else {
        world_.close(guest.connection);
    }
}

void Member::closed(ConnectionId connection, int error) {
    if (ended_) return;
    if (lobby_.has(connection)) {
        lobby_.closed(connection);
    } else if (connection == store_.connection()) {
        if (store_.done()) return lose_store("the store has closed the connection");
        store_.closed(error);
    } else if (mesh_ && mesh_->has(connection)) {
        mesh_->closed(connection, error);
        if (reported_ && !mesh_->complete()) lose_connection();
    } else if (peers_ && peers_->has(connection)) {
        peers_->closed(connection, error);
    } else if (sockets_ && sockets_->has(connection)) {
        sockets_->closed(connection, error);
    }
}

/// Others may rely on what this worker has reported. In an elastic job, GO then counts as a loss.
void Member::lose_connection() {
    reported_ = false;
    if (!is_elastic()) lose_store(text("lost the connection with ", name_of(*mesh_->unconnected())));
}

void Member::datagram(std::string_view bytes) {
    if (peers_ && !ended_) peers_->heard_datagram(bytes);
}

// ---- The store

bool Member::online() const {
    return store_.done() && store_.connection() != 0;
}

void Member::receive_from_store(std::string_view bytes) {
    if (!online()) {
        try {
            if (const auto frame = store_.received(bytes)) heard_store(*frame);
        } catch (const Failure &failure) {
            end(failure);
        }
        return;
    }
    FrameReader &reader = store_.channel().reader;
    reader.feed(bytes);
    if (const auto frame = reader.next())
        heard_store(*frame);
    else if (reader.fault() != FrameReader::Fault::kNone)
        lose_store("the store sent bytes that do not follow this protocol");
}

void Member::heard_store(const ControlFrame &frame) {
    if (!asking_ && !is_elastic()) return store_.give_up(); // it has nothing to say any more
    heard_store_ns_ = world_.now_ns();
    switch (frame.kind) {
        case FrameKind::kWelcome:
            next_heartbeat_ns_ = world_.now_ns() + interval_ns_;
            world_.watch(store_.connection(),
                         kOutagesOfStore * std::min(options_.heartbeat_timeout_ns, UINT64_MAX / kOutagesOfStore));
            hear_news(frame);
            if (asking_) send_ask();
            break;
        case FrameKind::kHeartbeat:
            hear_news(frame);
            break;
        case FrameKind::kProgress:
            hear_progress(frame);
            break;
        case FrameKind::kGeneration:
            generation_came(frame.payload);
            break;
        case FrameKind::kExcerpt:
            excerpt_came(frame.payload);
            break;
        case FrameKind::kGo:
            if (asking_ && mesh_ && frame.session == next_.session) go();
            break;
        case FrameKind::kTryAgain:
            lose_store("it waits for the workers of an earlier start of the job");
            break;
        case FrameKind::kOver:
            lose_store(PayloadReader(frame.payload).text());
            break;
        case FrameKind::kRefused: {
            const auto failure = decode_failure(frame.payload);
            end(failure ? *failure : Failure(MDIST_ERR_UNAUTHENTICATED, text(store_name(), " refused")));
            break;
        }
        default:
            lose_store("the store sent an unexpected message");
    }
}

void Member::hear_progress(const ControlFrame &frame) {
    PayloadReader report(frame.payload);
    missing_.resize(std::min<std::size_t>(report.number<uint32_t>(), kMostMissing));
    for (uint32_t &rank : missing_) rank = report.number<uint32_t>();
    progress_ = report.text();
}

void Member::hear_news(const ControlFrame &frame) {
    PayloadReader news(frame.payload);
    newcomers_ = news.number<uint32_t>();
    without_me_ = news.number<uint32_t>();
    any_leaves_ = news.number<uint8_t>() != 0;
}

void Member::send_to_store(FrameKind kind, const std::string &payload) {
    if (online()) world_.send(store_.connection(), store_.channel().pack(kind, next_.session, payload));
}

void Member::send_ask() {
    send_to_store(FrameKind::kAsk, encode(ask_));
}

void Member::note_commit() {
    if (std::exchange(has_commit_, true)) return;
    send_heartbeat(); // at once
}

/// A generation that is being connected needs the store. It will write another one.
void Member::lose_store(const std::string &problem) {
    next_heartbeat_ns_ = UINT64_MAX;
    if (!asking_ && !is_elastic()) return store_.give_up();
    if (const auto rank = mesh_ ? mesh_->unconnected() : std::nullopt)
        missed_ = text("; before, all workers had reached the store, but there was no connection with ", name_of(*rank),
                       ": ", mesh_->obstacle(*rank), firewall_advice(options_.listen_at));
    if (asking_) leave_generation();
    progress_.clear();
    missing_.clear();
    store_.retry(problem);
}

// ---- Ends

void Member::end(Failure failure) {
    ended_ = true;
    asking_ = false;
    failure_ = std::move(failure);
    if (failure_->reason() == "dropped") log_warn(failure_->message()); // the program may be in no call that tells it
    leave_generation();
    if (peers_) { // they stay where they are: another thread may be in set_entered()
        peers_->fail(*failure_);
        peers_->leave();
    }
    if (is_elastic()) send_to_store(FrameKind::kGoodbye, {}); // elsewhere, that would name who left first
    store_.give_up();
}

void Member::leave() {
    if (ended_) return;
    // The store must hear it before the other workers do: they end because of it, and may ask for a regroup.
    const bool well = is_elastic() || !failure();
    ended_ = true;
    asking_ = false;
    if (well) send_to_store(FrameKind::kGoodbye, {});
    store_.give_up();
    leave_generation();
    if (sockets_) sockets_->give_up();
    if (peers_) peers_->leave();
}

Member::State Member::state() const {
    if (ended_) return State::kEnded;
    if (asking_) return State::kAsking;
    if (failure()) return State::kFailed;
    return peers_ ? State::kReady : State::kIdle;
}

std::optional<Failure> Member::failure() const {
    if (failure_) return failure_;
    return peers_ ? peers_->failure() : std::nullopt;
}

// ---- Time

void Member::tend_store(uint64_t now) {
    store_.tick();
    if (!online() || now < next_heartbeat_ns_) return; // never, in a job of fixed size
    const uint64_t late = now - next_heartbeat_ns_;
    if (late > interval_ns_) heard_store_ns_ = std::min(now, heard_store_ns_ + late); // this process did not run
    if (now - heard_store_ns_ >= options_.heartbeat_timeout_ns) return lose_store("the store has been silent");
    send_heartbeat();
    next_heartbeat_ns_ = now + interval_ns_;
}

void Member::tick() {
    const uint64_t now = world_.now_ns();
    lobby_.tick();
    if (ended_) return;
    tend_store(now);
    if (mesh_) mesh_->tick();
    report_if_stuck();
    if (peers_) peers_->tick();
    if (sockets_) sockets_->tick();
    if (asking_ && now >= deadline_ns_) end(too_late());
}

uint64_t Member::next_tick_ns() const {
    if (ended_) return lobby_.next_tick_ns();
    uint64_t next =
        std::min({lobby_.next_tick_ns(), store_.next_tick_ns(), next_heartbeat_ns_, stuck_ns_, deadline_ns_});
    if (mesh_) next = std::min(next, mesh_->next_tick_ns());
    if (peers_) next = std::min({next, peers_->next_tick_ns(), sockets_->next_tick_ns()});
    return next;
}

} // namespace mdist
