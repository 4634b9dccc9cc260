// SPDX-License-Identifier: Apache-2.0
// A thousand workers in the simulation: they join, exchange, and hear of the loss of one of them.
#include "simulation.h"

#include "membership/protocol/neighbors.h"
#include "membership/store/fixed_store.h"
#include "membership/worker/member.h"
#include "random.h"
#include "subject.h"
#include "util/log.h"
#include "util/text.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include <malloc.h>

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
constexpr uint64_t kSilence = 10 * kSecond;
constexpr uint64_t kInterval = kSilence / 10;

struct Crowd {
    struct Worker {
        MembershipOptions options;
        Process *process = nullptr;
        std::unique_ptr<Member> member;
        uint64_t exchange = 0;
        bool starts = false; // soon
        bool has_table = false;
        bool knows = false; // of the loss
    };

    Crowd(uint32_t size, uint64_t seed) : simulation(seed, false), workers(size) {
        for (uint32_t rank = 0; rank < size; ++rank) {
            Worker &worker = workers[rank];
            worker.process = &simulation.add_process();
            by_process[worker.process->number()] = rank;
            worker.options.rank = rank;
            worker.options.size = size;
            worker.options.job = "crowd";
            worker.options.join_timeout_ns = 600 * kSecond;
            worker.options.heartbeat_timeout_ns = kSilence;
        }
        Process &host = simulation.add_process();
        store_at = Endpoint{host.host(), 4400};
        store = std::make_unique<FixedStore>(host, FixedStoreOptions{size, 0, "crowd", ""});
        host.run(store.get());
        host.listen_at(4400);
        simulation.when_told([this](Process &process) { look(process); });
        for (Worker &worker : workers) start(worker);
    }

    void start(Worker &worker) {
        worker.starts = true;
        simulation.after(simulation.random(kSecond), [this, &worker] {
            worker.starts = false;
            worker.member = std::make_unique<Member>(*worker.process, worker.options, std::vector<Endpoint>{store_at});
            worker.member->ask({}, worker.options.join_timeout_ns);
            worker.process->run(worker.member.get());
        });
    }

    /// Kills one worker in a hundred while they join. Another process takes the place of each.
    void lose_some(uint64_t within_ns) {
        loses_some = true;
        for (std::size_t i = 0; i < workers.size() / 100; ++i)
            simulation.after(simulation.random(within_ns), [this] {
                Worker &victim = workers[simulation.random(workers.size())];
                simulation.kill(*victim.process);
                victim.process = &simulation.add_process_in_place_of(*victim.process);
                by_process[victim.process->number()] = victim.options.rank;
                start(victim);
            });
    }

    /// As programs do that form the job again when it fails: how many are at work in the newest session?
    void form_again_or_count(Worker &worker) {
        if (!worker.member || worker.starts) return;
        if (worker.member->failure()) {
            worker.member->leave();
            ready.erase(worker.options.rank);
            return start(worker);
        }
        const bool is_ready = worker.member->state() == Member::State::kReady &&
                              worker.member->peers().session() == store->generation().session;
        is_ready ? void(ready.insert(worker.options.rank)) : void(ready.erase(worker.options.rank));
        const uint32_t far = (worker.options.rank + 3) % worker.options.size; // no neighbor
        if (is_ready && worker.member->peers().roster().knows(far)) informed.insert(worker.options.rank);
    }

    /// Does what the program of that process would do.
    void look(Process &process) {
        const auto found = by_process.find(process.number());
        if (found == by_process.end()) return;
        Worker &worker = workers[found->second];
        if (loses_some) return form_again_or_count(worker);
        if (worker.knows || !worker.process->alive()) return;
        if (const auto failure = worker.member->failure()) {
            worker.knows = true;
            ++know;
            last_news_ns = simulation.now();
            if (failure->worker() != lost || failure->status() != MDIST_ERR_PEER_LOST) wrong = failure->message();
            return;
        }
        if (worker.member->state() != Member::State::kReady) return;
        Peers &peers = worker.member->peers();
        if (worker.exchange == 0) {
            joined_ns = simulation.now();
            worker.exchange = peers.begin_exchange(text("blob of ", worker.options.rank));
            return worker.process->touched();
        }
        if (worker.has_table || !peers.exchanged(worker.exchange)) return;
        worker.has_table = true;
        ++have_table;
        const std::vector<std::string> blobs = peers.take_exchange(worker.exchange);
        for (uint32_t rank = 0; rank < workers.size(); ++rank)
            if (blobs.at(rank) != text("blob of ", rank)) wrong = "a table with a wrong blob";
    }

    void run_until(const uint32_t &count, std::size_t wanted) {
        while (count < wanted && wrong.empty() && simulation.step(UINT64_MAX)) continue;
        if (!wrong.empty()) print_error("%s\n", wrong.c_str());
        assert_true(wrong.empty());
        assert_int_equal(count, wanted);
    }

    Simulation simulation;
    std::vector<Worker> workers;
    std::map<uint32_t, uint32_t> by_process; // ranks
    Endpoint store_at;
    std::unique_ptr<FixedStore> store;
    bool loses_some = false;
    std::set<uint32_t> ready;    // ranks
    std::set<uint32_t> informed; // ranks that know where all listen
    uint32_t have_table = 0, know = 0;
    uint32_t lost = UINT32_MAX;
    uint64_t joined_ns = 0, last_news_ns = 0;
    std::string wrong;
};

void check(uint32_t size, uint64_t seed, bool by_silence) {
    Crowd crowd(size, seed);
    const uint64_t begun = crowd.simulation.now();
    crowd.run_until(crowd.have_table, size);
    crowd.lost = static_cast<uint32_t>(crowd.simulation.random(size));
    Process &victim = *crowd.workers[crowd.lost].process;
    const uint64_t lost_ns = crowd.simulation.now(), events = crowd.simulation.events();
    by_silence ? crowd.simulation.power_off(victim) : crowd.simulation.kill(victim);
    crowd.run_until(crowd.know, size - 1);
    const uint64_t depth = static_cast<uint64_t>(std::bit_width(size));
    const uint64_t limit = (by_silence ? kSilence : 0) + (depth + 1) * kInterval;
    print_message("%u workers: joined in %llu ms with %llu events; all knew of %s after %llu ms (at most %llu)\n", size,
                  static_cast<unsigned long long>((crowd.joined_ns - begun) / kMillisecond),
                  static_cast<unsigned long long>(events), by_silence ? "silence" : "an end",
                  static_cast<unsigned long long>((crowd.last_news_ns - lost_ns) / kMillisecond),
                  static_cast<unsigned long long>(limit / kMillisecond));
    assert_true(crowd.last_news_ns - lost_ns <= limit);
}

/// Half of a crowd leaves, and one of the others announces itself.
void all_hear_who_has_left_and_who_waits(void **) {
    for (const uint64_t seed : seeds(4, 100)) {
        const auto size = static_cast<uint32_t>(34 + seed * 41 % 200),
                   depth = static_cast<uint32_t>(std::bit_width(size));
        Crowd crowd(size, seed);
        crowd.run_until(crowd.have_table, size);
        // Worker 0 stays, since it passes announcements on, and so do the ranks below 40: they have neighbors among
        // them.
        const auto leaves = [](uint32_t rank) { return rank >= 40 && rank % 2 == 0; };
        for (Crowd::Worker &worker : crowd.workers) {
            worker.member->peers().set_entered(7); // so nobody misses those that leave
            if (leaves(worker.options.rank)) worker.member->leave();
            if (worker.options.rank == 33) worker.member->peers().announce();
            worker.process->touched();
        }
        for (const uint64_t end = crowd.simulation.now() + (2 * depth + 2) * kInterval; crowd.simulation.step(end);)
            continue;
        for (uint32_t rank = 0; rank < std::min(size, 40u); ++rank) {
            const Peers &peers = crowd.workers[rank].member->peers();
            assert_false(peers.failure().has_value());
            for (uint32_t other = 0; other < size; ++other)
                if (other != rank) assert_int_equal(peers.left(other), leaves(other));
            if (rank != 33) assert_int_equal(peers.entered(33), 7);
        }
    }
}

/// What a worker of a crowd keeps beside the table that all share here: control connections with 2 log2(n) others.
void nobody_keeps_more_than_log_n_of_the_others(void **) {
    const auto bytes_of_each = [](uint32_t size) {
        const auto before = static_cast<double>(mallinfo2().uordblks);
        Crowd crowd(size, 3);
        crowd.simulation.set_costs({50'000, 25'000, 2.5});
        crowd.loses_some = true; // counts them
        const uint64_t begun = crowd.simulation.now();
        while (crowd.ready.size() < size && crowd.simulation.step(UINT64_MAX)) continue;
        const uint64_t joined_ns = crowd.simulation.now() - begun;
        while (crowd.informed.size() < size && crowd.simulation.step(UINT64_MAX)) continue;
        const double each = (static_cast<double>(mallinfo2().uordblks) - before) / size;
        const uint64_t known_ns = crowd.simulation.now() - begun;
        print_message("%u workers: joined in %llu ms, and all knew the table after %llu; %.0f bytes each\n", size,
                      static_cast<unsigned long long>(joined_ns / kMillisecond),
                      static_cast<unsigned long long>(known_ns / kMillisecond), each);
        return each;
    };
    const uint32_t few = 512, many = tiered(2048, 16384);
    const double small = bytes_of_each(few);
    for (uint32_t size = 2 * few; size < many; size *= 2) bytes_of_each(size);
    const double large = bytes_of_each(many);
    const double logarithms = static_cast<double>(std::bit_width(many)) / static_cast<double>(std::bit_width(few));
    if (small > 0) assert_true(large / small <= 1.15 * logarithms); // 0: this build has another allocator
}

void a_crowd_that_loses_one_in_a_hundred_while_it_joins_joins(void **) {
    for (const uint64_t seed : seeds(2, 6)) {
        const uint32_t size = tiered(1024, seed % 6 == 0 ? 16384 : 1024);
        Crowd crowd(size, seed);
        crowd.lose_some(3 * kSecond);
        const uint64_t begun = crowd.simulation.now();
        while (crowd.ready.size() < size && crowd.simulation.now() < begun + 60 * kSecond)
            if (!crowd.simulation.step(UINT64_MAX)) break;
        print_message("%u workers, of which %u were killed: joined after %llu ms\n", size, size / 100,
                      static_cast<unsigned long long>((crowd.simulation.now() - begun) / kMillisecond));
        assert_int_equal(crowd.ready.size(), size);
    }
}

void a_thousand_workers_join_exchange_and_hear_of_a_loss(void **) {
    for (const uint64_t seed : seeds(2, 20)) check(1024, seed, seed % 2 == 0);
}

void so_do_crowds_of_other_sizes(void **) {
    for (const uint64_t seed : seeds(10, 200)) check(34 + static_cast<uint32_t>(seed * 37 % 300), seed, seed % 2 == 0);
}

} // namespace

SUBJECT(crowd) {
    log::set_level(MDIST_LOG_OFF);
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_workers_join_exchange_and_hear_of_a_loss),
        cmocka_unit_test(so_do_crowds_of_other_sizes),
        cmocka_unit_test(nobody_keeps_more_than_log_n_of_the_others),
        cmocka_unit_test(a_crowd_that_loses_one_in_a_hundred_while_it_joins_joins),
        cmocka_unit_test(all_hear_who_has_left_and_who_waits),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
