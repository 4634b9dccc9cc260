// SPDX-License-Identifier: Apache-2.0
// Checkpoints, leaving, health and scopes.
#include <fstream>
#include <thread>

#include "check.hpp"
#include "folder.hpp"

namespace {

namespace fs = std::filesystem;

// Saves checkpoint 3: two variables and a text.
void save(const Folder &folder) {
    auto strategy = strategy_of(2);
    const std::vector<float> initial{1, 2, 3, 4};
    mdist::Checkpoint checkpoint(strategy, folder.path(), 2);
    checkpoint.add(mdist::Variable(strategy, "weights", mdist::ConstTensor(initial, {2, 2})), "model/w")
        .add(mdist::Variable(strategy, "seen", int64_t{6}, MDIST_AGGREGATION_SUM, MDIST_SYNC_ON_READ));
    checkpoint.set_text("epoch", "7").save(3);
}

void check_files() {
    check("any number of replicas restores a checkpoint", [] {
        const Folder folder;
        require(!mdist::Checkpoint::latest(folder.path()), "none yet");
        save(folder);
        require(mdist::Checkpoint::latest(folder.path()) == uint64_t{3}, "latest");
        for (uint32_t replicas = 1; replicas <= 3; ++replicas) {
            auto strategy = strategy_of(replicas);
            const mdist::Variable weights(strategy, "w", mdist::ConstTensor::of<float>({2, 2}));
            mdist::Checkpoint checkpoint(strategy, folder.path());
            checkpoint.add(weights, "model/w");
            const auto error = thrown_by<mdist::Error>([&] { checkpoint.restore(); });
            require(error.reason() == "different_variables", error.what());
            require(!checkpoint.restore(4), "another number");
            require(checkpoint.restore(MDIST_LATEST, true) == uint64_t{3}, "number");
            require(weights.tensor(replicas - 1).as<float>()[3] == 4, "weights");
            require(checkpoint.text("epoch") == "7" && !checkpoint.text("step"), "texts");
            require(checkpoint.keys() == std::vector<std::string>{"epoch"}, "keys");
        }
    });
    check("positions of iterators are restored, and all files removed", [] {
        const Folder folder;
        auto strategy = strategy_of(2);
        const mdist::Dataset numbers = mdist::Dataset::range(0, 9);
        mdist::Iterator first = numbers.iterator(), second = numbers.iterator();
        first.next(), first.next();
        mdist::Checkpoint(strategy, folder.path()).add(first, "rows").save(4);
        mdist::Checkpoint checkpoint(strategy, folder.path());
        checkpoint.add(second, "rows");
        require(checkpoint.restore() == 4 && (*second.next())[0].tensor().item<int64_t>() == 2, "the position");
        checkpoint.clear();
        require(!checkpoint.restore(), "nothing is left");
        require(mdist::version() >= 200 && !mdist::has("magic"), "the library");
    });
    check("a damaged checkpoint changes nothing", [] {
        const Folder folder;
        save(folder);
        {
            std::fstream file(folder.path() / "checkpoint-3.safetensors",
                              std::ios::in | std::ios::out | std::ios::binary);
            file.seekp(-1, std::ios::end);
            file.put('\x77');
        }
        auto strategy = strategy_of(2);
        const mdist::Variable weights(strategy, "model/w", mdist::ConstTensor::of<float>({2, 2}));
        const mdist::Variable seen(strategy, "seen", int64_t{0});
        mdist::Checkpoint checkpoint(strategy, folder.path());
        checkpoint.add(weights).add(seen);
        const auto error = thrown_by<mdist::Error>([&] { checkpoint.restore(3); });
        require(error.status() == MDIST_ERR_DATA_LOSS, error.what());
        require(weights.tensor(0).as<float>()[3] == 0, "weights");
    });
}

} // namespace

void check_checkpoints() {
    check_files();
    check("an announcement ends the program at the next check, or saves first", [] {
        auto no_grace = strategy_of(2), grace = strategy_of(2);
        uint32_t rank = 7;
        require(no_grace.check_membership(&rank) == MDIST_VERDICT_GO_ON && rank == MDIST_NONE, "before");
        std::thread([&] { no_grace.leave(); }).join();
        require(no_grace.check_membership(&rank) == MDIST_VERDICT_END && rank == 0, "end");
        grace.leave(std::chrono::hours(1));
        require(grace.check_membership() == MDIST_VERDICT_SAVE, "save");
        require(grace.check_membership() == MDIST_VERDICT_GO_ON, "grace");
    });
    check("health is what ended all collectives", [] {
        auto strategy = strategy_of(2);
        strategy.check_health();
        strategy.abort();
        require(thrown_by<mdist::Error>([&] { strategy.check_health(); }).status() == MDIST_ERR_ABORTED, "aborted");
    });
    check("a scope says what this thread works for", [] {
        auto strategy = strategy_of(2), other = strategy_of(3);
        const auto replicas = [] { return (*mdist::current_strategy()).replica_count(); };
        {
            const mdist::Scope scope(strategy);
            require(replicas() == 2, "in the scope");
            thrown_by<mdist::Error>([&] { mdist::Scope another(other); });
        }
        require(replicas() == 1, "the library's own");
        mdist::set_default_strategy(&other);
        require(replicas() == 3, "the default");
        mdist::set_default_strategy(nullptr);
        strategy.run([&](mdist::Replica &) { require(replicas() == 2, "in a step"); });
    });
}
