// SPDX-License-Identifier: Apache-2.0
#include "membership/store.h"

#include <algorithm>
#include <utility>

#include "membership/compared_lines.h"
#include "membership/credentials.h"
#include "util/log.h"
#include "util/payload.h"
#include "util/text.h"
#include "util/utf8.h"

namespace mdist {
namespace {

constexpr uint64_t kProgressNs = 50'000'000; // between two reports of the missing workers
constexpr std::size_t kMostListed = 16;
constexpr const char *kTwoRuns = "If the two belong to two runs, give each run a port or an MDIST_JOB_ID of its own";
constexpr std::size_t kMostFromMember = 256; // payload of a frame from a member

std::string name_of(uint32_t rank, const Endpoint &listens) {
    return text("worker ", rank, " (", host_and_pid(listens), ')');
}

/// Compares a worker, `Joining` or `Member`, with another one, whose settings count.
template <class Worker, class Other>
std::optional<Failure> disagreement(uint32_t rank, const Worker &worker, uint32_t other_rank, const Other &other) {
    const std::string who = name_of(rank, worker.listens), than = name_of(other_rank, other.listens);
    if (const std::string name = different_run(other.run, worker.run); !name.empty())
        return Failure(MDIST_ERR_CONFIG,
                       text(who, " has ", line_of(worker.run, name), ", but ", than, " has ", line_of(other.run, name),
                            ". So they count as two runs that meet at one address. Give each run a port of its own. "
                            "If they are one run, set MDIST_JOB_ID to the same text on all of its workers"))
            .reason("different_run");
    if (other.agreement == worker.agreement) return std::nullopt;
    return Failure(MDIST_ERR_CONFIG, text(who, " is configured differently from ", than, ": ",
                                          differing_lines(other.agreement, worker.agreement)))
        .reason("different_config");
}

} // namespace

bool is_loopback(const std::string &numeric_host) {
    return numeric_host.starts_with("127.") || numeric_host == "::1";
}

Store::Store(World &world, StoreOptions options)
    : world_(world), options_(std::move(options)), lobby_(world, "the store", kStoreRank, kMostJoinBytes) {
    lobby_.expect(options_.size);
    lobby_.open_for(store_key(options_.secret), SessionId{});
    lobby_.when_refused([this](uint32_t rank, const std::string &why) { note_refused(rank, why); });
}

void Store::accepted(ConnectionId connection, const std::string &host) {
    lobby_.accepted(connection, host);
}

std::size_t Store::wanted(ConnectionId connection) const {
    const auto found = members_.find(connection);
    if (found != members_.end()) return found->second.channel.reader.wanted();
    return late_.count(connection) != 0 ? 1 : lobby_.wanted(connection);
}

void Store::received(ConnectionId connection, std::string_view bytes) {
    if (lobby_.has(connection)) {
        if (auto guest = lobby_.received(connection, bytes)) join(std::move(*guest));
        return;
    }
    if (late_.erase(connection) != 0) return world_.close(connection); // it must wait for an answer first
    const auto found = members_.find(connection);
    if (found == members_.end()) return;
    FrameReader &reader = found->second.channel.reader;
    reader.feed(bytes);
    if (const auto frame = reader.next())
        heard(connection, found->second, *frame);
    else if (reader.fault() != FrameReader::Fault::kNone) {
        world_.close(connection);
        lost(connection);
    }
}

void Store::closed(ConnectionId connection, int) {
    if (lobby_.has(connection))
        lobby_.closed(connection);
    else if (late_.erase(connection) == 0 && members_.count(connection) != 0)
        lost(connection);
}

void Store::join(Guest guest) {
    if (guest.hello.role == Role::kElastic)
        return refuse(guest, Failure(MDIST_ERR_CONFIG, text("the worker at ", guest.host,
                                                            " is configured for an elastic job, but the store serves "
                                                            "one of fixed size. Set the same elastic.* keys on all "
                                                            "workers"))
                                 .reason("different_config"));
    const auto joining = read(guest);
    if (!joining || guest.hello.role != Role::kJoin) {
        world_.close(guest.connection);
        return;
    }
    if (guest.hello.restart > options_.restart && guest.hello.job == options_.job) {
        world_.send(guest.connection, guest.channel.pack(FrameKind::kTryAgain, SessionId{}, {}));
        world_.close(guest.connection);
        return;
    }
    if (const auto failure = not_of_this_start(guest)) return refuse(guest, *failure);
    if (state_ != State::kGathering) return keep_waiting(std::move(guest));
    if (const auto failure = objection(guest, *joining)) return refuse(guest, *failure);
    const uint32_t rank = guest.hello.rank;
    if (rank == 0) send_away_who_differs(*joining);
    guest.channel.reader.set_most_payload(kMostFromMember);
    members_.emplace(guest.connection,
                     Member{rank, joining->listens, joining->agreement, joining->run, false, std::move(guest.channel)});
    refused_.erase(rank);
    log_debug("the store: worker ", rank, " has joined from ", guest.host);
    tell_progress_ns_ = std::min(tell_progress_ns_, world_.now_ns() + kProgressNs);
    if (members_.size() == options_.size) complete();
}

std::optional<Store::Joining> Store::read(const Guest &guest) {
    PayloadReader body(guest.body);
    Joining joining;
    joining.listens = read_endpoint(body);
    complete_host(joining.listens, guest.host);
    joining.agreement = body.text();
    joining.run = body.text();
    return body.complete() ? std::optional(std::move(joining)) : std::nullopt;
}

std::optional<Failure> Store::not_of_this_start(const Guest &guest) const {
    const Hello &hello = guest.hello;
    const std::string who = text("worker ", hello.rank, " (", guest.host, ')');
    if (hello.job != options_.job)
        return Failure(MDIST_ERR_CONFIG,
                       text(who, " belongs to the job ", in_quotes(hello.job), ", the store to ",
                            options_.secret.empty() ? "another one" : in_quotes(options_.job), // may be a stranger
                            "; give it the address of its own store"))
            .reason("different_job");
    if (hello.restart < options_.restart)
        return Failure(MDIST_ERR_FAILED_PRECONDITION,
                       text(who, " is of start ", hello.restart, " of the job, but the job is now at start ",
                            options_.restart, ". Let that worker end"))
            .reason("stale_session");
    if (hello.size != options_.size || hello.rank >= options_.size)
        return Failure(MDIST_ERR_CONFIG, text(who, " is configured for ", hello.size, " workers, the store for ",
                                              options_.size, "; give all workers the same cluster"))
            .reason("different_size");
    return std::nullopt;
}

std::optional<Failure> Store::objection(const Guest &guest, const Joining &joining) const {
    const Hello &hello = guest.hello;
    if (const Member *first = member(hello.rank))
        return Failure(MDIST_ERR_FAILED_PRECONDITION,
                       text(name_of(hello.rank, first->listens), " has already joined, so ",
                            name_of(hello.rank, joining.listens), " needs another rank. ", kTwoRuns))
            .reason("duplicate_rank")
            .worker(hello.rank);
    if (hello.rank != 0 && !members_.empty()) {
        const Member *chief = member(0);
        const Member &other = chief != nullptr ? *chief : members_.begin()->second;
        return disagreement(hello.rank, joining, other.rank, other);
    }
    return std::nullopt;
}

/// Keeps a late worker waiting, but no more of them than the next session can have.
void Store::keep_waiting(Guest guest) {
    if (late_.size() >= options_.size) return refuse_late(guest);
    const ConnectionId connection = guest.connection;
    late_.emplace(connection, Late{std::move(guest), world_.now_ns() + kLateNs});
}

void Store::refuse_late(Guest &guest) {
    const Member *const there = member(guest.hello.rank);
    const auto joining = read(guest);
    refuse(guest, Failure(MDIST_ERR_FAILED_PRECONDITION,
                          text(name_of(guest.hello.rank, joining->listens),
                               " cannot join a session that is complete and running", there == nullptr ? "" : ", with ",
                               there == nullptr ? "" : name_of(there->rank, there->listens),
                               "; it can join after that session ends. ", kTwoRuns))
                      .reason("stale_session"));
}

/// Sends away members whose configuration differs from the chief's. The chief's counts, also if it joins after them.
void Store::send_away_who_differs(const Joining &chief) {
    for (auto it = members_.begin(); it != members_.end();) {
        auto &[id, member] = *it;
        const auto failure = disagreement(member.rank, member, 0, chief);
        if (!failure) {
            ++it;
            continue;
        }
        lobby_.note_refusal("sent away", text("the store refused a worker: ", failure->message()));
        refused_[member.rank] = failure->message();
        send(id, member, FrameKind::kRefused, encode(*failure));
        world_.close(id);
        it = members_.erase(it);
    }
}

const Store::Member *Store::member(uint32_t rank) const {
    for (const auto &[id, member] : members_)
        if (member.rank == rank) return &member;
    return nullptr;
}

/// For the report of who is missing.
void Store::note_refused(uint32_t rank, const std::string &why) {
    if (rank >= options_.size || member(rank) != nullptr) return;
    refused_[rank] = why;
    tell_progress_ns_ = std::min(tell_progress_ns_, world_.now_ns() + kProgressNs);
}

void Store::refuse(Guest &guest, const Failure &failure) {
    lobby_.note_refusal(failure.reason(),
                        text("the store of job ", in_quotes(options_.job), " refused a worker: ", failure.message()));
    note_refused(guest.hello.rank, failure.message());
    world_.send(guest.connection, guest.channel.pack(FrameKind::kRefused, SessionId{}, encode(failure)));
    world_.close(guest.connection);
}

void Store::send(ConnectionId connection, Member &member, FrameKind kind, const std::string &payload) {
    world_.send(connection, member.channel.pack(kind, session_, payload));
}

void Store::send_to_all(FrameKind kind, const std::string &payload) {
    for (auto &[id, member] : members_) send(id, member, kind, payload);
}

/// Returns a failure if only some workers came by loopback, or listen there, since the others cannot reach those.
std::optional<Failure> Store::split_by_loopback() const {
    const Member *near = nullptr, *far = nullptr;
    for (const auto &[id, member] : members_) (is_loopback(member.listens.host) ? near : far) = &member;
    if (near == nullptr || far == nullptr) return std::nullopt;
    return Failure(MDIST_ERR_CONFIG,
                   text("worker ", near->rank, " listens at the loopback address ", near->listens.host,
                        ", worker ", far->rank, " at ", far->listens.host,
                        ", so they cannot reach each other. Set the store to an address that all hosts can reach"))
        .reason("loopback_store");
}

void Store::complete() {
    if (const auto failure = split_by_loopback()) {
        send_to_all(FrameKind::kRefused, encode(*failure));
        return end_session(failure->message());
    }
    world_.random(session_.data(), session_.size());
    std::vector<const Endpoint *> by_rank(options_.size);
    for (const auto &[id, member] : members_) by_rank[member.rank] = &member.listens;
    PayloadWriter roster;
    for (const Endpoint *listens : by_rank) write_endpoint(roster, *listens);
    Digest pulse;
    world_.random(pulse.data(), pulse.size());
    roster.bytes(pulse);
    state_ = State::kMeshing;
    first_gone_ = MDIST_NONE;
    tell_progress_ns_ = UINT64_MAX;
    send_to_all(FrameKind::kRoster, roster.take());
}

void Store::heard(ConnectionId connection, Member &sender, const ControlFrame &frame) {
    if (frame.kind == FrameKind::kGoodbye) {
        world_.close(connection);
        return lost(connection, true);
    }
    if (frame.kind != FrameKind::kMeshed || frame.session != session_ || state_ != State::kMeshing) return;
    sender.meshed = true;
    const auto meshed = [](const auto &member) { return member.second.meshed; };
    if (!std::all_of(members_.begin(), members_.end(), meshed)) return;
    state_ = State::kReady;
    log_info("the store: all ", options_.size, " workers are connected");
    send_to_all(FrameKind::kGo, {});
}

void Store::lost(ConnectionId connection, bool left) {
    const uint32_t rank = members_.at(connection).rank;
    members_.erase(connection);
    if (state_ == State::kGathering)
        tell_progress_ns_ = std::min(tell_progress_ns_, world_.now_ns() + kProgressNs);
    else
        end_session(text("worker ", rank, " has gone"), left ? rank : MDIST_NONE);
}

void Store::end_session(const std::string &why, uint32_t gone) {
    first_gone_ = gone;
    log_debug("the store: the session has ended: ", why);
    send_to_all(FrameKind::kOver, PayloadWriter().text(why).take());
    for (const auto &[id, member] : members_) world_.close(id);
    members_.clear();
    refused_.clear();
    session_ = {};
    state_ = State::kGathering;
    for (auto &[id, late] : std::exchange(late_, {})) join(std::move(late.guest));
}

void Store::restart(uint32_t size, uint32_t restart) {
    options_.size = size;
    options_.restart = restart;
    lobby_.expect(size);
    end_session("the job is being started again");
}

void Store::tick() {
    lobby_.tick();
    while (!late_.empty() && world_.now_ns() >= late_.begin()->second.until_ns) {
        Late late = std::move(late_.begin()->second);
        late_.erase(late_.begin());
        refuse_late(late.guest);
    }
    if (world_.now_ns() < tell_progress_ns_) return;
    tell_progress_ns_ = UINT64_MAX;
    if (state_ != State::kGathering) return;
    std::vector<uint32_t> ranks = missing();
    ranks.resize(std::min(ranks.size(), kMostListed));
    PayloadWriter report;
    report.number(static_cast<uint32_t>(ranks.size()));
    for (const uint32_t rank : ranks) report.number(rank);
    send_to_all(FrameKind::kProgress, report.text(progress()).take());
}

uint64_t Store::next_tick_ns() const {
    const uint64_t late_ns = late_.empty() ? UINT64_MAX : late_.begin()->second.until_ns;
    return std::min({lobby_.next_tick_ns(), tell_progress_ns_, late_ns});
}

std::string Store::progress() const {
    if (state_ == State::kReady) return text(options_.size, " workers are connected");
    if (state_ == State::kMeshing) return text("all ", options_.size, " workers have joined and are being connected");
    std::string names;
    std::size_t count = 0;
    for (const uint32_t rank : missing()) {
        if (++count > kMostListed) {
            names += " ...";
            break;
        }
        names += text(names.empty() ? "" : ", ", rank);
        if (const auto found = refused_.find(rank); found != refused_.end())
            names += text(" (refused: ", found->second, ')');
    }
    return text(members_.size(), " of ", options_.size, " workers have joined; missing: ", names);
}

std::vector<uint32_t> Store::missing() const {
    std::vector<bool> there(options_.size, false);
    for (const auto &[id, member] : members_) there[member.rank] = true;
    std::vector<uint32_t> ranks;
    for (uint32_t rank = 0; rank < options_.size; ++rank)
        if (!there[rank]) ranks.push_back(rank);
    return ranks;
}

} // namespace mdist
