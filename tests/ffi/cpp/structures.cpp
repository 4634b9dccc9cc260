// SPDX-License-Identifier: Apache-2.0
// Structures, rows, roots and losses; maps, fetches, and updates with results.
#include <poll.h>
#include <unistd.h>

#include <array>

#include "check.hpp"

namespace {

using Floats = std::vector<float>;

Floats floats(const mdist::Value &value, size_t index = 0) {
    const auto elements = value.tensor(index).as<float>();
    return Floats(elements.begin(), elements.end());
}

void check_values() {
    check("leaves are found by their paths and outlive the whole", [] {
        mdist::Value value(mdist::leaves("loss", 3.0f, "grads", mdist::Value(mdist::leaves("1", 2.0f, "0", 1.0f))));
        require(value.kind() == MDIST_VALUE_STRUCTURE && value.count() == 0, "kind");
        require(value.paths() == std::vector<std::string>{"grads.0", "grads.1", "loss"}, "paths");
        const mdist::Value grads = value.at("grads");
        const mdist::Leaves leaves = value.leaves();
        const auto missing = thrown_by<mdist::Error>([&] { value.at("grad"); });
        require(missing.status() == MDIST_ERR_NOT_FOUND, missing.what());
        value = mdist::Value();
        require(grads.paths() == std::vector<std::string>{"0", "1"}, "below");
        require(leaves.at("grads.1").tensor().item<float>() == 2, "leaf");
        const auto wrong = thrown_by<mdist::Error>([&] { mdist::Value(mdist::leaves("a..b", 1.0f)); });
        require(wrong.status() == MDIST_ERR_INVALID_ARGUMENT, wrong.what());
    });
    check("steps take and give structures", [] {
        for (uint32_t replicas = 1; replicas <= 3; ++replicas) {
            auto strategy = strategy_of(replicas);
            const auto batch = mdist::values(mdist::Value(mdist::leaves("x", 1.0f, "y.0", 5.0f)));
            const mdist::Value result = strategy.run(
                [](mdist::Replica &replica) {
                    const float x = replica.argument(0, "x").item<float>() + static_cast<float>(replica.id());
                    return mdist::leaves("loss", Floats{1, 2}, "sums.0", Floats{x});
                },
                batch);
            require(result.paths() == std::vector<std::string>{"loss", "sums.0"}, "paths");
            const Floats expected = Floats{1, 2, 3};
            require(floats(strategy.gather(result, 0).at("sums.0")) ==
                        Floats(expected.begin(), expected.begin() + replicas),
                    "sums");
        }
    });
    check("reductions come in batches", [] {
        auto strategy = strategy_of(2);
        mdist::Values values;
        for (float i = 0; i < 20; ++i) values.push_back(strategy.per_replica({i, 1.0f}));
        std::vector<std::string> destinations(20);
        destinations[3] = "cpu:1";
        const mdist::Values reduced = strategy.batch_reduce_to(MDIST_SUM, values, destinations);
        for (size_t i = 0; i < 20; ++i) require(floats(reduced[i])[0] == static_cast<float>(i) + 1, "sum");
        require(reduced[2].kind() == MDIST_VALUE_MIRRORED && reduced[3].kind() == MDIST_VALUE_PLAIN, "kinds");
        require(strategy.batch_reduce_to(MDIST_SUM, values).size() == 20, "everywhere");
        thrown_by<std::invalid_argument>([&] { strategy.batch_reduce_to(MDIST_SUM, values, {""}); });
    });
    check("rows are joined and scattered", [] {
        auto strategy = strategy_of(2);
        mdist::Variable table(strategy, "table", Floats(4, 1.0f), MDIST_AGGREGATION_SUM);
        strategy.run([&](mdist::Replica &replica) {
            const std::vector<int64_t> indices{replica.id(), 3};
            const Floats values{10, 20};
            const mdist::Value joined = replica.all_reduce_sparse(MDIST_MEAN, indices, values);
            require(joined.indices()->as<int64_t>()[2] == 1 && floats(joined) == Floats{5, 10, 5, 10}, "joined");
            table.assign_sparse(replica, MDIST_ASSIGN_ADD, indices, values);
        });
        require(floats(table.read()) == Floats{11, 11, 1, 41}, "scattered");
        table.assign(MDIST_ASSIGN_MUL, mdist::Value::sparse(std::vector<int64_t>{2}, Floats{7}));
        require(table.tensor(1).as<float>()[2] == 7 && !table.read().indices(), "assigned");
        const auto beyond = thrown_by<mdist::Error>([&] {
            strategy.run([&](mdist::Replica &replica) {
                table.assign_sparse(replica, MDIST_ASSIGN_ADD, std::vector<int64_t>{4}, Floats{0});
            });
        });
        require(beyond.status() == MDIST_ERR_INVALID_ARGUMENT, beyond.what());
        require_usable(strategy);
    });
}

void check_roots() {
    check("only the root gets, and only the root gives", [] {
        auto strategy = strategy_of(3);
        strategy.run([](mdist::Replica &replica) {
            const auto id = static_cast<int32_t>(replica.id());
            std::vector<int32_t> x{id + 1}, sums(1), all(id == 1 ? 3 : 0), part(1);
            replica.reduce_to_root(MDIST_SUM, 2, x, sums);
            replica.reduce_to_root(MDIST_SUM, 2, x);
            require(x[0] == std::array{1, 2, 6}[static_cast<size_t>(id)] && sums[0] == (id == 2 ? 6 : 0), "reduce");
            replica.gather_to_root(1, 10 * id, all);
            require(id != 1 || all == std::vector{0, 10, 20}, "gather");
            replica.scatter(1, all, part);
            require(part[0] == 10 * id, "scatter");
        });
    });
    check("rooted collectives can be started", [] {
        auto strategy = strategy_of(3);
        strategy.run([](mdist::Replica &replica) {
            const bool root = replica.id() == 0;
            auto sum = replica.reduce_to_root_start(MDIST_SUM, 0, Floats{1});
            auto all = replica.gather_to_root_start(0, std::vector<uint32_t>{replica.id()},
                                                    std::vector<uint32_t>(root ? 3 : 0));
            auto part = replica.scatter_start(0, root ? Floats{7, 8, 9} : Floats(), Floats(1));
            require(part.wait().second[0] == 7 + static_cast<float>(replica.id()), "scatter");
            require(!root || all.wait().second == std::vector<uint32_t>{0, 1, 2}, "gather");
            require(root || all.wait().second.empty(), "gather elsewhere");
            require(sum.wait()[0] == (root ? 3 : 1), "reduce");
        });
    });
    check("a descriptor tells when to test", [] {
        auto strategy = strategy_of(3);
        strategy.run([](mdist::Replica &replica) {
            auto sum = replica.all_reduce_start(MDIST_SUM, std::vector<uint32_t>{replica.id()});
            pollfd one{sum.descriptor(), POLLIN, 0};
            while (!sum.test()) poll(&one, 1, 60000);
            const uint32_t result = sum.wait()[0];
            const int readable = poll(&one, 1, 60000);
            close(one.fd);
            require(result == 3 && readable == 1, "sum");
        });
    });
    check("parts of a loss add up to the mean over all examples", [] {
        auto strategy = strategy_of(3);
        const std::array<Floats, 3> examples{Floats{1, 2, 3}, Floats{4}, Floats{}};
        strategy.run([&](mdist::Replica &replica) {
            const Floats &own = examples[replica.id()];
            const mdist::Loss loss = replica.average_loss(own);
            std::array<double, 3> sums{loss.part, replica.average_loss(own, own, loss.examples).part,
                                       replica.scale_regularization(std::vector<double>{3, 6})};
            replica.all_reduce(MDIST_SUM, sums);
            require(loss.examples == 4 && sums == std::array{2.5, 7.5, 9.0}, "sums");
        });
    });
}

void check_functions() {
    check("a map computes elements on all replicas", [] {
        auto strategy = strategy_of(3);
        const mdist::Value doubled = strategy.map(
            7, [](mdist::Replica &replica, uint64_t element) { return 2 * replica.argument(0).as<float>()[element]; },
            mdist::values(Floats{0, 1, 2, 3, 4, 5, 6}));
        require(floats(doubled, 1) == Floats{2, 8}, "elements of replica 1");
        require(floats(strategy.reduce(MDIST_MEAN, doubled, {0})) == Floats{6}, "mean");
        const auto fail = [](mdist::Replica &, uint64_t) { throw std::logic_error("no more"); };
        const auto error = thrown_by<std::logic_error>([&] { strategy.map(3, fail); });
        require(error.what() == std::string("no more"), error.what());
        require_usable(strategy);
    });
    check("values are made replica by replica, and fetched", [] {
        auto strategy = strategy_of(3);
        const mdist::Value value = strategy.values_from_function([](uint32_t id, uint32_t count) {
            return mdist::leaves("place", std::array<uint32_t, 2>{id, count});
        });
        require(value.at("place").tensor(2).as<uint32_t>()[0] == 2, "place");
        const mdist::Value mirrored = strategy.broadcast_to(Floats{1, 5, 3});
        require(floats(strategy.fetch(mirrored)) == Floats{1, 5, 3}, "content");
        const auto last = [](mdist::ConstTensor source) { return source.as<float>()[2]; };
        require(floats(strategy.fetch(mirrored, "cpu:1", last)) == Floats{3}, "last");
        const auto fail = [](mdist::ConstTensor) -> float { throw std::logic_error("no more"); };
        thrown_by<std::logic_error>([&] { strategy.fetch(mirrored, "", fail); });
    });
    check("updates give results, and a variable is found by its memory", [] {
        auto strategy = strategy_of(2);
        mdist::Variable variable(strategy, "w", Floats{1, 2});
        const mdist::Value before = variable.update([](uint32_t local, mdist::Tensor copy, mdist::ConstTensors) {
            const auto elements = copy.as<float>();
            Floats old(elements.begin(), elements.end());
            elements[local] = 9;
            return old;
        });
        require(floats(before, 1) == Floats{1, 2} && variable.tensor(1).as<float>()[1] == 9, "update");
        const mdist::Value steps = update_devices(
            strategy,
            [](uint32_t local, mdist::ConstTensors x) { return x[0].item<float>() + static_cast<float>(local); },
            mdist::values(5.0f));
        require(floats(steps, 1) == Floats{6}, "non-slot");
        const mdist::Variable beside(strategy, "beside", 0, MDIST_AGGREGATION_NONE, MDIST_SYNC_AUTO, &variable);
        const auto [found, local] = mdist::Variable::of(strategy, variable.tensor(1));
        require(found.name() == std::string("w") && local == 1, "found");
        thrown_by<mdist::Error>([&] { mdist::Variable::of(strategy, 1.0f); });
    });
}

} // namespace

void check_structures() {
    check_values();
    check_roots();
    check_functions();
}
