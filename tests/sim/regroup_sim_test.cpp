// SPDX-License-Identifier: Apache-2.0
// Runs elastic jobs in the simulation: 3 to 64 workers regroup while they are killed, stopped, cut off and joined by
// others, at any message. MDIST_TEST_SEED=n runs only that seed and prints its events. With MDIST_TEST_COUNT it runs
// that many seeds from n, and prints no events.
#include "regroup_job.h"

#include "random.h"
#include "subject.h"
#include "util/log.h"

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

struct Tally {
    uint64_t events = 0, generations = 0, finished = 0, no_store = 0, data_loss = 0, old = 0, late = 0, unreachable = 0,
             too_few = 0, after_end = 0, dismissed = 0, dropped = 0, others = 0;
    void count(const RegroupJob &job) {
        events += job.steps_run;
        generations += job.store->generation().number;
        for (const auto &worker : job.workers) {
            if (worker->finished) ++finished;
            const auto failure = worker->hangs ? worker->member->failure() : worker->failure;
            if (worker->finished || !failure) continue;
            const std::string &reason = failure->reason();
            ++(reason == "no_store"                     ? no_store
               : reason == "replica_lost"               ? data_loss
               : reason == "old_generation"             ? old
               : reason == "unreachable"                ? unreachable
               : reason == "too_few_workers"            ? too_few
               : reason == "job_ended"                  ? after_end
               : reason == "dismissed"                  ? dismissed
               : reason == "dropped"                    ? dropped
               : failure->status() == MDIST_ERR_TIMEOUT ? late
                                                        : others);
        }
    }
    std::string text() const {
        return mdist::text(events, " events, ", generations, " generations; workers: ", finished, " finished, ",
                           no_store, " without a store, ", data_loss, " with data loss, ", old,
                           " of an old generation, ", late, " too late, ", unreachable, " unreachable, ", too_few,
                           " too few, ", after_end, " after the end, ", dismissed, " dismissed, ", dropped,
                           " dropped, ", others, " others");
    }
};

bool holds(uint64_t seed, const RegroupPlan &plan, bool trace, Tally *tally) {
    RegroupJob job(seed, plan, trace);
    job.run();
    tally->count(job);
    if (job.broken.empty()) return true;
    print_error("seed %llu: %s (MDIST_TEST_SEED=%llu prints its events)\n", static_cast<unsigned long long>(seed),
                job.broken.c_str(), static_cast<unsigned long long>(seed));
    return false;
}

/// The job of a seed, without its faults.
RegroupPlan job_of(uint64_t seed, std::mt19937_64 &random) {
    const auto below = [&random](uint64_t most) { return random() % most; };
    RegroupPlan plan;
    plan.workers = static_cast<uint32_t>(seed % 64 == 63 ? 33 + below(32)
                                         : seed % 8 == 7 ? 9 + below(12)
                                                         : 3 + below(5));
    plan.max_workers = plan.workers + static_cast<uint32_t>(below(3));
    plan.replicas = plan.max_workers + static_cast<uint32_t>(below(plan.max_workers + 3));
    plan.min_workers = static_cast<uint32_t>(1 + below(2));
    plan.copies = static_cast<uint32_t>(1 + below(2));
    plan.steps = plan.workers > 8 ? 6 : 6 + below(12);
    plan.commit_every = 1 + below(4);
    plan.secret = secrets_are_built() && seed % 16 == 3;
    plan.reaps = below(2) == 0;
    plan.replaces = below(2) == 0;
    return plan;
}

/// How many events the job has without faults.
uint64_t events_of(uint64_t seed, const RegroupPlan &plan) {
    RegroupJob job(seed, plan, false);
    job.run();
    return job.steps_run;
}

RegroupPlan plan_of(uint64_t seed) {
    std::mt19937_64 random(seed * 2654435761 + 1);
    const auto below = [&random](uint64_t most) { return random() % most; };
    RegroupPlan plan = job_of(seed, random);
    const uint64_t kind = seed % 6;
    if (kind == 0) { // nothing but newcomers, and workers that are asked to leave
        for (uint64_t i = below(3); i > 0; --i) plan.joins.push_back(below(6 * kSecond));
        for (uint64_t i = below(3); i > 0; --i) plan.faults.push_back({Fault::kDismiss, {}, below(6 * kSecond)});
        plan.must_finish = plan.joins.size() + plan.workers <= plan.max_workers;
        return plan;
    }
    if (kind == 1) { // one loss, at any message
        FaultPlan loss;
        loss.fault = below(2) == 0 ? Fault::kKill : Fault::kPowerOff;
        loss.at_event = below(events_of(seed, plan));
        plan.faults.push_back(loss);
        plan.replaces = false;
        plan.must_finish = true;
        return plan;
    }
    if (kind == 2) { // losses with commits between
        plan.steps = 120;
        plan.commit_every = 1 + below(3);
        for (uint64_t i = 1 + below(std::min(plan.workers - 2, 3u)); i > 0; --i) {
            FaultPlan loss;
            loss.fault = below(2) == 0 ? Fault::kKill : Fault::kPowerOff;
            loss.at_ns = i * 20 * kSecond + below(3 * kSecond);
            plan.faults.push_back(loss);
        }
        plan.replaces = false;
        plan.must_finish = true;
        return plan;
    }
    if (kind == 5) { // connections end and the store is stopped once, but every process lives
        const uint64_t events = events_of(seed, plan);
        bool stops = false; // twice, that might take longer than workers wait
        for (uint64_t i = 1 + below(3); i > 0; --i) {
            FaultPlan fault;
            fault.fault = below(4) == 0 && !stops ? Fault::kStoreStop : Fault::kReset;
            stops = stops || fault.fault == Fault::kStoreStop;
            fault.at_event = below(events);
            plan.faults.push_back(fault);
        }
        plan.must_finish = true;
        return plan;
    }
    // Anything, at any time or at any message.
    const uint64_t events = kind == 3 ? events_of(seed, plan) : 0;
    for (uint64_t i = 1 + below(4); i > 0; --i) {
        FaultPlan fault;
        fault.fault = static_cast<Fault>(below(kFaults));
        if (fault.fault == Fault::kStoreKill && below(3) != 0) fault.fault = Fault::kKill;
        if (events != 0) fault.at_event = below(events * 3 / 2);
        fault.at_ns = below(12 * kSecond);
        plan.faults.push_back(fault);
    }
    for (uint64_t i = below(3); i > 0; --i) plan.joins.push_back(below(12 * kSecond));
    return plan;
}

void one_generation_at_a_time_and_no_commit_is_lost(void **) {
    log::set_level(MDIST_LOG_OFF);
    Tally tally;
    const uint64_t first = test_seed(0), count = seed_count(128, 4'000);
    uint32_t wrong = 0;
    for (uint64_t seed = first; seed < first + count && wrong < 10; ++seed)
        wrong += holds(seed, plan_of(seed), count == 1, &tally) ? 0 : 1;
    print_message("%llu seeds, %s\n", static_cast<unsigned long long>(count), tally.text().c_str());
    assert_int_equal(wrong, 0);
}

void a_run_is_repeated_by_its_seed(void **) {
    for (const uint64_t seed : seeds(11, 11, 1)) {
        Tally first, second;
        holds(seed, plan_of(seed), false, &first);
        holds(seed, plan_of(seed), false, &second);
        assert_string_equal(first.text().c_str(), second.text().c_str());
    }
}

/// Without the store nobody goes on after a loss, and all say why.
void without_a_store_the_next_loss_ends_the_job(void **) {
    RegroupPlan plan;
    plan.steps = 60;
    plan.faults = {{Fault::kStoreKill, {}, 5 * kSecond}, {Fault::kKill, {}, 8 * kSecond}};
    Tally tally;
    assert_true(holds(1, plan, false, &tally));
    assert_int_equal(tally.no_store, 2);
    plan.faults.pop_back();
    plan.must_finish = true;
    assert_true(holds(1, plan, false, &tally));
}

/// The members train on, and cannot tell the store so. Newcomers must not take their place.
void newcomers_wait_while_the_members_cannot_reach_the_store(void **) {
    Tally tally;
    for (const uint64_t seed : seeds(8, 200)) {
        RegroupPlan plan;
        plan.max_workers = 4;
        plan.steps = 150;
        plan.faults = {{Fault::kNoStore, {}, (3 + seed % 5) * kSecond}};
        const uint64_t before = tally.finished;
        assert_true(holds(seed, plan, false, &tally));
        assert_true(tally.finished - before >= 2); // of four; a member that came back last may have been dropped
    }
    print_message("%s\n", tally.text().c_str());
    assert_int_equal(tally.data_loss, 0);
}

/// Kills one worker at every message of a small job in turn.
void a_kill_at_every_message_loses_nothing(void **) {
    RegroupPlan plan;
    plan.steps = 3;
    plan.commit_every = 2;
    plan.replicas = 5;
    plan.must_finish = true;
    const uint64_t events = events_of(7, plan);
    Tally tally;
    uint32_t wrong = 0;
    const uint64_t stride = tiered(7, 1);
    for (uint64_t event = 0; event < events && wrong < 3; event += stride)
        for (const Fault fault : {Fault::kKill, Fault::kPowerOff}) {
            plan.faults = {{fault, event, 0}};
            if (holds(7, plan, false, &tally)) continue;
            ++wrong;
            print_error("with a loss at event %llu\n", static_cast<unsigned long long>(event));
        }
    print_message("%llu events: %s\n", static_cast<unsigned long long>(events), tally.text().c_str());
    assert_int_equal(wrong, 0);
}

/// A store that is killed at every message in turn, and comes back. So does one that loses a worker meanwhile.
void a_store_that_comes_back_at_every_message_loses_nothing(void **) {
    RegroupPlan plan;
    plan.steps = 3;
    plan.commit_every = 2;
    plan.replicas = 5;
    plan.must_finish = true;
    plan.joins = {2 * kSecond};
    plan.max_workers = 4;
    const uint64_t events = events_of(7, plan);
    Tally tally;
    const uint64_t stride = tiered(7, 1);
    for (uint64_t event = 0; event < events; event += stride)
        for (const bool also_a_loss : {false, true}) {
            plan.faults = {{Fault::kStoreRestart, event, 0}};
            if (also_a_loss) plan.faults.push_back({Fault::kKill, event + 1, 0});
            if (holds(7, plan, false, &tally)) continue;
            print_error("with a restart at event %llu\n", static_cast<unsigned long long>(event));
            assert_true(false);
        }
    print_message("%llu events: %s\n", static_cast<unsigned long long>(events), tally.text().c_str());
}

/// A worker whose program hangs is heard all the time. The others go on without it, and it knows why.
void a_worker_that_hangs_is_dropped(void **) {
    Tally tally;
    const Seeds all = seeds(48, 2'000);
    for (const uint64_t seed : all) {
        RegroupPlan plan;
        plan.workers = static_cast<uint32_t>(2 + seed % 7);
        plan.max_workers = plan.replicas = plan.workers;
        plan.reaps = seed % 3 == 0; // a launcher kills it, and starts another one
        plan.replaces = plan.reaps;
        plan.min_workers = plan.reaps ? plan.workers : 1; // so that the job must wait for that one
        plan.must_finish = true;
        plan.faults = {{Fault::kHang, (seed * 7) % events_of(seed, plan), 0}};
        if (!holds(seed, plan, all.count() == 1, &tally)) assert_true(false);
    }
    print_message("%s\n", tally.text().c_str());
    assert_true(tally.dropped > all.count() / 3); // those that were killed are not in the tally
}

} // namespace

SUBJECT(regroup) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(one_generation_at_a_time_and_no_commit_is_lost),
        cmocka_unit_test(a_run_is_repeated_by_its_seed),
        cmocka_unit_test(without_a_store_the_next_loss_ends_the_job),
        cmocka_unit_test(newcomers_wait_while_the_members_cannot_reach_the_store),
        cmocka_unit_test(a_kill_at_every_message_loses_nothing),
        cmocka_unit_test(a_store_that_comes_back_at_every_message_loses_nothing),
        cmocka_unit_test(a_worker_that_hangs_is_dropped),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
