// SPDX-License-Identifier: Apache-2.0
// Compares every way to do a collective among workers, and the plain plan, with the collective's definition. The
// workers have one to four replicas each and run in one process.
#include "comm/workers/ways.h"
#include "comm/workers/parts.h"
#include "crowd.h"
#include "subject.h"

#include <map>

namespace {

using namespace mdist;
using namespace mdist::test;

struct Layout {
    std::vector<uint32_t> counts;
    uint32_t per_host;
};

using Taken = std::map<std::string, uint32_t>; // how often a way was taken, also by a function

/// Performs a collective in one way, and checks all outputs.
template <class Way>
void check(Crowd &crowd, CollectiveJob &job, const char *name, Way way) {
    job.forget();
    crowd.perform(job.calls(), way);
    for (uint32_t replica = 0; replica < job.replicas(); ++replica)
        if (!job.right(replica))
            fail_msg("%s, %s, %u workers, at replica %u", job.call(0).kind->name(), name, crowd.workers(), replica);
}

/// Performs a collective in each way that fits, by the plan, and as users do.
void check_all(Crowd &crowd, CollectiveJob &job, Taken &taken) {
    check(crowd, job, "by the plan", workers::perform_plan);
    check(crowd, job, "in the first way that fits", workers::perform);
    for (const workers::Way &way : workers::ways()) {
        if (!way.fits(Crowd::Asked(crowd, 0, job.calls()))) continue;
        check(crowd, job, way.name, way.perform);
        ++taken[way.name];
        ++taken[text(job.call(0).kind->name(), ", ", way.name)];
    }
}

/// A barrier moves nothing: it is right if nobody fails. Each worker comes to as many as the others.
void meet(Crowd &crowd, Taken &taken) {
    Call barrier;
    barrier.kind = &calls::kBarrier;
    const std::vector<const Call *> all(crowd.replicas(), &barrier);
    for (const workers::Way &way : workers::ways()) {
        if (!way.fits(Crowd::Asked(crowd, 0, all.data()))) continue;
        crowd.perform(all.data(), way.perform);
        ++taken[way.name];
    }
}

/// Any sizes: what goes along with the headers, and what does not; of some workers, of all, of none.
void check_collectives(Crowd &crowd, const Seeds &all, Taken &taken) {
    meet(crowd, taken);
    for (const uint32_t seed : all) {
        Random random(seed);
        const CallFunction &function = *kCollectives[seed % std::size(kCollectives)];
        CollectiveJob job(random, function, crowd.replicas(), seed % 4 == 0 ? 20000 : seed % 4 == 1 ? 1000 : 40);
        check_all(crowd, job, taken);
    }
}

void check_that_each_was_taken(const Taken &taken) {
    for (const workers::Way &way : workers::ways())
        if (std::string(way.name) != "sum in shared memory" && taken.count(way.name) == 0)
            fail_msg("%s was never taken", way.name); // these workers share no memory: see shm_all_reduce
    for (const char *function : {"mdist_all_gather", "mdist_gather_to_root", "mdist_scatter", "mdist_reduce_scatter",
                                 "mdist_all_to_all", "mdist_all_to_all_parts"})
        if (taken.count(text(function, ", parts")) == 0) fail_msg("%s never went in parts", function);
    for (const char *function : {"mdist_all_reduce", "mdist_reduce_to_root"})
        for (const char *way : {"sum along the tree", "sum by splitting"})
            if (taken.count(text(function, ", ", way)) == 0) fail_msg("%s never went as a %s", function, way);
}

void all_ways_give_what_the_definition_says(void **) {
    const Layout layouts[] = {{{3, 3, 1}, 1}, {{1, 4, 2}, 1}, {{2, 1, 1, 1}, 1}, {{1, 1, 1, 2}, 2},
                              {{1, 1}, 1},    {{2, 2}, 1},    {{1, 1, 1, 1}, 2}, {{2, 2, 2, 2}, 2}};
    Taken taken;
    const Seeds all = seeds(45, 720);
    for (const Layout &layout : layouts) {
        Crowd crowd(Spans(layout.counts), layout.per_host);
        check_collectives(crowd, all, taken);
    }
    if (all.count() >= 45) check_that_each_was_taken(taken); // fewer are too few to need every way
}

/// Longer than what is sent at once, where hosts have several workers.
void long_pieces_give_what_the_definition_says(void **) {
    constexpr uint64_t kElements = 150'000;
    Crowd crowd(Spans({1, 2, 1, 1, 1, 1}), 2);
    Random random(test_seed(1));
    Taken taken;
    for (const CallFunction *const function :
         {&calls::kAllGather, &calls::kAllReduce, &calls::kBroadcast, &calls::kReduceScatter}) {
        CollectiveJob job(random, *function, crowd.replicas(), kElements);
        check_all(crowd, job, taken);
    }
}

/// More of them than agree directly.
void many_workers_give_what_the_definition_says(void **) {
    for (const auto &[workers, per_host] : {std::pair<uint32_t, uint32_t>{17, 1}, {18, 3}, {24, 2}, {21, 1}}) {
        const Seeds all = seeds(9, 180, workers); // others for each
        Random random(workers);
        Taken taken;
        Crowd crowd(random_spans(random, workers, 3), per_host);
        check_collectives(crowd, all, taken);
    }
}

/// So many that sums of few bytes go along the tree, too, when the lengths are known.
void a_crowd_gives_what_the_definition_says(void **) {
    Taken taken;
    Crowd crowd(Spans::even(66, 1), 1);
    check_collectives(crowd, seeds(9, 36), taken);
}

/// In any order, or worker by worker. Nobody goes by hosts in a group.
void groups_give_what_the_definition_says(void **) {
    for (const auto &[workers, per_host] : {std::pair<uint32_t, uint32_t>{2, 1}, {4, 1}, {6, 2}, {8, 4}, {18, 1}}) {
        const Seeds all = seeds(9, 180, workers); // others for each
        Random random(workers);
        Taken taken;
        Crowd job(random_spans(random, workers, 3), per_host);
        std::vector<uint32_t> ids(job.replicas());
        std::iota(ids.begin(), ids.end(), 0);
        {
            Crowd everybody(job, ids, per_host);
            check_collectives(everybody, all, taken);
        }
        std::shuffle(ids.begin(), ids.end(), random);
        ids.resize(1 + random() % ids.size());
        {
            Crowd some(job, ids, 1);
            check_collectives(some, all, taken);
        }
        std::sort(ids.begin(), ids.end());
        Crowd in_order(job, ids, 1);
        check_collectives(in_order, all, taken);
    }
}

/// Two all-gathers and so on, one of few bytes and one of many: what goes along needs no message behind the headers.
void few_bytes_go_along_with_the_headers(void **) {
    struct Case {
        const CallFunction &function;
        uint32_t workers;
        bool along; // also among those who agree directly
    };
    for (const auto &[function, workers, along] : {Case{calls::kScatter, 3, true},
                                                   {calls::kReduceScatter, 3, true},
                                                   {calls::kAllGather, 3, false},
                                                   {calls::kScatter, 17, true},
                                                   {calls::kReduceScatter, 17, true},
                                                   {calls::kAllGather, 17, true},
                                                   {calls::kGatherToRoot, 17, true},
                                                   {calls::kGatherToRoot, 3, false}}) {
        Crowd crowd(Spans::even(workers, 1), 1);
        for (const bool few : {true, false}) {
            Random random(test_seed(1));
            CollectiveJob job(random, function, workers, few ? 3 : 30000);
            const uint64_t before = crowd.sent_behind();
            check(crowd, job, "in parts", workers::perform_parts);
            assert_int_equal(crowd.sent_behind() == before, few && along);
        }
    }
}

/// Some workers make another call than the others, in whatever way that goes. Nobody gets through, and everybody hears
/// why.
void check_disagreement(Crowd &crowd, Random &random, const char *where) {
    const auto any_job = [&] {
        const CallFunction &function = *kCollectives[random() % std::size(kCollectives)];
        return CollectiveJob(random, function, crowd.replicas(), random() % 2 == 0 ? 20000 : 40);
    };
    const CollectiveJob one = any_job(), other = any_job();
    if (same_call(one.call(0), other.call(0))) return;
    const auto odd_one = static_cast<uint32_t>(random() % crowd.workers());
    std::vector<bool> others(crowd.workers());
    const bool alone = random() % 2 == 0;
    for (uint32_t worker = 0; worker < crowd.workers(); ++worker)
        others[worker] =
            worker == odd_one || (!alone && worker != (odd_one + 1) % crowd.workers() && random() % 2 == 0);
    std::vector<Failure> failures(crowd.workers(), {MDIST_OK, ""});
    crowd.each([&](uint32_t worker) {
        failures[worker] = failure_of(
            [&] { workers::perform(Crowd::Asked(crowd, worker, others[worker] ? other.calls() : one.calls())); });
    });
    for (uint32_t worker = 0; worker < crowd.workers(); ++worker)
        if (failures[worker].status() != MDIST_ERR_MISMATCH)
            fail_msg("%s, %u workers, %s and %s: worker %u: status %d: %s", where, crowd.workers(),
                     one.call(0).kind->name(), other.call(0).kind->name(), worker, failures[worker].status(),
                     failures[worker].what());
    // If a message says what most call, that is so.
    const auto count = static_cast<uint32_t>(std::count(others.begin(), others.end(), true));
    for (const Failure &failure : failures) {
        if (failure.message().find(" workers are in operation ") == std::string::npos) continue;
        const uint32_t most = std::max(count, crowd.workers() - count);
        const bool exactly =
            strstr(failure.what(), text(": ", most, " of ", crowd.workers(), " workers").c_str()) != nullptr;
        if (!exactly && failure.message().find(": at least ") == std::string::npos)
            fail_msg("%s, %u in one call and %u in the other: %s", where, count, crowd.workers() - count,
                     failure.what());
        for (uint32_t worker = 0; worker < crowd.workers(); ++worker)
            if (crowd.group(worker).rank(worker) == failure.worker())
                assert_int_equal(others[worker], 2 * count < crowd.workers());
    }
}

void workers_in_two_calls_all_fail_for_that(void **) {
    for (const uint32_t seed : seeds(32, 1000)) {
        Random random(seed);
        const auto per_host = static_cast<uint32_t>(1 + random() % 3);
        const auto workers = seed % 8 == 0 ? 17 * per_host : per_host * static_cast<uint32_t>(2 + random() % 4);
        Crowd job(random_spans(random, workers, 3), per_host);
        const std::string where = text("seed ", seed, ", ", per_host, " on each host");
        if (random() % 3 != 0) {
            check_disagreement(job, random, where.c_str());
            continue;
        }
        std::vector<uint32_t> ids(job.replicas());
        std::iota(ids.begin(), ids.end(), 0);
        if (random() % 2 == 0) std::shuffle(ids.begin(), ids.end(), random);
        Crowd everybody(job, ids, per_host);
        check_disagreement(everybody, random, where.c_str());
    }
}

} // namespace

SUBJECT(ways) {
    const CMUnitTest tests[] = {
        cmocka_unit_test(all_ways_give_what_the_definition_says),
        cmocka_unit_test(long_pieces_give_what_the_definition_says),
        cmocka_unit_test(many_workers_give_what_the_definition_says),
        cmocka_unit_test(a_crowd_gives_what_the_definition_says),
        cmocka_unit_test(groups_give_what_the_definition_says),
        cmocka_unit_test(few_bytes_go_along_with_the_headers),
        cmocka_unit_test(workers_in_two_calls_all_fail_for_that),
    };
    return cmocka_run_group_tests_name("multi/ways", tests, nullptr, nullptr);
}
