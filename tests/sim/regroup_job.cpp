// SPDX-License-Identifier: Apache-2.0
#include "regroup_job.h"

#include <algorithm>

namespace mdist::test {
namespace {

constexpr uint64_t kLongStop = 10 * kSecond;

} // namespace

RegroupJob::RegroupJob(uint64_t seed, const RegroupPlan &wanted, bool trace)
    : simulation(seed, trace), plan(wanted), result(undisturbed(wanted.replicas, wanted.steps)) {
    start_store(simulation.add_process());
    for (uint32_t i = 0; i < plan.workers; ++i) add_worker();
    for (const uint64_t when : plan.joins) {
        simulation.at(simulation.now() + when, [this] { add_worker(); });
        last_fault_ns = std::max(last_fault_ns, simulation.now() + when);
    }
    for (const FaultPlan &fault : plan.faults) {
        if (fault.at_event) continue;
        simulation.at(simulation.now() + fault.at_ns, [this, fault] { apply(fault); });
        last_fault_ns = std::max(last_fault_ns, simulation.now() + fault.at_ns);
    }
}

/// Goes on from the state that was kept, if there is any.
void RegroupJob::start_store(Process &process) {
    store_process = &process;
    ElasticStoreOptions options;
    options.replicas = plan.replicas;
    options.min_workers = plan.min_workers;
    options.max_workers = plan.max_workers;
    options.wait_ns = 3 * kSecond;
    options.heartbeat_timeout_ns = kSilence;
    options.job = "simulated";
    options.secret = plan.secret ? "a secret" : "";
    options.open = true;
    options.kept = kept;
    options.keep = [this](const std::string &bytes) {
        if (disk_is_full) throw Failure(MDIST_ERR_IO, "No space left on device");
        kept = bytes;
    };
    store = std::make_unique<ElasticStore>(*store_process, options);
    store_process->listen_at(4400);
    store_process->run(store.get());
}

void RegroupJob::restart_store(uint64_t after) {
    simulation.kill(*store_process);
    simulation.after(after, [this] {
        if (!store->failure()) start_store(simulation.add_process_in_place_of(*store_process));
    });
}

RegroupWorker &RegroupJob::add_worker() {
    const WorkerId id = workers.size() + 1;
    workers.push_back(std::unique_ptr<RegroupWorker>(new RegroupWorker{*this, id, simulation.add_process()}));
    RegroupWorker &worker = *workers.back();
    simulation.after(simulation.random(kSecond), [&worker] {
        if (worker.process.alive()) worker.start();
    });
    return worker;
}

/// A launcher starts another process in the place of one that is lost.
void RegroupJob::replace(RegroupWorker &lost) {
    const bool over =
        store->failure() || std::any_of(workers.begin(), workers.end(), [](const auto &one) { return one->finished; });
    if (plan.replaces && lost.hit && !over && workers.size() < 2 * plan.max_workers + 4) add_worker();
}

void RegroupJob::kill(RegroupWorker &victim) {
    victim.hit = true;
    simulation.kill(victim.process);
    if (plan.reaps)
        simulation.after(simulation.random(50 * kMillisecond), [this, id = victim.id] {
            if (!store_process->alive()) return;
            store->reaped(id);
            store_process->touched();
        });
    replace(victim);
}

/// As a launcher does. Of those that live on, each must have been told why.
void RegroupJob::kill_left_behind() {
    while (const auto left = store_process->alive() ? store->take_left_behind() : std::nullopt) {
        RegroupWorker &worker = *workers[left->id - 1];
        if (left->how != MDIST_DEPARTURE_JOB_FAILED && plan.reaps && worker.hangs && worker.process.alive())
            kill(worker);
    }
}

void RegroupJob::apply(const FaultPlan &fault) {
    std::vector<RegroupWorker *> living;
    for (const auto &worker : workers)
        if (!worker->settled() && worker->member) living.push_back(worker.get());
    if (living.empty()) return;
    RegroupWorker &victim = *living[simulation.random(living.size())];
    const uint64_t lasts = simulation.random(simulation.random(2) == 0 ? kSecond : kLongStop);
    last_fault_ns = std::max(last_fault_ns, simulation.now() + lasts);
    switch (fault.fault) {
        case Fault::kKill:
            return kill(victim);
        case Fault::kPowerOff:
            victim.hit = true;
            simulation.power_off(victim.process);
            return replace(victim);
        case Fault::kStop:
            victim.hit = true;
            simulation.stop(victim.process);
            return simulation.after(lasts, [this, &victim] { simulation.go_on(victim.process); });
        case Fault::kSlow:
        case Fault::kHang:
            simulation.trace(text("worker ", victim.id, " makes no call any more"));
            victim.hit = victim.slow = true;
            victim.hangs = fault.fault == Fault::kHang;
            if (victim.hangs) return;
            return simulation.after(lasts, [&victim] {
                victim.slow = false;
                victim.look();
            });
        case Fault::kReset:
            return simulation.reset_one(victim.process);
        case Fault::kStoreStop:
            simulation.stop(*store_process);
            return simulation.after(lasts, [this] { simulation.go_on(*store_process); });
        case Fault::kStoreKill:
            return simulation.kill(*store_process);
        case Fault::kStoreRestart:
            if (store_process->alive() && !store_process->stopped()) restart_store(lasts);
            return;
        case Fault::kFullDisk:
            disk_is_full = true;
            return simulation.after(lasts, [this] { disk_is_full = false; });
        case Fault::kNoStore:
            return cut_all_from_store();
        case Fault::kDismiss:
            victim.hit = true;
            victim.leaves = victim.id % 2 == 0; // it says so itself
            if (victim.leaves || !store_process->alive()) return;
            store->dismiss(victim.id);
            return store_process->touched();
        default:
            cut(fault.fault == Fault::kCutFromStore);
            return simulation.after(lasts, [this] {
                simulation.trace("mend");
                simulation.mend();
            });
    }
}

/// Cuts some workers from the others, in both directions or one, and also from the store if so wanted.
void RegroupJob::cut(bool from_store) {
    simulation.trace("cut");
    const bool one_way = simulation.random(3) == 0;
    std::set<const RegroupWorker *> side;
    for (const auto &worker : workers)
        if (simulation.random(2) == 0) side.insert(worker.get());
    for (const auto &a : workers) {
        for (const auto &b : workers) {
            if (side.count(a.get()) == side.count(b.get())) continue;
            if (side.count(a.get()) != 0 || !one_way) simulation.cut_one_way(a->process, b->process);
        }
        if (from_store && side.count(a.get()) != 0) simulation.cut(a->process, *store_process);
    }
    for (const auto &worker : workers) worker->hit = true; // who is to blame depends on the side
}

/// Data loss must be true: those that have asked hold no commit that is marked and whole.
void RegroupJob::check_data_loss() {
    if (saw_data_loss || !store->failure() || store->failure()->reason() != "replica_lost") return;
    saw_data_loss = true;
    std::map<CommitId, std::set<uint32_t>> parts;
    std::set<CommitId> marked;
    for (const Generation::Member &member : store->generation().members) {
        const RegroupWorker &worker = *workers[member.id - 1];
        if (worker.hit || worker.member->state() != Member::State::kAsking) continue;
        for (const Commit &commit : worker.commits) {
            if (commit.marked) marked.insert(commit.id);
            for (const auto &[replica, state] : commit.parts) parts[commit.id].insert(replica);
        }
    }
    for (const CommitId &id : marked)
        if (parts[id].size() == plan.replicas) blame(text("data loss, but commit ", id.number, " is whole"));
}

/// All workers lose the store, but not each other. Others come, which reach it. The job must not go on twice.
void RegroupJob::cut_all_from_store() {
    simulation.trace("cut all from the store");
    for (const auto &worker : workers) {
        simulation.cut(worker->process, *store_process);
        worker->hit = true;
    }
    for (uint32_t i = 0; i < plan.min_workers && workers.size() < 2 * plan.max_workers + 4; ++i) add_worker();
    const uint64_t lasts = simulation.random(3 * kLongStop);
    last_fault_ns = std::max(last_fault_ns, simulation.now() + lasts);
    simulation.after(lasts, [this] { simulation.mend(); });
}

/// Compares each new generation with what its members really have.
void RegroupJob::check_written() {
    const Generation &now = store->generation();
    if (now.number == last_written) return;
    if (now.number != last_written + 1) blame(text("generation ", now.number, " follows ", last_written));
    last_written = now.number;
    const auto has_marked = [this](const Generation::Member &member) {
        const auto &commits = workers[member.id - 1]->commits;
        return std::any_of(commits.begin(), commits.end(), [](const Commit &commit) { return commit.marked; });
    };
    has_commit =
        has_commit || (!last.members.empty() && std::all_of(last.members.begin(), last.members.end(), has_marked));
    if (has_commit && !now.resume) blame("the training begins anew, though all workers had a commit");
    last = now;
    uint32_t next = 0;
    std::map<CommitId, std::set<uint32_t>> parts;
    std::set<CommitId> marked;
    for (const Generation::Member &member : now.members) {
        if (member.replicas.first != next || member.replicas.last <= next) blame("spans that are not consecutive");
        next = member.replicas.last;
        for (const Commit &commit : workers[member.id - 1]->commits) {
            if (commit.marked) marked.insert(commit.id);
            for (const auto &[replica, state] : commit.parts) parts[commit.id].insert(replica);
        }
    }
    if (next != plan.replicas) blame("spans that leave replicas out");
    std::optional<CommitId> newest;
    for (const CommitId &id : marked)
        if (parts[id].size() == plan.replicas) newest = id;
    if (newest != now.resume)
        blame(text("generation ", now.number, " resumes from commit ", now.resume ? now.resume->number : 0,
                   ", but its workers have commit ", newest ? newest->number : 0));
}

void RegroupJob::run() {
    const auto all_settled = [&] {
        return std::all_of(workers.begin(), workers.end(), [](const auto &worker) { return worker->settled(); });
    };
    // After the last fault: two joins that take as long as they may, and then the training, which may begin anew.
    const uint64_t life = 3 * kJoin + 40 * kSecond + (plan.steps + plan.faults.size()) * 4 * kSecond;
    const uint64_t begun = simulation.now();
    while (broken.empty() && !(all_settled() && simulation.now() > last_fault_ns)) {
        for (const FaultPlan &fault : plan.faults)
            if (fault.at_event && *fault.at_event == steps_run) apply(fault);
        if (!simulation.step(std::max(last_fault_ns, begun) + life)) break;
        ++steps_run;
        check_written();
        check_data_loss();
        kill_left_behind();
        for (std::size_t i = 0; i < workers.size(); ++i) workers[i]->look();
        check_written();
    }
    check_end();
}

void RegroupJob::check_end() {
    for (const auto &worker : workers) {
        if (!worker->settled()) blame(text("worker ", worker->id, " waits forever"));
        const bool came_too_late =
            worker->generation == 0 && worker->failure && worker->failure->reason() == "job_ended";
        if (plan.must_finish && !worker->hit && !worker->finished && !came_too_late)
            blame(text("worker ", worker->id, " did not finish: ",
                       worker->failure ? worker->failure->message() : std::string("it still works")));
    }
}

} // namespace mdist::test
