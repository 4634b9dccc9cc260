// SPDX-License-Identifier: Apache-2.0
// Runs on the test's own threads.
#include <thread>

#include "check.hpp"

namespace {

// Performs a run with one thread per replica. Works the same with or without the library's threads.
template <typename Step>
void enter_all(mdist::Run &run, uint32_t replicas, Step step) {
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < replicas; ++i) threads.emplace_back([&, i] { run.enter(i, step); });
    for (std::thread &thread : threads) thread.join();
}

} // namespace

void check_threads() {
    for (const std::string executor : {"threads", "caller"}) {
        check("own threads take steps, collectives and merges (executor: " + executor + ")", [&] {
            auto strategy = strategy_of(3, executor);
            for (int round = 0; round < 50; ++round) {
                mdist::Run run(strategy, mdist::values(round), 1);
                enter_all(run, 3, [](mdist::Replica &replica) {
                    int32_t sum = replica.argument(0).item<int32_t>();
                    replica.all_reduce(MDIST_SUM, sum);
                    const auto one = replica.merge(
                        [](mdist::Strategy &, const mdist::Values &sums) {
                            return mdist::Value(sums[0].tensor(2).as<int32_t>());
                        },
                        {sum});
                    return one.item<int32_t>();
                });
                require(run.end().at(0).tensor(1).item<int32_t>() == 3 * round, "the result");
            }
        });
    }
    check("what one of them throws comes out of end(), and the others are released", [] {
        auto strategy = strategy_of(3, "caller");
        for (uint32_t who = 0; who < 3; ++who) {
            mdist::Run run(strategy);
            enter_all(run, 3, [who](mdist::Replica &replica) {
                if (replica.local_index() == who) throw std::out_of_range(std::to_string(who));
                replica.barrier();
            });
            const auto error = thrown_by<std::out_of_range>([&] { run.end(); });
            require(error.what() == std::to_string(who), error.what());
        }
    });
    check("ending too early, not entering, and entering twice are told apart", [] {
        auto strategy = strategy_of(2, "caller");
        mdist::Run run(strategy);
        run.enter(0, [&](mdist::Replica &) {
            require(thrown_by<mdist::Error>([&] { run.end(); }).reason() == "replica_inside", "too early");
        });
        require(thrown_by<mdist::Error>([&] { run.enter(0, [](mdist::Replica &) {}); }).status() < 0, "twice");
        const auto error = thrown_by<mdist::Error>([&] { run.end(); });
        require(error.reason() == "not_entered", error.what());
    });
    check("a run that nobody ends is closed when it goes", [] {
        auto strategy = strategy_of(2, "caller");
        { mdist::Run run(strategy, {}, 2); }
        {
            mdist::Run run(strategy, {}, 1);
            enter_all(run, 2, [](mdist::Replica &replica) { return replica.id(); });
        }
        mdist::Run again(strategy);
        enter_all(again, 2, [](mdist::Replica &) {});
        again.end();
    });
}
