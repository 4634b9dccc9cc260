// SPDX-License-Identifier: Apache-2.0
// Runs membership in the simulation. The workers of a job form a session, exchange a number of times, and leave, while
// faults happen. MDIST_TEST_SEED=n runs only that seed and prints its events. With MDIST_TEST_COUNT it runs that many
// seeds from n, and prints no events.
#include "simulation.h"

#include "membership/store/fixed_store.h"
#include "membership/worker/member.h"
#include "random.h"
#include "subject.h"
#include "util/log.h"
#include "util/text.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include <cmocka.h>
}
#undef fail

namespace {

using namespace mdist;
using namespace mdist::test;

constexpr uint64_t kSecond = 1000 * kMillisecond;
constexpr uint64_t kJoin = 8 * kSecond;
constexpr uint64_t kSilence = 2 * kSecond;
constexpr uint64_t kHarmlessCut = kSilence * 3 / 4;
enum Fault : uint64_t { kKill, kPowerOff, kStop, kCut, kCutFromStore, kReset, kFaults, kShortStop, kShortCut };
constexpr uint64_t kExchange = 5 * kSecond;

/// The size of a job, and the faults that happen to it.
struct Plan {
    uint32_t workers = 1;
    uint32_t rounds = 3;
    bool secret = false;
    bool faults = false;
    std::optional<uint64_t> one_fault = {}; // only this kind of fault
    std::optional<uint64_t> lasts = {};     // how long that fault lasts
    bool recovers = false;                  // failed programs form again, and killed ones restart
};

struct Job;

/// A worker's program. It exchanges once in each round, then leaves.
struct Worker {
    Job &job;
    uint32_t rank;
    Process &process;
    MembershipOptions options = {};
    std::unique_ptr<Member> member = nullptr;
    uint32_t round = 0;    // exchanges that are done
    uint64_t exchange = 0; // number of the current exchange
    uint64_t late_ns = 0;  // deadline of the current exchange
    bool waiting = false;  // in an exchange
    bool resting = false;  // between two exchanges
    uint64_t failed_ns = 0;
    std::optional<Failure> failure = {};
    bool finished = false;
    uint32_t lives = 0; // restarts that are left

    void start();
    void end_life();
    void look();
    void begin_exchange();
    bool settled() const { return !process.alive() || process.stopped() || finished || (failure && lives == 0); }
};

struct Job {
    Job(uint64_t seed, const Plan &plan, bool trace);
    void run();
    void plan_faults();
    void fault(uint64_t kind, Worker &victim);
    void cut(uint64_t lasts, bool from_store);
    Worker &add_worker(uint32_t rank);
    void check_end();
    bool blames_one_that_is_done(const Worker &worker) const;
    void check_one_loss();
    void check_sessions();
    void blame(const std::string &what) {
        if (broken.empty()) broken = what;
    }

    Simulation simulation;
    Plan plan;
    std::unique_ptr<FixedStore> store;
    Process *store_process = nullptr;
    std::vector<std::unique_ptr<Worker>> workers;
    std::map<SessionId, std::map<uint32_t, Worker *>> sessions;
    std::map<std::pair<SessionId, uint64_t>, std::string> results;
    uint64_t last_fault_ns = 0;
    uint32_t lost_rank = UINT32_MAX; // lost by the one fault
    uint64_t lost_ns = 0;
    std::string broken; // the first invariant that was broken
};

std::string blob_of(uint32_t rank, uint32_t round) {
    return text(rank, '.', round);
}

void Worker::start() {
    // The store's host is an IP address: the simulation does not resolve names.
    const Endpoint store{job.store_process->host(), 4400};
    round = 0;
    exchange = 0;
    waiting = resting = false;
    failure.reset();
    member = std::make_unique<Member>(process, options, std::vector<Endpoint>{store});
    member->ask({}, kJoin);
    process.run(member.get());
}

/// Does what the program's thread would do. Called after every event of the process.
void Worker::look() {
    if (!member || failure || settled()) return;
    if (const auto cause = member->failure()) {
        job.simulation.trace(text("worker ", rank, " fails: ", cause->message()));
        failure = cause;
        failed_ns = job.simulation.now();
        // The worker leaves some time later, like a program that has to unwind first.
        job.simulation.after(job.simulation.random(kSecond), [this] {
            if (process.alive()) end_life();
        });
        return;
    }
    if (member->state() != Member::State::kReady || resting) return;
    Peers &peers = member->peers();
    if (!waiting) {
        if (round == 0) job.sessions[peers.session()].emplace(rank, this);
        return begin_exchange();
    }
    if (peers.exchanged(exchange)) {
        std::string all;
        for (const std::string &blob : peers.take_exchange(exchange)) all += blob + ' ';
        const auto [known, fresh] = job.results.try_emplace({peers.session(), exchange}, all);
        if (!fresh && known->second != all) job.blame("two workers have different results of one exchange");
        std::string expected;
        for (uint32_t other = 0; other < options.size; ++other) expected += blob_of(other, round) + ' ';
        if (all != expected) job.blame(text("an exchange gave ", all, ", not ", expected));
        waiting = false;
        if (++round == job.plan.rounds) {
            job.simulation.trace(text("worker ", rank, " has finished"));
            finished = true;
            member->leave();
            return;
        }
        resting = true;
        job.simulation.after(job.simulation.random(300 * kMillisecond), [this] {
            resting = false;
            if (process.alive() && !process.stopped()) look();
        });
    } else if (job.simulation.now() >= late_ns) {
        peers.fail(Failure(MDIST_ERR_TIMEOUT, "an exchange took too long").worker(peers.awaited(exchange)));
        look();
    }
}

void Worker::end_life() {
    if (process.stopped()) return job.simulation.after(kSecond, [this] { end_life(); });
    member->leave();
    if (lives == 0) return;
    --lives;
    start();
}

void Worker::begin_exchange() {
    Peers &peers = member->peers();
    if (peers.set_entered(round + 1)) peers.missed(round + 1);
    if (!peers.failure()) exchange = peers.begin_exchange(blob_of(rank, round));
    waiting = true;
    late_ns = job.simulation.now() + kExchange;
    job.simulation.at(late_ns, [this] {
        if (waiting && process.alive() && !process.stopped()) look();
    });
    process.touched();
}

Job::Job(uint64_t seed, const Plan &wanted, bool trace) : simulation(seed, trace), plan(wanted) {
    for (uint32_t rank = 0; rank < plan.workers; ++rank) add_worker(rank);
    // The store always has a process of its own here. In a real job it has a thread of its own.
    store_process = &simulation.add_process();
    store = std::make_unique<FixedStore>(
        *store_process, FixedStoreOptions{plan.workers, 0, "simulated", plan.secret ? "a secret" : ""});
    store_process->run(store.get());
    store_process->listen_at(4400);
    for (auto &worker : workers)
        simulation.after(simulation.random(kSecond), [self = worker.get()] {
            if (self->process.alive()) self->start();
        });
    if (plan.faults) plan_faults();
}

Worker &Job::add_worker(uint32_t rank) {
    workers.push_back(std::unique_ptr<Worker>(new Worker{*this, rank, simulation.add_process()}));
    Worker &worker = *workers.back();
    worker.lives = plan.recovers ? 3 : 0;
    worker.options.rank = rank;
    worker.options.size = plan.workers;
    worker.options.job = "simulated";
    worker.options.agreement = "a = 1\n";
    worker.options.secret = plan.secret ? "a secret" : "";
    worker.options.join_timeout_ns = kJoin;
    worker.options.heartbeat_timeout_ns = kSilence;
    return worker;
}

void Job::plan_faults() {
    const uint64_t count = 1 + simulation.random(3);
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t when = simulation.now() + simulation.random(3 * kSecond);
        last_fault_ns = std::max(last_fault_ns, when);
        Worker &victim = *workers[simulation.random(workers.size())];
        const uint64_t kind = plan.one_fault.value_or(simulation.random(kFaults));
        simulation.at(when, [this, kind, &victim] { fault(kind, victim); });
        if (!plan.one_fault) continue;
        lost_rank = victim.rank;
        lost_ns = when;
        break;
    }
}

void Job::fault(uint64_t kind, Worker &victim) {
    Process &process = victim.process;
    const bool is_short = kind == kShortStop || kind == kShortCut;
    const uint64_t most = kind == kShortCut                       ? kHarmlessCut
                          : is_short || simulation.random(2) == 0 ? kSecond
                                                                  : 10 * kSecond;
    const uint64_t lasts = plan.lasts.value_or(simulation.random(most));
    last_fault_ns = std::max(last_fault_ns, simulation.now() + lasts);
    switch (kind) {
        case kKill:
            if (!process.alive()) return;
            simulation.kill(process);
            if (plan.recovers)
                simulation.after(simulation.random(kSecond), [this, rank = victim.rank] { add_worker(rank).start(); });
            return;
        case kPowerOff:
            return simulation.power_off(process);
        case kReset:
            return simulation.reset_one(process);
        case kStop:
        case kShortStop:
            simulation.stop(process);
            return simulation.after(lasts, [this, &process] { simulation.go_on(process); });
        default:
            return cut(lasts, kind == kCutFromStore);
    }
}

/// Cuts all connections between two groups of workers for a while. With `from_store`, also cuts one group from the
/// store.
void Job::cut(uint64_t lasts, bool from_store) {
    simulation.trace("cut");
    const uint32_t kinds = std::min(plan.workers, 62u);
    const uint64_t side = simulation.random(uint64_t{1} << kinds);
    const auto is_in = [=](const Worker &worker) { return (side >> worker.rank % kinds & 1) != 0; };
    const bool one_way = simulation.random(3) == 0;
    for (const auto &a : workers) {
        for (const auto &b : workers)
            if (is_in(*a) != is_in(*b) && (is_in(*a) || !one_way)) simulation.cut_one_way(a->process, b->process);
        if (from_store && is_in(*a)) simulation.cut(a->process, *store_process);
    }
    simulation.after(lasts, [this] {
        simulation.trace("mend");
        simulation.mend();
    });
}

void Job::run() {
    const uint64_t begun = simulation.now();
    const auto all_settled = [&] {
        return std::all_of(workers.begin(), workers.end(), [](const auto &worker) { return worker->settled(); });
    };
    for (;;) {
        // After the last fault, the longest possible sequence is: join, notice the loss, exchange.
        const uint64_t life = kJoin + kSilence + kExchange + 3 * kSecond;
        const uint64_t limit = std::max(last_fault_ns, begun + 2 * kSecond) + (plan.recovers ? 5 : 1) * life;
        if (!broken.empty() || (all_settled() && simulation.now() > last_fault_ns)) break;
        if (!simulation.step(limit)) break;
        for (auto &worker : workers)
            if (worker->process.alive() && !worker->process.stopped()) worker->look();
        check_sessions();
    }
    check_end();
}

void Job::check_sessions() {
    for (const auto &worker : workers) {
        if (!worker->member || worker->member->state() != Member::State::kReady) continue;
        const auto &members = sessions[worker->member->peers().session()];
        const auto found = members.find(worker->rank);
        if (found != members.end() && found->second != worker.get()) blame("two of one rank in one session");
    }
}

/// Tells whether the worker blames one that had finished. A worker that leaves while it is cut off cannot say so.
bool Job::blames_one_that_is_done(const Worker &worker) const {
    const uint32_t lost = worker.failure->worker();
    return plan.one_fault == kShortCut && lost != MDIST_NONE && workers[lost]->finished;
}

void Job::check_end() {
    bool any_failed = false;
    for (const auto &worker : workers) {
        if (!worker->settled()) blame(text("worker ", worker->rank, " waits forever"));
        any_failed = any_failed || (worker->failure && !blames_one_that_is_done(*worker));
    }
    const bool harmless = !plan.faults || plan.one_fault == kShortStop || plan.one_fault == kShortCut;
    if (harmless && any_failed) blame("a failure without a fault that explains it");
    if (!harmless && plan.one_fault && lost_rank != UINT32_MAX) check_one_loss();
}

/// Checks the loss of one worker: all workers of its session must report it, and in time.
void Job::check_one_loss() {
    const uint64_t soon = plan.one_fault == kKill ? kSecond : kSilence + kSecond;
    for (const auto &[session, members] : sessions) {
        if (members.count(lost_rank) == 0) continue;
        for (const auto &[rank, worker] : members) {
            if (rank == lost_rank || worker->finished) continue;
            if (worker->failure->status() != MDIST_ERR_PEER_LOST || worker->failure->worker() != lost_rank)
                blame(text("worker ", rank, " says of the loss: ", worker->failure->message()));
            if (worker->failed_ns > lost_ns + soon)
                blame(text("worker ", rank, " knew of the loss after ", (worker->failed_ns - lost_ns) / kMillisecond,
                           " ms"));
        }
    }
}

Plan plan_of(uint64_t seed) {
    Plan plan;
    plan.workers = static_cast<uint32_t>(1 + seed % 5);
    plan.rounds = static_cast<uint32_t>(1 + seed / 5 % 16);
    plan.secret = secrets_are_built() && seed % 8 == 3;
    plan.faults = seed % 10 != 0;
    if (seed % 10 == 1) plan.one_fault = kKill;
    if (seed % 10 == 2) plan.one_fault = kPowerOff;
    if (seed % 10 == 3) plan.one_fault = seed % 20 == 3 ? kShortStop : kShortCut;
    plan.recovers = seed % 10 > 5;
    return plan;
}

/// Counts how workers ended, to show that the plans reach every outcome.
struct Tally {
    uint64_t events = 0, finished = 0, lost = 0, late = 0, left = 0, again = 0;
    void count(const Job &job) {
        events += job.simulation.events();
        again += job.sessions.size() > 1 ? 1 : 0;
        for (const auto &worker : job.workers) {
            finished += worker->finished ? 1 : 0;
            if (!worker->failure) continue;
            lost += worker->failure->status() == MDIST_ERR_PEER_LOST ? 1 : 0;
            late += worker->failure->status() == MDIST_ERR_TIMEOUT ? 1 : 0;
            left += worker->failure->reason() == "left" ? 1 : 0;
        }
    }
    std::string text() const {
        return mdist::text(events, " events; workers: ", finished, " finished, ", lost, " lost a peer (", left,
                           " that left), ", late, " waited too long; jobs that formed again: ", again);
    }
};

bool holds(uint64_t seed, const Plan &plan, bool trace, Tally *tally) {
    Job job(seed, plan, trace);
    job.run();
    tally->count(job);
    if (job.broken.empty()) return true;
    print_error("seed %llu: %s (MDIST_TEST_SEED=%llu prints its events)\n", static_cast<unsigned long long>(seed),
                job.broken.c_str(), static_cast<unsigned long long>(seed));
    return false;
}

void nobody_waits_for_ever_and_all_agree_whatever_happens(void **) {
    log::set_level(MDIST_LOG_OFF);
    Tally tally;
    const uint64_t first = test_seed(0), count = seed_count(600, 20'000);
    uint32_t wrong = 0;
    for (uint64_t seed = first; seed < first + count && wrong < 10; ++seed)
        wrong += holds(seed, plan_of(seed), count == 1, &tally) ? 0 : 1;
    print_message("%llu seeds, %s\n", static_cast<unsigned long long>(count), tally.text().c_str());
    assert_int_equal(wrong, 0);
}

void a_run_is_repeated_by_its_seed(void **) {
    for (const uint64_t seed : seeds(39, 39, 1)) {
        Tally first, second;
        holds(seed, plan_of(seed), false, &first);
        holds(seed, plan_of(seed), false, &second);
        assert_string_equal(first.text().c_str(), second.text().c_str());
    }
}

/// Cuts one pair or many, in both directions or one. TCP stays silent for twice as long as the cut lasts.
void a_cut_of_three_quarters_of_the_timeout_loses_nobody(void **) {
    Tally tally;
    uint32_t wrong = 0;
    const Seeds all = seeds(200, 10'000);
    for (const uint64_t seed : all) {
        if (wrong == 10) break;
        Plan plan;
        plan.workers = static_cast<uint32_t>(2 + seed % 4);
        plan.rounds = 16;
        plan.secret = secrets_are_built() && seed % 2 == 1;
        plan.faults = true;
        plan.one_fault = kShortCut;
        plan.lasts = kHarmlessCut;
        wrong += holds(seed, plan, all.count() == 1, &tally) ? 0 : 1;
    }
    print_message("%s\n", tally.text().c_str());
    assert_int_equal(wrong, 0);
}

/// In a large job, no worker watches all others. Those that watch the lost one tell the rest.
void one_of_many_that_falls_silent_is_known_to_all(void **) {
    Tally tally;
    uint32_t wrong = 0;
    const Seeds all = seeds(6, 200);
    for (const uint64_t seed : all) {
        if (wrong == 10) break;
        Plan plan;
        plan.workers = static_cast<uint32_t>(33 + seed % 32);
        plan.rounds = 8;
        plan.faults = true;
        plan.one_fault = kPowerOff;
        wrong += holds(seed, plan, false, &tally) ? 0 : 1;
    }
    print_message("%s\n", tally.text().c_str());
    assert_true(tally.lost > 0 || all.count() < 6);
    assert_int_equal(wrong, 0);
}

/// In a large job news is passed on, and a worker that leaves passes nothing on any more.
void many_workers_agree_whatever_happens(void **) {
    Tally tally;
    uint32_t wrong = 0;
    const Seeds all = seeds(20, 1000);
    for (const uint64_t seed : all) {
        if (wrong == 10) break;
        Plan plan = plan_of(seed);
        plan.workers = static_cast<uint32_t>(34 + seed * 7 % 50);
        plan.rounds = std::min(plan.rounds, 8u);
        wrong += holds(seed, plan, all.count() == 1, &tally) ? 0 : 1;
    }
    print_message("%s\n", tally.text().c_str());
    assert_int_equal(wrong, 0);
}

} // namespace

SUBJECT(membership) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(nobody_waits_for_ever_and_all_agree_whatever_happens),
        cmocka_unit_test(a_run_is_repeated_by_its_seed),
        cmocka_unit_test(a_cut_of_three_quarters_of_the_timeout_loses_nobody),
        cmocka_unit_test(one_of_many_that_falls_silent_is_known_to_all),
        cmocka_unit_test(many_workers_agree_whatever_happens),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
