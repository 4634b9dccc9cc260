// SPDX-License-Identifier: Apache-2.0
#include "membership/store/fixed_store.h"

#include <algorithm>
#include <utility>

#include "membership/protocol/neighbors.h"
#include "membership/store/compared_lines.h"
#include "util/log.h"
#include "util/payload.h"
#include "util/text.h"

namespace mdist {
namespace {

/// Between two reports of the missing workers, and more for each that gets one: reports must not be what the store does
/// most of the time.
constexpr uint64_t kProgressNs = 50'000'000, kProgressPerWorkerNs = 1'000'000;
constexpr std::size_t kMostListed = 16;
constexpr const char *kTwoRuns = "If the two belong to two runs, give each run a port or an MDIST_JOB_ID of its own";
constexpr std::size_t kMostFromWorker = 256; // payload of a frame from a worker

std::string name_of(uint32_t rank, const Endpoint &listens) {
    return text("worker ", rank, " (", host_and_pid(listens), ')');
}

/// Compares what a worker says with what another one says, whose settings count.
std::optional<Failure> disagreement(uint32_t rank, const Joining &worker, uint32_t other_rank, const Joining &other) {
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

FixedStore::FixedStore(World &world, FixedStoreOptions options)
    : Store(world, options.secret), options_(std::move(options)) {
    lobby_.expect(options_.size);
    lobby_.when_refused([this](uint32_t rank, const std::string &why) { note_refused(rank, why); });
}

std::size_t FixedStore::wanted(ConnectionId connection) const {
    return late_.count(connection) != 0 ? 1 : Store::wanted(connection);
}

void FixedStore::received(ConnectionId connection, std::string_view bytes) {
    if (late_.erase(connection) != 0) return world_.close(connection); // it must wait for an answer first
    Store::received(connection, bytes);
}

void FixedStore::closed(ConnectionId connection, int error) {
    if (late_.erase(connection) == 0) Store::closed(connection, error);
}

// ---- Workers come

void FixedStore::join(Guest guest, Joining joining) {
    const Hello &hello = guest.hello;
    if (hello.role == Role::kElastic)
        return refuse_guest(guest, Failure(MDIST_ERR_CONFIG,
                                           text("the worker at ", guest.host,
                                                " is configured for an elastic job, but the store serves one of fixed "
                                                "size. Set the same elastic.* keys on all workers"))
                                       .reason("different_config"));
    if (hello.role != Role::kJoin) return world_.close(guest.connection);
    if (hello.restart > options_.restart && hello.job == options_.job) {
        world_.send(guest.connection, guest.channel.pack(FrameKind::kTryAgain, SessionId{}, {}));
        return world_.close(guest.connection);
    }
    if (const auto failure = not_of_this_start(guest)) return refuse_guest(guest, *failure);
    if (state_ != State::kOpen) return keep_waiting(std::move(guest), std::move(joining));
    const uint32_t rank = hello.rank;
    if (const auto failure = objection(rank, joining)) return refuse_guest(guest, *failure);
    if (rank == 0) send_away_who_differs(joining);
    log_debug("the store: worker ", rank, " has joined from ", guest.host);
    joining.id = WorkerId{rank} + 1;
    let_in(std::move(guest), std::move(joining), kMostFromWorker);
    refused_.erase(rank);
    tell_progress_soon();
    look();
}

std::optional<Failure> FixedStore::not_of_this_start(const Guest &guest) const {
    const Hello &hello = guest.hello;
    const std::string who = text("worker ", hello.rank, " (", guest.host, ')');
    if (hello.job != options_.job)
        return Failure(MDIST_ERR_CONFIG,
                       text(who, " belongs to ", job_text(hello.job), ", the store to ",
                            options_.secret.empty() ? "another one" : job_text(options_.job), // may be a stranger
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

std::optional<Failure> FixedStore::objection(uint32_t rank, const Joining &joining) const {
    if (const Worker *first = worker(rank))
        return Failure(MDIST_ERR_FAILED_PRECONDITION,
                       text(name_of(rank, first->said.listens), " has already joined, so ",
                            name_of(rank, joining.listens), " needs another rank. ", kTwoRuns))
            .reason("duplicate_rank")
            .worker(rank);
    if (rank == 0 || workers_.empty()) return std::nullopt;
    const Worker *chief = worker(0);
    const Worker &other = chief != nullptr ? *chief : workers_.begin()->second;
    return disagreement(rank, joining, other.rank, other.said);
}

/// Keeps a late worker waiting, but no more of them than the next generation can have.
void FixedStore::keep_waiting(Guest guest, Joining joining) {
    if (late_.size() >= options_.size) return refuse_late(guest, joining);
    const ConnectionId connection = guest.connection;
    late_.emplace(connection, Late{std::move(guest), std::move(joining), world_.now_ns() + kLateNs});
}

void FixedStore::refuse_late(Guest &guest, const Joining &joining) {
    const Worker *const there = worker(guest.hello.rank);
    refuse_guest(guest,
                 Failure(MDIST_ERR_FAILED_PRECONDITION,
                         text(name_of(guest.hello.rank, joining.listens),
                              " cannot join a session that is complete and running", there == nullptr ? "" : ", with ",
                              there == nullptr ? "" : name_of(there->rank, there->said.listens),
                              "; it can join after that session ends. ", kTwoRuns))
                     .reason("stale_session"));
}

/// Sends away workers whose configuration differs from the chief's. The chief's counts, also if it joins after them.
void FixedStore::send_away_who_differs(const Joining &chief) {
    for (auto it = workers_.begin(); it != workers_.end();) {
        auto &[id, worker] = *it;
        const auto failure = disagreement(worker.rank, worker.said, 0, chief);
        if (failure) {
            lobby_.note_refusal("sent away", text("the store refused a worker: ", failure->message()));
            refused_[worker.rank] = failure->message();
            refuse(id, worker.channel, *failure);
        }
        it = failure ? workers_.erase(it) : std::next(it);
    }
}

const Store::Worker *FixedStore::worker(uint32_t rank) const {
    const auto found = find(WorkerId{rank} + 1);
    return found == workers_.end() ? nullptr : &found->second;
}

/// For the report of who is missing.
void FixedStore::note_refused(uint32_t rank, const std::string &why) {
    if (rank >= options_.size || worker(rank) != nullptr) return;
    refused_[rank] = why;
    tell_progress_soon();
}

void FixedStore::refuse_guest(Guest &guest, const Failure &failure) {
    lobby_.note_refusal(failure.reason(), text("the store refused a worker: ", failure.message()));
    note_refused(guest.hello.rank, failure.message());
    refuse(guest.connection, guest.channel, failure);
}

// ---- A generation begins and ends

std::optional<Failure> FixedStore::split_by_loopback() const {
    const Worker *near = nullptr, *far = nullptr;
    for (const auto &[id, worker] : workers_) (is_loopback(worker.said.listens) ? near : far) = &worker;
    if (near == nullptr || far == nullptr) return std::nullopt;
    return Failure(MDIST_ERR_CONFIG,
                   text("worker ", near->rank, " listens at the loopback address ", near->said.listens.host,
                        ", worker ", far->rank, " at ", far->said.listens.host,
                        ", so they cannot reach each other. Set the store to an address that all hosts can reach"))
        .reason("loopback_store");
}

void FixedStore::look() {
    if (state_ == State::kOpen && workers_.size() == options_.size) begin_generation();
    if (state_ != State::kMeshing || !all_meshed()) return;
    state_ = State::kReady;
    log_info("the store: all ", options_.size, " workers are connected");
    send_to_members(FrameKind::kGo, {});
}

void FixedStore::begin_generation() {
    if (const auto failure = split_by_loopback()) {
        for (auto &[id, worker] : workers_) send(id, worker, FrameKind::kRefused, encode(*failure));
        return end_generation(failure->message(), MDIST_NONE);
    }
    std::vector<ConnectionId> by_rank(options_.size);
    for (const auto &[id, worker] : workers_) by_rank[worker.rank] = id;
    begin(next_generation(by_rank, 0, std::nullopt));
    first_gone_ = MDIST_NONE;
    tell_progress_ns_ = UINT64_MAX;
    const std::string all = encode(generation_);
    for (auto &[id, worker] : workers_)
        if (worker.rank == 0 || connects_all(options_.size)) // in a large job, worker 0 tells the others (peers.h)
            send(id, worker, FrameKind::kGeneration, all);
        else
            send(id, worker, FrameKind::kExcerpt, encode(excerpt_for(worker.rank)));
}

Excerpt FixedStore::excerpt_for(uint32_t rank) const {
    Excerpt excerpt{generation_.session, generation_.pulse, options_.size};
    std::vector<uint32_t> ranks = neighbors_of(rank, options_.size);
    ranks.push_back(rank);
    for (const uint32_t each : ranks) excerpt.some.emplace(each, generation_.members[each].listens);
    return excerpt;
}

void FixedStore::heard(ConnectionId connection, Worker &worker, const ControlFrame &frame) {
    if (frame.kind == FrameKind::kMeshed) return meshed(worker, frame);
    if (frame.kind != FrameKind::kGoodbye) return;
    const uint32_t rank = worker.rank;
    world_.close(connection);
    workers_.erase(connection);
    go_on_without(rank, rank);
}

void FixedStore::lost(const Worker &worker) {
    go_on_without(worker.rank, MDIST_NONE);
}

void FixedStore::go_on_without(uint32_t rank, uint32_t gone) {
    if (state_ == State::kOpen)
        tell_progress_soon();
    else
        end_generation(text("worker ", rank, " has gone"), gone);
}

void FixedStore::end_generation(const std::string &why, uint32_t gone) {
    first_gone_ = gone;
    log_debug("the store: the session has ended: ", why);
    for (auto &[id, worker] : workers_) {
        send(id, worker, FrameKind::kOver, PayloadWriter().text(why).take());
        world_.close(id);
    }
    workers_.clear();
    members_.clear();
    refused_.clear();
    generation_ = {};
    state_ = State::kOpen;
    for (auto &[id, late] : std::exchange(late_, {})) join(std::move(late.guest), std::move(late.joining));
}

void FixedStore::restart(uint32_t size, uint32_t restart) {
    if (restart <= options_.restart)
        throw invalid(text("restart is ", restart, ", which must be more than ", options_.restart));
    options_.size = size;
    options_.restart = restart;
    lobby_.expect(size);
    end_generation("the job is being started again", MDIST_NONE);
}

// ---- Time

void FixedStore::tell_progress_soon() {
    tell_progress_ns_ =
        std::min(tell_progress_ns_, world_.now_ns() + kProgressNs + workers_.size() * kProgressPerWorkerNs);
}

void FixedStore::tick() {
    lobby_.tick();
    while (!late_.empty() && world_.now_ns() >= late_.begin()->second.until_ns) {
        auto late = late_.extract(late_.begin());
        refuse_late(late.mapped().guest, late.mapped().joining);
    }
    if (world_.now_ns() < tell_progress_ns_) return;
    tell_progress_ns_ = UINT64_MAX;
    if (state_ != State::kOpen) return;
    std::vector<uint32_t> ranks = missing();
    ranks.resize(std::min(ranks.size(), kMostListed));
    const std::string bytes = PayloadWriter()(limited(ranks, kMostListed), progress()).take();
    for (auto &[id, worker] : workers_) send(id, worker, FrameKind::kProgress, bytes);
}

uint64_t FixedStore::next_tick_ns() const {
    const uint64_t late_ns = late_.empty() ? UINT64_MAX : late_.begin()->second.until_ns;
    return std::min({lobby_.next_tick_ns(), tell_progress_ns_, late_ns});
}

std::string FixedStore::progress() const {
    if (state_ == State::kReady) return text(options_.size, " workers are connected");
    if (state_ == State::kMeshing) return text("all ", options_.size, " workers have joined and are being connected");
    const auto name = [&](uint32_t rank) {
        const auto found = refused_.find(rank);
        return found == refused_.end() ? text(rank) : text(rank, " (refused: ", found->second, ')');
    };
    return text(workers_.size(), " of ", options_.size,
                " workers have joined; missing: ", list_of(missing(), name, kMostListed));
}

std::vector<uint32_t> FixedStore::missing() const {
    std::vector<bool> there(options_.size, false);
    for (const auto &[id, worker] : workers_) there[worker.rank] = true;
    std::vector<uint32_t> ranks;
    for (uint32_t rank = 0; rank < options_.size; ++rank)
        if (!there[rank]) ranks.push_back(rank);
    return ranks;
}

} // namespace mdist
