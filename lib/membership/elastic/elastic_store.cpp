// SPDX-License-Identifier: Apache-2.0
#include "membership/elastic/elastic_store.h"

#include <algorithm>
#include <utility>

#include "membership/credentials.h"
#include "membership/store.h"
#include "util/log.h"
#include "util/payload.h"
#include "util/text.h"
#include "util/utf8.h"

namespace mdist {
namespace {

constexpr uint64_t kLongestPulseNs = 1'000'000'000;
constexpr std::size_t kMostFromElastic = 1024 * 1024; // what a worker holds, in ranges of replicas
constexpr std::size_t kMostLostListed = 16;

std::string listed_replicas(const std::vector<uint32_t> &replicas) {
    std::string out;
    for (std::size_t i = 0; i < replicas.size() && i < kMostLostListed; ++i)
        out += text(i == 0 ? "" : ", ", replicas[i]);
    return replicas.size() > kMostLostListed ? out + " ..." : out;
}

Failure old_generation(const std::string &who, uint32_t believed, uint32_t current) {
    return Failure(MDIST_ERR_ABORTED,
                   text(who, " was in generation ", believed, " of the job, which is now at generation ", current,
                        " without it. Start it again, as a new worker"))
        .reason("old_generation");
}

Failure data_loss(const Recovery &recovery) {
    return Failure(MDIST_ERR_DATA_LOSS,
                   text("too many workers were lost since the last commit: ",
                        recovery.lost.empty()
                            ? std::string("no worker that is left has finished it")
                            : "no copy is left of the state of replicas " + listed_replicas(recovery.lost),
                        ". Restore a checkpoint in a new job, or set elastic.copies higher"))
        .reason("replica_lost");
}

} // namespace

ElasticStore::ElasticStore(World &world, ElasticStoreOptions options)
    : world_(world),
      options_(std::move(options)),
      interval_ns_(std::clamp<uint64_t>(options_.heartbeat_timeout_ns / 10, 1'000'000, kLongestPulseNs)),
      lobby_(world, "the store", kStoreRank, kMostAgreementBytes + 64),
      next_ns_(world.now_ns() + interval_ns_) {
    options_.max_workers = std::min(options_.max_workers, options_.replicas);
    lobby_.expect(options_.max_workers);
    lobby_.open_for(store_key(options_.secret), SessionId{});
}

// ---- Connections

void ElasticStore::accepted(ConnectionId connection, const std::string &host) {
    lobby_.accepted(connection, host);
}

std::size_t ElasticStore::wanted(ConnectionId connection) const {
    const auto found = workers_.find(connection);
    return found != workers_.end() ? found->second.channel.reader.wanted() : lobby_.wanted(connection);
}

void ElasticStore::received(ConnectionId connection, std::string_view bytes) {
    add_time_slept();
    if (lobby_.has(connection)) {
        if (auto guest = lobby_.received(connection, bytes)) join(std::move(*guest));
        return;
    }
    const auto found = workers_.find(connection);
    if (found == workers_.end()) return;
    FrameReader &reader = found->second.channel.reader;
    reader.feed(bytes);
    if (const auto frame = reader.next()) {
        note_sign_of_life(found->second.id);
        heard(connection, found->second, *frame);
    } else if (reader.fault() != FrameReader::Fault::kNone) {
        world_.close(connection);
        lost(connection);
    }
}

void ElasticStore::closed(ConnectionId connection, int) {
    add_time_slept();
    if (lobby_.has(connection))
        lobby_.closed(connection);
    else if (workers_.count(connection) != 0)
        lost(connection);
}

std::map<ConnectionId, ElasticStore::Worker>::iterator ElasticStore::find(WorkerId id) {
    return std::find_if(workers_.begin(), workers_.end(), [id](const auto &one) { return one.second.id == id; });
}

std::map<ConnectionId, ElasticStore::Worker>::const_iterator ElasticStore::find(WorkerId id) const {
    return std::find_if(workers_.begin(), workers_.end(), [id](const auto &one) { return one.second.id == id; });
}

void ElasticStore::send(ConnectionId connection, Worker &worker, FrameKind kind, const std::string &payload) {
    world_.send(connection, worker.channel.pack(kind, generation_.session, payload));
}

void ElasticStore::refuse(ConnectionId connection, Channel &channel, const Failure &failure) {
    world_.send(connection, channel.pack(FrameKind::kRefused, SessionId{}, encode(failure)));
    world_.close(connection);
}

// ---- Workers come and go

void ElasticStore::join(Guest guest) {
    PayloadReader body(guest.body);
    const auto id = body.number<uint64_t>();
    const auto believed = body.number<uint32_t>();
    const auto port = body.number<uint16_t>();
    const bool takes_datagrams = body.number<uint8_t>() != 0;
    const std::string agreement = body.text();
    const bool is_elastic = guest.hello.role == Role::kElastic;
    if (is_elastic && (!body.complete() || id == 0)) return world_.close(guest.connection);
    if (const auto failure = objection(guest, id, believed, agreement)) {
        lobby_.note_refusal(failure->reason(), text("the store refused a worker: ", failure->message()));
        return refuse(guest.connection, guest.channel, *failure);
    }
    if (const auto before = find(id); before != workers_.end()) { // its old connection has ended for it, not yet here
        const ConnectionId old = before->first;
        world_.close(old);
        lost(old);
    }
    guest.channel.reader.set_most_payload(kMostFromElastic);
    Worker worker{id, {guest.host, port, takes_datagrams}, agreement, std::move(guest.channel)};
    note_sign_of_life(id);
    send(guest.connection, worker, FrameKind::kWelcome, {});
    workers_.emplace(guest.connection, std::move(worker));
}

std::optional<Failure> ElasticStore::objection(const Guest &guest, WorkerId id, uint32_t believed,
                                               const std::string &agreement) const {
    const std::string who = text("the worker at ", guest.host);
    if (guest.hello.role != Role::kElastic)
        return Failure(MDIST_ERR_CONFIG, text(who,
                                              " is configured for a job of fixed size, but the store serves an "
                                              "elastic one. Set the same elastic.* keys on all workers"))
            .reason("different_config");
    if (guest.hello.job != options_.job)
        return Failure(MDIST_ERR_CONFIG, text(who, " belongs to the job ", in_quotes(guest.hello.job),
                                              ", the store to another one. Give it the address of its own store"))
            .reason("different_job");
    if (failure_) return failure_;
    const bool is_member = generation_.rank_of(id).has_value();
    if (believed != 0 && !is_member) return old_generation(who, believed, generation_.number);
    if (is_member && ended_.count(id) != 0) return old_generation(who, believed, generation_.number);
    if (!workers_.empty() && workers_.begin()->second.agreement != agreement)
        return Failure(MDIST_ERR_CONFIG, text(who, " is configured differently from the other workers of the job: ",
                                              differing_lines(workers_.begin()->second.agreement, agreement)))
            .reason("different_config");
    return std::nullopt;
}

void ElasticStore::lost(ConnectionId connection) {
    const WorkerId id = workers_.at(connection).id;
    workers_.erase(connection);
    if (!generation_.rank_of(id)) heard_ns_.erase(id);
    look();
}

void ElasticStore::ended(ConnectionId connection) {
    const WorkerId id = workers_.at(connection).id;
    if (generation_.rank_of(id)) ended_.insert(id);
    world_.close(connection);
    lost(connection);
}

void ElasticStore::reaped(WorkerId id) {
    if (generation_.rank_of(id)) ended_.insert(id);
    if (const auto found = find(id); found != workers_.end()) {
        const ConnectionId connection = found->first;
        world_.close(connection);
        return lost(connection);
    }
    look();
}

void ElasticStore::heard(ConnectionId connection, Worker &worker, const ControlFrame &frame) {
    switch (frame.kind) {
        case FrameKind::kHeartbeat: {
            const auto waits = [this](const auto &one) {
                return one.second.asked && !generation_.rank_of(one.second.id);
            };
            const auto waiting = static_cast<uint32_t>(std::count_if(workers_.begin(), workers_.end(), waits));
            return send(connection, worker, FrameKind::kHeartbeat, PayloadWriter().number(waiting).take());
        }
        case FrameKind::kAsk:
            return asked(worker, frame.payload);
        case FrameKind::kMeshed:
        case FrameKind::kUnreachable:
            return meshed(worker, frame);
        case FrameKind::kGoodbye:
            return ended(connection);
        default:
            world_.close(connection);
            return lost(connection);
    }
}

void ElasticStore::asked(Worker &worker, const std::string &payload) {
    worker.held = decode_holdings(payload).value_or(Holdings{});
    worker.asked = true;
    if (state_ == State::kReady && generation_.rank_of(worker.id)) {
        log_info("the store: a worker of generation ", generation_.number, " asks for the next one");
        state_ = State::kOpen;
        waits_since_ns_.reset();
    }
    look();
}

void ElasticStore::meshed(Worker &worker, const ControlFrame &frame) {
    if (state_ != State::kMeshing || frame.session != generation_.session) return; // of a generation that was replaced
    worker.unreachable.clear();
    PayloadReader ranks(frame.payload);
    while (frame.kind == FrameKind::kUnreachable && !ranks.complete() && !ranks.bad())
        worker.unreachable.insert(ranks.number<uint32_t>());
    worker.meshed = frame.kind == FrameKind::kMeshed;
    worker.reported = true;
    look();
}

// ---- Decisions

bool ElasticStore::is_silent(WorkerId id) const {
    const auto found = heard_ns_.find(id);
    return found == heard_ns_.end() || world_.now_ns() - found->second >= options_.heartbeat_timeout_ns;
}

/// If no member was heard for the timeout, the store was out of reach, and not they. The first that is heard again then
/// gives the others the whole timeout anew; else a round would close without those that come a moment later.
void ElasticStore::note_sign_of_life(WorkerId id) {
    const auto &members = generation_.members;
    const auto silent = [this](const Generation::Member &member) { return is_silent(member.id); };
    if (generation_.rank_of(id) && std::all_of(members.begin(), members.end(), silent))
        for (const Generation::Member &member : members) heard_ns_[member.id] = world_.now_ns();
    heard_ns_[id] = world_.now_ns();
}

/// If this process itself did not run for a while, all workers get that much more time, those that are still to come
/// too.
void ElasticStore::add_time_slept() {
    const uint64_t now = world_.now_ns();
    if (now <= next_ns_ + interval_ns_) return;
    const uint64_t slept_ns = now - next_ns_;
    for (auto &[id, heard_ns] : heard_ns_) heard_ns = std::min(now, heard_ns + slept_ns);
    if (waits_since_ns_) waits_since_ns_ = std::min(now, *waits_since_ns_ + slept_ns);
    next_ns_ = now;
}

ElasticStore::Tally ElasticStore::tally() const {
    Tally result;
    for (const Generation::Member &member : generation_.members) {
        if (ended_.count(member.id) != 0) continue;
        result.all_ended = false;
        if (is_silent(member.id)) {
            ++result.silent;
            continue;
        }
        const auto found = find(member.id);
        if (found != workers_.end() && found->second.asked)
            result.survivors.push_back(found->first);
        else
            result.all_settled = false;
    }
    for (const auto &[connection, worker] : workers_)
        if (worker.asked && !generation_.rank_of(worker.id) && !is_silent(worker.id))
            result.newcomers.push_back(connection);
    return result;
}

void ElasticStore::look() {
    if (state_ == State::kFailed) return;
    const Tally now = tally();
    const bool is_first = generation_.number == 0;
    if (!is_first && now.all_ended)
        return fail(
            Failure(MDIST_ERR_ABORTED, text("all workers of generation ", generation_.number, " of the job have ended"))
                .reason("job_ended"));
    if (state_ == State::kReady) return;
    if (state_ == State::kMeshing) return look_at_mesh();
    // While no member asks, the generation may be working, even if the store cannot hear any of them.
    if (!now.all_settled || (!is_first && now.survivors.empty())) return waits_since_ns_.reset();
    const std::size_t there = now.survivors.size() + now.newcomers.size();
    const Recovery recovery = recovery_of(now);
    const bool is_lost = has_commit_ && !recovery.resume;
    const bool enough = there >= options_.min_workers && !is_lost;
    if (is_first ? there >= options_.max_workers : enough) return close_round(now, recovery);
    if (there == 0) return waits_since_ns_.reset();
    // Only a member that is silent, and not proven dead, may still bring a part of the state that nobody here has.
    if (is_lost && now.silent == 0) return fail(data_loss(recovery));
    if (!waits_since_ns_) waits_since_ns_ = world_.now_ns();
    if (world_.now_ns() - *waits_since_ns_ < options_.wait_ns) return;
    if (enough) return close_round(now, recovery);
    if (is_lost) return fail(data_loss(recovery));
    fail(Failure(MDIST_ERR_TIMEOUT,
                 text("the job needs at least ", options_.min_workers, " workers (elastic.min_workers), but after ",
                      seconds_text(options_.wait_ns), " only ", there, there == 1 ? " is" : " are", " there"))
             .reason("too_few_workers"));
}

/// The commit that these survivors can resume from.
Recovery ElasticStore::recovery_of(const Tally &tally) {
    std::vector<Holdings> held;
    for (const ConnectionId connection : tally.survivors) held.push_back(workers_.at(connection).held);
    Recovery recovery = recover(held, options_.replicas);
    has_commit_ = has_commit_ || recovery.resume || !recovery.lost.empty();
    return recovery;
}

/// Writes the next generation.
void ElasticStore::close_round(const Tally &tally, const Recovery &recovery) {
    std::vector<ConnectionId> members = tally.survivors;
    members.insert(members.end(), tally.newcomers.begin(), tally.newcomers.end());
    members.resize(std::min<std::size_t>(members.size(), options_.max_workers));
    Generation next;
    next.number = generation_.number + 1;
    world_.random(next.session.data(), next.session.size());
    world_.random(next.pulse.data(), next.pulse.size());
    next.resume = recovery.resume;
    const auto spans = deal_replicas(options_.replicas, static_cast<uint32_t>(members.size()));
    for (std::size_t rank = 0; rank < members.size(); ++rank) {
        Worker &worker = workers_.at(members[rank]);
        next.members.push_back({worker.id, worker.listens, spans[rank]});
        worker.meshed = worker.reported = false;
        worker.unreachable.clear();
    }
    const Generation former = std::exchange(generation_, std::move(next));
    ended_.clear();
    waits_since_ns_.reset();
    state_ = State::kMeshing;
    log_info("the store: generation ", generation_.number, " has ", members.size(), " workers");
    send_away_former_members(former);
    const std::string bytes = encode(generation_);
    for (const ConnectionId connection : members)
        send(connection, workers_.at(connection), FrameKind::kGeneration, bytes);
}

void ElasticStore::send_away_former_members(const Generation &former) {
    for (const Generation::Member &member : former.members) {
        if (generation_.rank_of(member.id)) continue;
        heard_ns_.erase(member.id);
        const auto found = find(member.id);
        if (found == workers_.end()) continue;
        refuse(found->first, found->second.channel,
               old_generation(text("the worker at ", found->second.listens.host), former.number, generation_.number));
        workers_.erase(found);
    }
}

void ElasticStore::look_at_mesh() {
    bool all_meshed = true, all_reported = true, any_missing = false;
    for (const Generation::Member &member : generation_.members) {
        const auto found = find(member.id);
        any_missing = any_missing || found == workers_.end() || is_silent(member.id);
        all_meshed = all_meshed && found != workers_.end() && found->second.meshed;
        all_reported = all_reported && found != workers_.end() && found->second.reported;
    }
    if (any_missing || (all_reported && !all_meshed && drop_unreachable())) {
        state_ = State::kOpen; // those that are left have asked, and need not ask again
        return look();
    }
    if (!all_meshed) return;
    state_ = State::kReady;
    log_info("the store: the workers of generation ", generation_.number, " are connected");
    for (const Generation::Member &member : generation_.members) {
        const auto found = find(member.id);
        found->second.asked = false;
        found->second.held.clear();
        send(found->first, found->second, FrameKind::kGo, {});
    }
}

/// Drops workers until all others can reach each other. Every such round has fewer members than the one before, so
/// there are at most as many as there were members.
bool ElasticStore::drop_unreachable() {
    std::vector<std::set<uint32_t>> unreachable;
    for (const Generation::Member &member : generation_.members)
        unreachable.push_back(find(member.id)->second.unreachable);
    const std::set<uint32_t> dropped = choose_dropped(unreachable);
    for (const uint32_t rank : dropped) {
        const auto found = find(generation_.members[rank].id);
        const std::string where = text("the worker at ", text_of(found->second.listens));
        log_warn("the store: ", where, " is dropped: it and other workers cannot connect with each other");
        refuse(found->first, found->second.channel,
               Failure(MDIST_ERR_ABORTED, text(where,
                                               " cannot connect with other workers of the job, which go on without "
                                               "it. Check the network and firewall of that host"))
                   .reason("unreachable"));
        ended_.insert(found->second.id);
        workers_.erase(found);
    }
    return !dropped.empty();
}

void ElasticStore::fail(const Failure &failure) {
    failure_ = failure;
    state_ = State::kFailed;
    log_warn("the store: the job has failed: ", failure.message());
    for (auto &[connection, worker] : workers_) refuse(connection, worker.channel, failure);
    workers_.clear();
    heard_ns_.clear();
}

void ElasticStore::tick() {
    lobby_.tick();
    add_time_slept();
    if (world_.now_ns() < next_ns_) return;
    next_ns_ = world_.now_ns() + interval_ns_;
    look();
}

uint64_t ElasticStore::next_tick_ns() const {
    return std::min(lobby_.next_tick_ns(), next_ns_);
}

std::string ElasticStore::progress() const {
    std::size_t members = 0;
    for (const auto &[connection, worker] : workers_) members += generation_.rank_of(worker.id) ? 1 : 0;
    return text("generation ", generation_.number, ": ", members, " of ", generation_.members.size(),
                " workers are connected with the store; ", workers_.size() - members, " wait to enter");
}

} // namespace mdist
