// SPDX-License-Identifier: Apache-2.0
// Compares every quick way to do a collective among workers, and the plain plan, with the collective's definition. The
// workers have one to four replicas each and run in one process.
#include "comm/workers/perform.h"
#include "comm/workers/quick.h"
#include "inproc.h"
#include "subject.h"
#include "workers.h"

#include <map>
#include <thread>

#include "../unit/collective_job.h"

namespace {

using namespace mdist;
using namespace mdist::test;

/// The workers of a job, on threads of this process. They join once, for many collectives.
class Crowd {
  public:
    explicit Crowd(const Spans &spans, uint32_t per_host) : spans_(spans), groups_(spans.workers()) {
        static uint16_t port = 4400;
        const std::string store = text(own_host(), ':', port++);
        auto links = make_inproc_links(spans.workers());
        each([&](uint32_t worker) {
            MembershipOptions options = options_for(worker, spans_.workers(), store);
            options.serves_store = worker == 0;
            options.join_timeout_ns = kLongEnough;
            options.heartbeat_timeout_ns = kLongEnough;
            WorkerLinks ways;
            ways.link = std::move(links[worker]);
            ways.per_host = per_host;
            groups_[worker] =
                std::make_unique<WorkerGroup>(std::make_unique<Membership>(options), std::move(ways), spans_);
            groups_[worker]->when_failed([](const Failure &) {});
        });
    }
    ~Crowd() {
        each([&](uint32_t worker) { groups_[worker]->leave(); });
    }

    /// Runs `body` on all workers at once. An exception ends the program.
    void each(const std::function<void(uint32_t worker)> &body) {
        std::vector<std::thread> threads;
        for (uint32_t worker = 0; worker < spans_.workers(); ++worker)
            threads.emplace_back([&, worker] { body(worker); });
        for (std::thread &thread : threads) thread.join();
    }

    const Spans &spans() const { return spans_; }
    WorkerGroup &group(uint32_t worker) { return *groups_[worker]; }

  private:
    const Spans spans_;
    std::vector<std::unique_ptr<WorkerGroup>> groups_;
};

struct Layout {
    std::vector<uint32_t> counts;
    uint32_t per_host;
};

/// Calls way(collective) on every worker, and checks all outputs.
void check(Crowd &crowd, CollectiveJob &job, const char *name, void (*way)(const workers::Collective &)) {
    job.forget();
    crowd.each([&](uint32_t worker) {
        const reduce::FloatEnvironment environment;
        way(workers::collective_of(crowd.group(worker), job.calls() + crowd.spans()[worker].first, kLongEnough));
    });
    for (uint32_t replica = 0; replica < job.replicas(); ++replica)
        if (!job.right(replica)) fail_msg("%s, %s, at replica %u", job.call(0).kind->name(), name, replica);
}

/// A barrier moves nothing: it is right if nobody fails. Each worker comes to as many as the others.
void meet(Crowd &crowd, std::map<std::string, uint32_t> &taken) {
    Call barrier;
    barrier.kind = &calls::kBarrier;
    const std::vector<const Call *> all(crowd.spans().replicas(), &barrier);
    for (const workers::QuickWay &way : workers::quick_ways()) {
        if (!way.fits(workers::collective_of(crowd.group(0), all.data(), kLongEnough))) continue;
        crowd.each([&](uint32_t worker) {
            way.perform(workers::collective_of(crowd.group(worker), all.data(), kLongEnough));
        });
        ++taken[way.name];
    }
}

void all_ways_give_what_the_definition_says(void **) {
    const Layout layouts[] = {{{3, 3, 1}, 1}, {{1, 4, 2}, 1}, {{2, 1, 1, 1}, 1}, {{1, 1, 1, 2}, 2},
                              {{1, 1}, 1},    {{2, 2}, 1},    {{1, 1, 1, 1}, 2}, {{2, 2, 2, 2}, 2}};
    std::map<std::string, uint32_t> taken;
    const Seeds all = seeds(60, 600);
    for (const Layout &layout : layouts) {
        Crowd crowd(Spans(layout.counts), layout.per_host);
        meet(crowd, taken);
        for (const uint32_t seed : all) {
            Random random(seed);
            const CallFunction &function = *kCollectives[seed % std::size(kCollectives)];
            CollectiveJob job(random, function, crowd.spans().replicas(), seed % 4 == 0 ? 20000 : 40);
            check(crowd, job, "by the plan", workers::perform_plan);
            // Three times, since a way may remember the lengths of the pieces, and another may fit then, or if they
            // were the same twice.
            for (int i = 0; i < 3; ++i) {
                for (const workers::QuickWay &way : workers::quick_ways()) {
                    const auto collective = workers::collective_of(crowd.group(0), job.calls(), kLongEnough);
                    if (!way.fits(collective)) continue;
                    check(crowd, job, way.name, way.perform);
                    ++taken[way.name];
                    ++taken[text(function.name(), ", ", way.name)];
                }
            }
        }
    }
    if (all.count() < 60) return; // too few to need every way
    for (const workers::QuickWay &way : workers::quick_ways())
        if (std::string(way.name) != "all-reduce in shared memory" && taken[way.name] == 0)
            fail_msg("%s was never taken", way.name); // these workers share no memory: see shm_all_reduce
    for (const char *function : {"mdist_all_gather", "mdist_gather_to_root", "mdist_scatter", "mdist_reduce_scatter",
                                 "mdist_reduce_to_root"})
        if (taken[text(function, ", small parts by relays")] == 0) fail_msg("%s never went by relays", function);
}

} // namespace

SUBJECT(ways) {
    const CMUnitTest tests[] = {cmocka_unit_test(all_ways_give_what_the_definition_says)};
    return cmocka_run_group_tests_name("multi/ways", tests, nullptr, nullptr);
}
