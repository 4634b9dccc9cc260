// SPDX-License-Identifier: Apache-2.0
#include "membership/store/elastic_store.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "membership/store/compared_lines.h"
#include "util/log.h"
#include "util/payload.h"
#include "util/text.h"

namespace mdist {
namespace {

constexpr uint64_t kLongestPulseNs = 1'000'000'000;
constexpr std::size_t kMostFromElastic = 1024 * 1024; // what a worker holds, in ranges of replicas

Failure old_generation(const std::string &who, uint32_t believed, uint32_t current) {
    return Failure(MDIST_ERR_ABORTED,
                   text(who, " was in generation ", believed, " of the job, which is now at generation ", current,
                        " without it. Start it again, as a new worker"))
        .reason("old_generation");
}

Failure old_state(const std::string &who, uint32_t believed, uint32_t current) {
    return Failure(MDIST_ERR_ABORTED,
                   text(who, " was in generation ", believed, " of the job, but the store knows none after ", current,
                        ". If it has come back, its state is an old copy. Start the job again"))
        .reason("old_generation");
}

Failure was_dropped(const std::string &who) {
    return Failure(MDIST_ERR_ABORTED,
                   text(who,
                        " was dropped from the job, which goes on without it: others waited for it, and it did not "
                        "call mdist_regroup in time. Start it again, as a new worker"))
        .reason("dropped");
}

Failure closed_job(const std::string &who) {
    return Failure(MDIST_ERR_UNAUTHENTICATED,
                   text(who,
                        " has come after the job had formed, and the job has no secret by which to know it. Set "
                        "secret_file on all workers and at the store. Or, if everybody who can connect may join "
                        "and receive all weights, set elastic.open to true at the store"))
        .reason("closed");
}

Failure dismissed(const std::string &who) {
    return Failure(MDIST_ERR_ABORTED, text(who, " has left the job, which goes on without it")).reason("dismissed");
}

} // namespace

ElasticStore::ElasticStore(World &world, ElasticStoreOptions options)
    : Store(world, options.secret),
      options_(std::move(options)),
      interval_ns_(std::clamp<uint64_t>(options_.heartbeat_timeout_ns / 10, 1'000'000, kLongestPulseNs)),
      next_ns_(world.now_ns() + interval_ns_) {
    options_.max_workers = std::min(options_.max_workers, options_.replicas);
    lobby_.expect(options_.max_workers);
    if (!options_.kept.empty()) come_back();
}

void ElasticStore::received(ConnectionId connection, std::string_view bytes) {
    add_time_slept();
    Store::received(connection, bytes);
}

void ElasticStore::closed(ConnectionId connection, int error) {
    add_time_slept();
    Store::closed(connection, error);
}

// ---- Workers come and go

void ElasticStore::join(Guest guest, Joining joining) {
    if (const auto failure = objection(guest, joining)) {
        lobby_.note_refusal(failure->reason(), text("the store refused a worker: ", failure->message()));
        return refuse(guest.connection, guest.channel, *failure);
    }
    const WorkerId id = joining.id;
    // Its old connection has ended for it, and not yet here.
    if (const auto before = find(id); before != workers_.end()) drop(before->first);
    // One that was cut off may ask only now.
    if (const auto due = due_ns_.find(id); due != due_ns_.end())
        due->second = std::max(due->second, world_.now_ns() + options_.heartbeat_timeout_ns);
    note_sign_of_life(id);
    if (is_member(id)) awaits_return_ns_.reset();
    const ConnectionId connection = guest.connection;
    send(connection, let_in(std::move(guest), std::move(joining), kMostFromElastic), FrameKind::kWelcome, news_for(id));
}

std::optional<Failure> ElasticStore::objection(const Guest &guest, const Joining &joining) const {
    const auto &[id, believed, listens, agreement, run] = joining;
    const std::string who = text("the worker at ", guest.host);
    if (guest.hello.role != Role::kElastic)
        return Failure(MDIST_ERR_CONFIG, text(who,
                                              " is configured for a job of fixed size, but the store serves an "
                                              "elastic one. Set the same elastic.* keys on all workers"))
            .reason("different_config");
    if (guest.hello.job != options_.job)
        return Failure(MDIST_ERR_CONFIG, text(who, " belongs to ", job_text(guest.hello.job),
                                              ", the store to another one. Give it the address of its own store"))
            .reason("different_job");
    if (failure_) return failure_;
    const bool was_in = is_member(id);
    if (believed != 0 && dropped_.count(id) != 0) return was_dropped(who);
    if (believed > generation_.number) return old_state(who, believed, generation_.number);
    if (believed != 0 && !was_in) return old_generation(who, believed, generation_.number);
    if (was_in && ended_.count(id) != 0) return old_generation(who, believed, generation_.number);
    if (!was_in && !takes_newcomers()) return closed_job(who);
    const bool is_needed = generation_.number == 0 && workers_.size() < options_.min_workers;
    if (!was_in && leaving_.count(id) != 0 && !is_needed) return dismissed(who);
    if (!workers_.empty() && workers_.begin()->second.said.agreement != agreement)
        return Failure(MDIST_ERR_CONFIG, text(who, " is configured differently from the other workers of the job: ",
                                              differing_lines(workers_.begin()->second.said.agreement, agreement)))
            .reason("different_config");
    return std::nullopt;
}

void ElasticStore::lost(const Worker &worker) {
    if (!is_member(worker.said.id)) heard_ns_.erase(worker.said.id);
    look();
}

void ElasticStore::note_end_of(WorkerId id) {
    if (is_member(id) && ended_.insert(id).second) unkept_ = true;
}

void ElasticStore::ended(ConnectionId connection) {
    const WorkerId id = workers_.at(connection).said.id;
    note_end_of(id);
    drop(connection);
}

/// Goes on without a member that lives. Its launcher may end it, and start another one.
void ElasticStore::give_up_on(WorkerId id) {
    const auto found = find(id);
    const Failure failure = was_dropped(text("the worker at ", host_and_pid(found->second.said.listens)));
    log_warn("the store: ", failure.message());
    refuse(found->first, found->second.channel, failure);
    workers_.erase(found);
    due_ns_.erase(id);
    dropped_.insert(id);
    note_end_of(id);
    left_behind_.push_back({id, MDIST_DEPARTURE_LOST});
}

std::optional<ElasticStore::LeftBehind> ElasticStore::take_left_behind() {
    if (left_behind_.empty()) return std::nullopt;
    const LeftBehind next = left_behind_.front();
    left_behind_.pop_front();
    return next;
}

void ElasticStore::reaped(WorkerId id) {
    note_end_of(id);
    if (const auto found = find(id); found != workers_.end()) return drop(found->first);
    look();
}

void ElasticStore::dismiss(WorkerId id) {
    const auto found = find(id);
    leaving_.insert(id);
    unkept_ = true;
    if (is_member(id)) {
        tell_members();
    } else if (found != workers_.end() && workers_.size() > options_.min_workers) { // it has nothing that others need
        refuse(found->first, found->second.channel, dismissed(text("the worker at ", found->second.said.listens.host)));
        lost(workers_.extract(found).mapped());
    }
}

bool ElasticStore::any_leaves() const {
    if (generation_.members.size() <= options_.min_workers) return false; // it cannot leave now
    return std::any_of(leaving_.begin(), leaving_.end(), [this](WorkerId id) { return is_member(id); });
}

/// Those that the first generation had no place for.
void ElasticStore::send_away_newcomers() {
    for (auto it = workers_.begin(); it != workers_.end();) {
        auto &[connection, worker] = *it;
        const bool goes = !is_member(worker.said.id);
        if (goes) refuse(connection, worker.channel, closed_job(text("the worker at ", worker.said.listens.host)));
        if (goes) heard_ns_.erase(worker.said.id);
        it = goes ? workers_.erase(it) : std::next(it);
    }
}

void ElasticStore::send_away_former_members(const Generation &former) {
    for (const Generation::Member &member : former.members) {
        if (is_member(member.id)) continue;
        heard_ns_.erase(member.id);
        const bool leaves = leaving_.erase(member.id) != 0, is_willing = willing_.erase(member.id) != 0;
        if (ended_.count(member.id) == 0 && (is_willing || !leaves))
            left_behind_.push_back({member.id, is_willing ? MDIST_DEPARTURE_LEFT : MDIST_DEPARTURE_LOST});
        const auto found = find(member.id);
        if (found == workers_.end()) continue;
        const std::string who = text("the worker at ", found->second.said.listens.host);
        refuse(found->first, found->second.channel,
               leaves ? dismissed(who) : old_generation(who, former.number, generation_.number));
        workers_.erase(found);
    }
}

void ElasticStore::heard(ConnectionId connection, Worker &worker, const ControlFrame &frame) {
    note_sign_of_life(worker.said.id);
    switch (frame.kind) {
        case FrameKind::kHeartbeat:
            knows_of_commit_ = knows_of_commit_ || PayloadReader(frame.payload).number<uint8_t>() != 0;
            return send(connection, worker, FrameKind::kHeartbeat, news_for(worker.said.id));
        case FrameKind::kAsk:
            return asked(worker, frame.payload);
        case FrameKind::kMeshed:
        case FrameKind::kUnreachable:
            return meshed(worker, frame);
        case FrameKind::kGoodbye:
            return ended(connection);
        default:
            return drop(connection);
    }
}

/// How many newcomers wait, which generation there is without this worker, and whether a member is to leave.
std::string ElasticStore::news_for(WorkerId id) const {
    const auto waits = [this](const auto &one) { return one.second.asked && !is_member(one.second.said.id); };
    const auto waiting = static_cast<uint32_t>(std::count_if(workers_.begin(), workers_.end(), waits));
    return PayloadWriter()(waiting, is_member(id) ? 0 : generation_.number, any_leaves()).take();
}

/// Tells the members at once that somebody waits to enter.
void ElasticStore::tell_members() {
    for (auto &[connection, worker] : workers_)
        if (is_member(worker.said.id)) send(connection, worker, FrameKind::kHeartbeat, news_for(worker.said.id));
}

void ElasticStore::asked(Worker &worker, const std::string &payload) {
    const Ask ask = decode_ask(payload).value_or(Ask{});
    worker.held = ask.held;
    worker.asked = true;
    if (ask.leaves && is_member(worker.said.id) && willing_.insert(worker.said.id).second) {
        leaving_.insert(worker.said.id);
        unkept_ = true;
    }
    due_ns_.erase(worker.said.id);
    if (state_ == State::kReady && !is_member(worker.said.id)) tell_members();
    if (state_ == State::kReady && is_member(worker.said.id)) {
        log_info("the store: a worker of generation ", generation_.number, " asks for the next one");
        state_ = State::kOpen;
        waits_since_ns_.reset();
    }
    if (state_ == State::kOpen && is_member(worker.said.id)) limit_others(ask);
    look();
}

void ElasticStore::fail(const Failure &failure) {
    failure_ = failure;
    state_ = State::kFailed;
    forget();
    if (failure.reason() == "job_ended")
        log_info("the store: ", failure.message());
    else
        log_warn("the store: the job has failed: ", failure.message());
    for (const Generation::Member &member : generation_.members)
        if (ended_.count(member.id) == 0) left_behind_.push_back({member.id, MDIST_DEPARTURE_JOB_FAILED});
    for (auto &[connection, worker] : workers_) refuse(connection, worker.channel, failure);
    workers_.clear();
    heard_ns_.clear();
}

void ElasticStore::tick() {
    lobby_.tick();
    add_time_slept();
    if (world_.now_ns() < next_ns_) return;
    next_ns_ = world_.now_ns() + interval_ns_;
    if (unkept_) keep(generation_);
    look();
}

uint64_t ElasticStore::next_tick_ns() const {
    return std::min(lobby_.next_tick_ns(), next_ns_);
}

uint32_t ElasticStore::joined() const {
    uint32_t members = 0;
    for (const auto &[connection, worker] : workers_) members += is_member(worker.said.id) ? 1 : 0;
    return members;
}

std::string ElasticStore::progress() const {
    if (failure_) return failure_->message();
    const std::size_t members = joined();
    if (generation_.number == 0)
        return text(workers_.size(), " of ", options_.max_workers, " workers are connected; the job has not begun");
    return text("generation ", generation_.number, ": ", members, " of ", generation_.members.size(),
                " workers are connected with the store; ", workers_.size() - members, " wait to enter");
}

} // namespace mdist
