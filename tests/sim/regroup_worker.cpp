// SPDX-License-Identifier: Apache-2.0
#include "regroup_job.h"

#include <algorithm>

namespace mdist::test {
namespace {

constexpr uint64_t kExchangeNs = 6 * kSecond;

} // namespace

void RegroupWorker::start() {
    MembershipOptions options;
    options.elastic_id = id;
    options.store = "store:4400";
    options.job = "simulated";
    options.secret = job.plan.secret ? "a secret" : "";
    options.agreement = "a = 1\n";
    options.join_timeout_ns = kJoin;
    options.heartbeat_timeout_ns = kSilence;
    member = std::make_unique<Member>(process, options, std::vector<Endpoint>{{job.store_process->host(), 4400}});
    member->ask({}, kJoin);
    process.run(member.get());
}

void RegroupWorker::rest(uint64_t most) {
    resting = true;
    job.simulation.after(job.simulation.random(most), [this] {
        resting = false;
        if (process.alive() && !process.stopped()) look();
    });
}

/// Does what the program's thread would do. Called after every event.
void RegroupWorker::look() {
    if (!member || failure || left || !process.alive() || process.stopped() || resting || slow) return;
    switch (member->state()) {
        case Member::State::kEnded:
            failure = member->failure();
            job.simulation.trace(text("worker ", id, " ends: ", failure->message()));
            return job.replace(*this);
        case Member::State::kFailed:
            if (asks_soon) {
                asks_soon = false;
                return ask();
            }
            job.simulation.trace(text("worker ", id, " fails: ", member->failure()->message()));
            asks_soon = true; // after a while, like a program that has to unwind first
            waiting = false;
            return rest(kSecond / 2);
        case Member::State::kReady:
            break;
        default:
            return;
    }
    if (member->generation().number != generation) enter();
    if (wants_regroup) return ask();
    if (!waiting) return begin();
    Peers &peers = member->peers();
    if (peers.exchanged(exchange)) {
        if (generation < job.store->generation().number && ++done_in_old > 2)
            job.blame(text("worker ", id, " goes on in generation ", generation, " after generation ",
                           job.store->generation().number, " was written"));
        waiting = false;
        complete(peers.take_exchange(exchange));
        if (!left) rest(200 * kMillisecond);
        process.touched();
    } else if (job.simulation.now() >= late_ns) {
        peers.fail(Failure(MDIST_ERR_TIMEOUT, "an exchange took too long").worker(peers.awaited(exchange)));
        process.touched();
        look();
    }
}

void RegroupWorker::ask() {
    waiting = wants_regroup = false;
    job.simulation.trace(text("worker ", id, " asks in generation ", generation));
    member->ask(holdings_of(commits), kJoin, leaves);
    process.touched();
}

/// A new generation: everything is as at its commit, once the parts have been passed on.
void RegroupWorker::enter() {
    const Generation &now = member->generation();
    generation = now.number;
    done_in_old = 0;
    asks_soon = false;
    const auto [seen, fresh] = job.generations.try_emplace(generation, encode(now));
    if (!fresh && seen->second != encode(now)) job.blame(text("two views of generation ", generation));
    job.simulation.trace(
        text("worker ", id, " is rank ", member->rank(), " of ", now.members.size(), " in generation ", generation));
    const ReplicaRange mine = now.members[member->rank()].replicas;
    if (!now.resume) {
        commits.clear();
        training = Training{};
        training.parts = Training::initial(mine);
        phase = Phase::kParts; // commit 0, before the first step
        return;
    }
    std::erase_if(commits, [&](const Commit &commit) { return commit.id != *now.resume; });
    phase = Phase::kRestore;
}

std::string RegroupWorker::blob() const {
    PayloadWriter out;
    const bool would_leave = leaves && member->generation().members.size() > job.plan.min_workers;
    out.number(member->newcomers() | (member->any_leaves() || would_leave ? kLeaves : 0));
    switch (phase) {
        case Phase::kRestore:
            out.number(static_cast<uint8_t>(!commits.empty()));
            if (commits.empty()) break;
            out.number(commits[0].step).number(commits[0].shared);
            write_parts(out, commits[0].parts);
            break;
        case Phase::kParts:
            write_parts(out, training.parts);
            break;
        case Phase::kStep:
            write_parts(out, training.stepped());
            break;
        default:
            break;
    }
    return out.take();
}

void RegroupWorker::begin() {
    if (phase == Phase::kParts) {
        const uint64_t number = commits.empty() ? 0 : commits.back().id.number + 1;
        commits.push_back({{number, generation}, false, training.step, training.shared, training.parts});
    }
    exchange = member->peers().begin_exchange(blob());
    waiting = true;
    late_ns = job.simulation.now() + kExchangeNs;
    job.simulation.at(late_ns, [this] {
        if (waiting && process.alive() && !process.stopped()) look();
    });
    process.touched();
}

/// Whether this worker keeps the parts of that rank's replicas.
bool RegroupWorker::holds_for(uint32_t rank) const {
    const auto size = static_cast<uint32_t>(member->generation().members.size());
    const uint32_t behind = (member->rank() + size - rank) % size;
    return behind <= job.plan.copies;
}

void RegroupWorker::restore(const std::vector<std::string> &blobs) {
    const Generation &now = member->generation();
    Commit whole{*now.resume, true, 0, 0, {}};
    for (const std::string &blob : blobs) {
        PayloadReader in(blob);
        in.number<uint32_t>();
        if (in.number<uint8_t>() == 0) continue;
        whole.step = in.number<uint64_t>();
        whole.shared = in.number<uint64_t>();
        for (const auto &[replica, state] : read_parts(in)) {
            const auto [known, fresh] = whole.parts.try_emplace(replica, state);
            if (!fresh && known->second != state) job.blame(text("two copies of the part of replica ", replica));
        }
    }
    if (whole.parts.size() != job.plan.replicas)
        return job.blame(text("generation ", generation, " resumes from a commit of which parts are missing"));
    training = {whole.step, whole.shared, {}};
    Parts kept = commits.empty() ? Parts{} : commits[0].parts; // until the next commit: others may not be as far
    for (uint32_t rank = 0; rank < now.members.size(); ++rank)
        for (uint32_t replica = now.members[rank].replicas.first; replica < now.members[rank].replicas.last;
             ++replica) {
            if (holds_for(rank)) kept[replica] = whole.parts[replica];
            if (rank == member->rank()) training.parts[replica] = whole.parts[replica];
        }
    whole.parts = std::move(kept);
    commits.assign(1, std::move(whole));
    phase = training.step == job.plan.steps ? Phase::kBye : Phase::kStep;
    if (phase == Phase::kBye) finish();
}

void RegroupWorker::finish() {
    finished = true;
    if (training.shared != job.result) job.blame(text("worker ", id, " has another result"));
}

void RegroupWorker::keep_parts(const std::vector<std::string> &blobs) {
    for (uint32_t rank = 0; rank < blobs.size(); ++rank) {
        if (!holds_for(rank)) continue;
        PayloadReader in(blobs[rank]);
        in.number<uint32_t>();
        commits.back().parts.merge(read_parts(in));
    }
    phase = Phase::kBarrier;
}

void RegroupWorker::mark(const std::vector<std::string> &blobs) {
    commits.back().marked = true;
    const bool is_last = training.step == job.plan.steps;
    if (is_last) finish();
    phase = is_last ? Phase::kBye : Phase::kStep;
    const bool has_room = blobs.size() < job.plan.max_workers;
    for (const std::string &blob : blobs) { // all see the same, so all decide the same
        const auto wish = PayloadReader(blob).number<uint32_t>();
        if (!is_last && ((wish & kLeaves) != 0 || (wish != 0 && has_room))) wants_regroup = true;
    }
}

void RegroupWorker::complete(const std::vector<std::string> &blobs) {
    // An operation of all workers has succeeded, so all have marked the newest commit that this worker has marked.
    if (commits.size() == 2 && commits[1].marked) commits.erase(commits.begin());
    switch (phase) {
        case Phase::kRestore:
            return restore(blobs);
        case Phase::kParts:
            return keep_parts(blobs);
        case Phase::kBarrier:
            return mark(blobs);
        case Phase::kStep: {
            Parts all;
            for (const std::string &blob : blobs) {
                PayloadReader in(blob);
                in.number<uint32_t>();
                all.merge(read_parts(in));
            }
            if (all.size() != job.plan.replicas) job.blame("a step without some replicas");
            training.finish_step(all, training.stepped());
            if (training.step % job.plan.commit_every == 0 || training.step == job.plan.steps) phase = Phase::kParts;
            return;
        }
        case Phase::kBye:
            job.simulation.trace(text("worker ", id, " has finished"));
            left = true;
            return member->leave();
    }
}

} // namespace mdist::test
