// SPDX-License-Identifier: Apache-2.0
// What two workers of two replicas do together. Each is started with this program and "workers" or "in_graph".
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "check.hpp"

void check_workers() {
    check("a config begins with the environment, and keys override it", [] {
        require(mdist::Config().get("devices") == "cpu*2", "the devices of the environment");
        require(mdist::Config().set("devices", "cpu").get("devices") == "cpu", "a key that is set later");
        require(mdist::Config::empty().get("devices") == "auto", "an empty config");
    });
    check("operators, groups, parts and prepared calls on two workers", [] {
        mdist::Strategy strategy(mdist::Config().set("communication.timeout", "100s"));
        require(strategy.worker_count() == 2, "workers");
        require(std::to_string(strategy.rank()) == std::getenv("MDIST_RANK"), "the rank of the launcher");
        struct Affine {
            int64_t a, b;
        };
        const auto compose = mdist::Operator::of<Affine>("affine", [](const Affine &left, const Affine &right) {
            return Affine{left.a * right.a, left.b * right.a + right.b};
        });
        mdist::Group crossed(strategy, {3, 0}); // of both workers
        int64_t numbers[2];
        std::vector<mdist::Prepared> calls;
        for (uint32_t i = 0; i < 2; ++i)
            calls.push_back(mdist::Prepared::all_reduce(strategy, i, MDIST_SUM, numbers[i]));
        std::atomic<int> ends = 0;
        strategy.run([&](mdist::Replica &replica) {
            const uint32_t id = replica.id();
            std::vector<int64_t> own{id + 2, 3 * int64_t{id} + 1};
            replica.all_reduce(compose, own);
            require(own == std::vector<int64_t>{120, 185}, "(2, 1), (3, 4), (4, 7), (5, 10), one after another");
            if (crossed.position(id) != MDIST_NONE) {
                std::vector<uint32_t> both(2);
                replica.all_gather(id, both, crossed);
                require(both == std::vector<uint32_t>{3, 0}, "the group's order");
            }
            std::vector<uint32_t> given(6, id), taken(4 * id), expected;
            for (uint32_t from = 0; from < 4; ++from) expected.insert(expected.end(), id, from);
            replica.all_to_all_parts(given, std::vector<uint64_t>{0, 1, 2, 3}, taken, std::vector<uint64_t>(4, id));
            require(taken == expected, "parts");
            numbers[replica.local_index()] = id;
            calls[replica.local_index()].run(replica);
            require(numbers[replica.local_index()] == 6, "a prepared call");
            auto sending = replica.send_start((id + 1) % 4, 9, std::vector<uint32_t>(2000, id));
            std::vector<uint32_t> received(2000);
            replica.receive((id + 3) % 4, 9, received);
            sending.wait();
            require(received == std::vector<uint32_t>(2000, (id + 3) % 4), "messages");
            auto work = replica.all_reduce_start(MDIST_XOR, std::vector<int16_t>{static_cast<int16_t>(1 << id)});
            work.on_done([&](mdist_status_t status) { ends += status == MDIST_OK ? 1 : 9; });
            require(work.wait()[0] == 15, "a started operation");
        });
        require(ends == 2, "ends of operations: " + std::to_string(ends));
    });
}

void check_in_graph() {
    check("one worker leads the other by names", [] {
        mdist::Strategy strategy;
        mdist::Names names(strategy);
        names.step("train", [&](mdist::Replica &replica) {
            const auto variable = mdist::Variable::find(strategy, "v");
            return replica.argument(0).item<float>() + variable.tensor(replica).item<float>() +
                   static_cast<float>(replica.id());
        });
        names.step("fail", [](mdist::Replica &replica) {
            if (replica.id() == 2) throw std::out_of_range("on replica 2");
        });
        names.update("subtract", [](uint32_t, mdist::Tensor copy, mdist::ConstTensors arguments) {
            copy.as<float>()[0] -= arguments[0].item<float>();
        });
        if (strategy.rank() != 0) {
            const auto own = thrown_by<std::out_of_range>([&] { names.serve(); });
            require(std::strcmp(own.what(), "on replica 2") == 0, own.what());
            return;
        }
        mdist::Variable variable(strategy, "v", 10.0f);
        names.update(&variable, "subtract", mdist::values(1.0f));
        const auto found = names.run("train", mdist::values(0.5f), 1);
        for (uint32_t i = 0; i < 4; ++i)
            require(found[0].tensor(i).item<float>() == 9.5f + static_cast<float>(i), "a result");
        const auto failed = thrown_by<mdist::Error>([&] { names.run("fail"); });
        require(std::strstr(failed.what(), "on replica 2") && failed.replica() == 2, failed.what());
    });
}
