// SPDX-License-Identifier: Apache-2.0
// Replicas working together: arguments and results, collectives of every kind, merges, variables, started collectives.
#include <array>
#include <atomic>
#include <thread>

#include "check.hpp"

namespace {

void check_runs() {
    check("what a step returns is the result: none, one, or several", [] {
        auto strategy = strategy_of(3);
        const auto arguments = mdist::values(std::vector<float>{1, 2}, 10);
        const auto nothing = [](mdist::Replica &) {};
        static_assert(std::is_void_v<decltype(strategy.run(nothing))>);
        const mdist::Value one = strategy.run(
            [](mdist::Replica &replica) {
                return replica.argument(0).as<float>()[1] + static_cast<float>(replica.argument(1).item<int>());
            },
            arguments);
        require(one.count() == 3 && one.tensor(2).item<float>() == 12, "one");
        const auto [ids, rows] = strategy.run([](mdist::Replica &replica) {
            return std::tuple(replica.id(), std::vector<double>(replica.local_index(), 0.5));
        });
        for (uint32_t i = 0; i < 3; ++i)
            require(ids.tensor(i).item<uint32_t>() == i && rows.tensor(i).shape[0] == i, "several");
    });
    check("a strategy tells what it has, and that it is alone", [] {
        auto strategy = strategy_of(2);
        require(strategy.replica_count() == 2 && strategy.local_replica_count() == 2, "replicas");
        require(strategy.worker_count() == 1 && strategy.rank() == 0 && strategy.is_chief(), "workers");
        require(strategy.device(1) == "cpu:1", "device");
    });
    check("values are reduced, gathered and broadcast outside of steps", [] {
        auto strategy = strategy_of(2);
        const mdist::Value rows =
            strategy.run([](mdist::Replica &replica) { return std::vector<float>(1 + replica.local_index(), 3.0f); });
        require(strategy.reduce(MDIST_SUM, rows, {0}).tensor().item<float>() == 9, "reduce");
        require(strategy.gather(rows, 0).tensor().elements() == 3, "gather");
        const mdist::Value mirrored = strategy.broadcast_to(5.0f);
        require(mirrored.kind() == MDIST_VALUE_MIRRORED, "broadcast_to");
        const mdist::Value each = strategy.per_replica({1.0f, 2.0f});
        require(strategy.reduce_to(MDIST_MAX, each).tensor(1).item<float>() == 2, "reduce_to");
        require(strategy.reduce_to(MDIST_MAX, each, "cpu:0").kind() == MDIST_VALUE_PLAIN, "reduce_to a device");
    });
}

void check_collectives() {
    check("collectives, in place and not, fused and not", [] {
        auto strategy = strategy_of(3);
        strategy.run([](mdist::Replica &replica) {
            const int32_t id = replica.id();
            std::vector<float> floats{1, 2};
            std::array<int64_t, 1> whole{id};
            double number = 0.5;
            replica.all_reduce(MDIST_SUM, {floats, whole, number});
            require(floats[1] == 6 && whole[0] == 3 && number == 1.5, "fused");

            std::vector<int32_t> all(3), parts(1), exchanged(3);
            const std::vector<int32_t> mine{id};
            replica.all_gather(mine, all);
            require(all == std::vector{0, 1, 2}, "all_gather");
            replica.reduce_scatter(MDIST_MAX, all, parts);
            require(parts[0] == id, "reduce_scatter");
            replica.all_to_all(std::vector<int32_t>(3, id), exchanged);
            require(exchanged == all, "all_to_all");
            replica.broadcast(2, parts);
            require(parts[0] == 2, "broadcast");
            replica.all_reduce(MDIST_PROD, all, exchanged);
            require(exchanged == std::vector{0, 1, 8} && all[2] == 2, "not in place");
        });
    });
    check("a started collective owns its memory and gives it back", [] {
        auto strategy = strategy_of(2);
        strategy.run([](mdist::Replica &replica) {
            mdist::Vector<float> gradients(5000, 1.0f + static_cast<float>(replica.id()));
            const float *const memory = gradients.data();
            auto sum = replica.all_reduce_start(MDIST_SUM, std::move(gradients));
            auto moved = std::move(sum); // the operation does not notice
            while (!moved.test()) {
            }
            require(moved.wait_for(std::chrono::seconds(0)), "done and not done");
            gradients = moved.wait();
            require(gradients.data() == memory && gradients[4999] == 3, "another memory, or another sum");

            auto [mine, all] = replica.all_gather_start(std::array{replica.id()}, std::array<uint32_t, 2>{}).wait();
            require(all[1] == 1 && mine[0] == replica.id(), "all_gather_start");
            auto part = replica.reduce_scatter_start(MDIST_SUM, all, std::array<uint32_t, 1>{}).wait().second;
            require(part[0] == 2 * replica.id(), "reduce_scatter_start");
            auto exchanged = replica.all_to_all_start(all, std::array<uint32_t, 2>{}).wait().second;
            require(exchanged[1] == replica.id(), "all_to_all_start");
            require(replica.broadcast_start(1, replica.id()).wait() == 1, "broadcast_start");
            replica.barrier_start().wait();
        });
    });
    check("a work that is given up releases the others", [] {
        auto strategy = strategy_of(2);
        std::atomic<bool> given_up{false};
        const auto error = thrown_by<mdist::Error>([&] {
            strategy.run([&](mdist::Replica &replica) {
                if (replica.id() == 1) {
                    { const auto work = replica.all_reduce_start(MDIST_SUM, mdist::Vector<float>(1000)); }
                    given_up = true;
                } else {
                    while (!given_up) std::this_thread::yield();
                    replica.barrier();
                }
            });
        });
        require(error.status() == MDIST_ERR_ABORTED && error.reason() == "work_destroyed", error.what());
        require_usable(strategy);
    });
}

void check_merges() {
    check("a merge happens once for all, and each receives its part", [] {
        auto strategy = strategy_of(3);
        int merges = 0;
        strategy.run([&](mdist::Replica &replica) {
            const float loss = static_cast<float>(replica.id());
            const auto decide = [&](mdist::Strategy &outside, const mdist::Values &losses) {
                ++merges;
                return std::tuple(outside.reduce(MDIST_MEAN, losses[0]), outside.per_replica({10, 11, 12}));
            };
            const auto [mean, own] = replica.merge(decide, {loss});
            require(mean.item<float>() == 1, "the mean");
            require(own.item<int>() == 10 + static_cast<int>(replica.id()), "own part");
        });
        require(merges == 1, std::to_string(merges) + " merges");
        require_usable(strategy);
    });
    check("arguments of a merge stay the library's, also when they are looked at in vain", [] {
        auto strategy = strategy_of(2);
        strategy.run([](mdist::Replica &replica) {
            for (int i = 0; i < 100; ++i)
                replica.merge([](mdist::Strategy &, const mdist::Values &) {}, {1.0f, 2.0, int64_t{3}});
        });
    });
}

void check_variables() {
    check("variables are written in steps, outside and in updates, and read", [] {
        auto strategy = strategy_of(2);
        mdist::Variable sum(strategy, "sum", std::vector<float>(3), MDIST_AGGREGATION_SUM);
        strategy.run([&](mdist::Replica &replica) {
            const std::vector<float> change(3, static_cast<float>(1 + replica.id()));
            sum.assign(replica, MDIST_ASSIGN_ADD, change);
            require(sum.tensor(replica).as<float>()[2] == 3, "in a step");
        });
        sum.assign(MDIST_ASSIGN_SUB, std::vector<float>(3, 1.0f));
        sum.update(
            [](uint32_t local, mdist::Tensor copy, mdist::ConstTensors arguments) {
                require(arguments.size() == 1 && local < 2, "arguments");
                for (float &one : copy.as<float>()) one *= arguments[0].item<float>();
            },
            mdist::values(5.0f));
        require(sum.read().tensor().as<float>()[0] == 10 && std::string(sum.name()) == "sum", "in the end");
    });
}

} // namespace

void check_replicas() {
    check_runs();
    check_collectives();
    check_merges();
    check_variables();
}
