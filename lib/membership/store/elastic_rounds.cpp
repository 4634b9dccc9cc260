// SPDX-License-Identifier: Apache-2.0
// When a round of an elastic store closes, and what the next generation is.
#include "membership/store/elastic_store.h"

#include <algorithm>
#include <utility>

#include "util/log.h"
#include "util/text.h"

namespace mdist {
namespace {

constexpr std::size_t kMostLostListed = 16;

Failure data_loss(const Recovery &recovery) {
    return Failure(MDIST_ERR_DATA_LOSS,
                   text("too many workers were lost since the last commit: ",
                        recovery.lost.empty()
                            ? std::string("no worker that is left has finished it")
                            : "no copy is left of the state of replicas " + list_of(recovery.lost, {}, kMostLostListed),
                        ". Restore a checkpoint in a new job, or set elastic.copies higher"))
        .reason("replica_lost");
}

} // namespace

bool ElasticStore::is_silent(WorkerId id) const {
    const auto found = heard_ns_.find(id);
    return found == heard_ns_.end() || world_.now_ns() - found->second >= options_.heartbeat_timeout_ns;
}

/// If no member was heard for the timeout, the store was out of reach, and not they. The first that is heard again then
/// gives the others the whole timeout anew; else a round would close without those that come a moment later.
void ElasticStore::note_sign_of_life(WorkerId id) {
    const auto &members = generation_.members;
    const auto silent = [this](const Generation::Member &member) { return is_silent(member.id); };
    if (is_member(id) && std::all_of(members.begin(), members.end(), silent))
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
    for (auto &[id, due_ns] : due_ns_) due_ns += slept_ns;
    if (waits_since_ns_) waits_since_ns_ = std::min(now, *waits_since_ns_ + slept_ns);
    if (awaits_return_ns_) awaits_return_ns_ = std::min(now, *awaits_return_ns_ + slept_ns);
    next_ns_ = now;
}

/// Whether a member that lives, and is connected, has not asked in time.
bool ElasticStore::is_overdue(WorkerId id) const {
    const auto due = due_ns_.find(id);
    return due != due_ns_.end() && world_.now_ns() >= due->second && !is_silent(id) && find(id) != workers_.end();
}

/// Says until when the other members must have asked, since this one has.
void ElasticStore::limit_others(const Ask &ask) {
    std::set<WorkerId> have_asked;
    for (const auto &[connection, worker] : workers_)
        if (worker.asked) have_asked.insert(worker.said.id);
    const uint64_t half_ns = ask.limit_ns / 2, silence_ns = options_.heartbeat_timeout_ns;
    for (const Generation::Member &member : generation_.members) {
        if (have_asked.count(member.id) != 0) continue;
        const bool was_missed = member.id == ask.missed;
        const uint64_t due_ns =
            world_.now_ns() + (was_missed ? std::min(half_ns, silence_ns) : std::max(half_ns, silence_ns));
        const auto [known, fresh] = due_ns_.try_emplace(member.id, due_ns);
        if (!fresh) known->second = std::min(known->second, due_ns);
    }
}

ElasticStore::Tally ElasticStore::tally() const {
    Tally result;
    std::map<WorkerId, ConnectionId> have_asked;
    for (const auto &[connection, worker] : workers_)
        if (worker.asked) have_asked.emplace(worker.said.id, connection);
    for (const Generation::Member &member : generation_.members) {
        if (ended_.count(member.id) != 0) continue;
        result.all_ended = false;
        const bool is_late = is_overdue(member.id);
        if (is_late) result.overdue.push_back(member.id);
        if (is_late || is_silent(member.id)) {
            ++result.silent;
            continue;
        }
        const auto found = have_asked.find(member.id);
        if (found != have_asked.end())
            result.survivors.push_back(found->second);
        else
            result.all_settled = false;
    }
    for (const auto &[connection, worker] : workers_)
        if (worker.asked && !is_member(worker.said.id) && !is_silent(worker.said.id))
            result.newcomers.push_back(connection);
    if (generation_.number == 0)
        std::stable_sort(result.newcomers.begin(), result.newcomers.end(),
                         [this](ConnectionId a, ConnectionId b) { return workers_.at(a).rank < workers_.at(b).rank; });
    return result;
}

/// The same without one worker that was asked to leave, if the others are enough and have the whole commit. Its part of
/// the newest commit is with its holders, as the part of a lost worker is.
ElasticStore::Tally ElasticStore::without_leaver(Tally all) const {
    const auto leaver = std::find_if(all.survivors.begin(), all.survivors.end(), [this](ConnectionId connection) {
        return leaving_.count(workers_.at(connection).said.id) != 0;
    });
    if (leaver == all.survivors.end()) return all;
    Tally rest = all;
    rest.survivors.erase(rest.survivors.begin() + (leaver - all.survivors.begin()));
    if (rest.survivors.empty() || rest.survivors.size() + rest.newcomers.size() < options_.min_workers) return all;
    return recovery_among(rest).resume == recovery_among(all).resume ? rest : all;
}

void ElasticStore::look() {
    if (state_ == State::kFailed) return;
    const Tally now = without_leaver(tally());
    const bool is_first = generation_.number == 0;
    if (!is_first && now.all_ended)
        return fail(
            Failure(MDIST_ERR_ABORTED, text("all workers of generation ", generation_.number, " of the job have ended"))
                .reason("job_ended"));
    if (is_forsaken())
        return fail(Failure(MDIST_ERR_TIMEOUT, text("none of the ", members_.size(), " workers of generation ",
                                                    generation_.number, " has come back to the store within ",
                                                    seconds_text(options_.heartbeat_timeout_ns + options_.wait_ns)))
                        .reason("too_few_workers"));
    if (state_ == State::kReady) return;
    if (state_ == State::kMeshing) return look_at_mesh();
    // While no member asks, the generation may be working, even if the store cannot hear any of them.
    if (!now.all_settled || (!is_first && now.survivors.empty())) return waits_since_ns_.reset();
    const std::size_t there = now.survivors.size() + now.newcomers.size();
    const Recovery recovery = recovery_of(now);
    const bool is_lost = has_commit_ && !recovery.resume;
    if (!is_lost)
        for (const WorkerId id : now.overdue) give_up_on(id);
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

Recovery ElasticStore::recovery_among(const Tally &tally) const {
    std::vector<Holdings> held;
    for (const ConnectionId connection : tally.survivors) held.push_back(workers_.at(connection).held);
    return recover(held, options_.replicas);
}

/// The commit that these survivors can resume from.
Recovery ElasticStore::recovery_of(const Tally &tally) {
    Recovery recovery = recovery_among(tally);
    const bool had_commit = std::exchange(has_commit_, has_commit_ || recovery.resume || !recovery.lost.empty());
    if (has_commit_ && !had_commit) keep(generation_);
    return recovery;
}

/// Writes the next generation.
void ElasticStore::close_round(const Tally &tally, const Recovery &recovery) {
    std::vector<ConnectionId> members = tally.survivors;
    members.insert(members.end(), tally.newcomers.begin(), tally.newcomers.end());
    members.resize(std::min<std::size_t>(members.size(), options_.max_workers));
    Generation next = next_generation(members, options_.replicas, recovery.resume);
    if (!keep(next)) return; // nobody has heard of it, and the round closes at a later look
    const Generation former = begin(std::move(next));
    waits_since_ns_.reset();
    due_ns_.clear();
    log_info("the store: generation ", generation_.number, " has ", members.size(), " workers");
    send_away_former_members(former);
    if (!takes_newcomers()) send_away_newcomers();
    ended_.clear();
    send_to_members(FrameKind::kGeneration, encode(generation_));
}

void ElasticStore::look_at_mesh() {
    std::size_t heard = 0, reported = 0;
    for (const auto &[connection, worker] : workers_) {
        if (!is_member(worker.said.id)) continue;
        heard += is_silent(worker.said.id) ? 0 : 1;
        reported += worker.reported ? 1 : 0;
    }
    const bool any_missing = heard < members_.size(), all_reported = reported == members_.size();
    if (any_missing || (all_reported && !all_meshed() && drop_unreachable())) {
        state_ = State::kOpen; // those that are left have asked, and need not ask again
        return look();
    }
    if (!all_meshed()) return;
    state_ = State::kReady;
    log_info("the store: the workers of generation ", generation_.number, " are connected");
    for (auto &[connection, worker] : workers_) {
        if (!is_member(worker.said.id)) continue;
        worker.asked = false;
        worker.held.clear();
    }
    send_to_members(FrameKind::kGo, {});
    if (any_leaves()) tell_members(); // the next one
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
        const std::string where = text("the worker at ", text_of(found->second.said.listens));
        std::string others;
        for (uint32_t other = 0; other < unreachable.size() && others.empty(); ++other)
            if (unreachable[rank].count(other) != 0 || unreachable[other].count(rank) != 0)
                others = text(" and the worker at ", text_of(generation_.members[other].listens),
                              " have reached the store, but cannot connect with each other");
        log_warn("the store: ", where, others, ". The job goes on without the first");
        refuse(found->first, found->second.channel,
               Failure(MDIST_ERR_ABORTED,
                       text(where, others, ". The job goes on without the first", firewall_advice(ListenAt())))
                   .reason("unreachable"));
        note_end_of(found->second.said.id);
        workers_.erase(found);
    }
    return !dropped.empty();
}

} // namespace mdist
