// SPDX-License-Identifier: Apache-2.0
// Elastic: an elastic training, each worker of which is started with this program and "elastic". TEST_KILL names a step
// in which worker 1 of the first generation kills itself; the others then wait for the worker in its place. The chief
// prints the result in full.
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "check.hpp"

namespace {

constexpr uint64_t kElasticSteps = 60, kEvery = 10;

uint64_t number_in(const char *name, uint64_t otherwise) {
    const char *const text = std::getenv(name);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

struct Training {
    // Everything is created before the first step, on all workers alike, newcomers too.
    mdist::Strategy strategy;
    mdist::Elastic elastic{strategy};
    mdist::Variable weight{strategy, "weight", std::vector<float>(3)};
    mdist::Gradients gradients{strategy, {weight.tensor(0)}};
    std::vector<uint64_t> random = std::vector<uint64_t>(strategy.replica_count(), 7);
    std::vector<float> kept_by_functions = std::vector<float>(strategy.replica_count());
    mdist::Dataset rows = mdist::Dataset::range(0, 100).shuffle(100, 5).repeat().batch(8).distribute(strategy);
    mdist::Iterator iterator = rows.iterator();
    std::vector<mdist::Tensor> looked_at; // before regroups
    uint64_t at = 0, deadly = number_in("TEST_KILL", kElasticSteps), most = number_in("MDIST_ELASTIC_MAX_WORKERS", 0);
    uint32_t generation = 1;

    Training() {
        elastic.blob("random", random);
        elastic.blob(
            "by functions", sizeof(float),
            [&](uint32_t id, void *to) { std::memcpy(to, &kept_by_functions[id], sizeof(float)); },
            [&](uint32_t id, const void *from) { std::memcpy(&kept_by_functions[id], from, sizeof(float)); });
    }

    void step(mdist::Replica &replica) {
        if (at == deadly && generation == 1 && strategy.rank() == 1) std::raise(SIGKILL);
        const auto own = weight.tensor(replica).as<float>();
        const auto gradient = gradients.tensor(replica, 0).as<float>();
        std::fill(gradient.begin(), gradient.end(), 0.0f);
        uint64_t &state = random[replica.id()];
        for (const int64_t row : replica.argument(0).as<int64_t>()) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            const float noise = static_cast<float>(state >> 40) / 16777216.0f - 0.5f;
            const float x = static_cast<float>(row) / 100;
            const float error = own[0] * x + own[1] * x * x + own[2] - (3 * x + 0.1f * noise);
            gradient[0] += error * x, gradient[1] += error * x * x, gradient[2] += error;
        }
        gradients.ready(replica, 0);
        gradients.wait(replica);
        for (size_t i = 0; i < 3; ++i) own[i] -= 0.02f * gradient[i];
        kept_by_functions[replica.id()] += own[0];
    }

    void regroup() {
        for (uint32_t i = 0; i < strategy.local_replica_count(); ++i) {
            looked_at.push_back(weight.tensor(i));
            looked_at.push_back(gradients.tensor(i, 0));
        }
        const mdist_change_t change = elastic.regroup();
        at = change.step, generation = change.generation;
        require(change.rank == strategy.rank() && change.local_replica_count == strategy.local_replica_count(),
                "what has changed");
        for (mdist::Tensor &tensor : looked_at) tensor.as<float>()[0] += 0; // has no meaning, but is memory
        if (change.worker_count == most) return;
        while (!changed()) continue;
        elastic.commit(at);
        regroup();
    }

    bool changed() { return strategy.check_membership() == MDIST_VERDICT_REGROUP; }

    // Whether to regroup.
    bool go_on() try {
        if (at == kElasticSteps) return changed(); // regrouped after the last step
        const auto batch = iterator.next();
        strategy.run([&](mdist::Replica &replica) { step(replica); }, *batch);
        if (++at % kEvery != 0) return false;
        elastic.commit(at);
        return changed(); // after the last step, all meet here
    } catch (const mdist::Error &error) {
        require(error.status() != MDIST_ERR_CALLBACK && error.status() != MDIST_ERR_INVALID_ARGUMENT, error.what());
        return true;
    }
};

} // namespace

void elastic_training() {
    Training training;
    for (bool regroup = training.elastic.is_joining(); regroup || training.at < kElasticSteps;) {
        if (regroup) training.regroup();
        regroup = training.go_on();
    }
    const auto result = training.weight.tensor(0).as<float>();
    if (training.strategy.is_chief())
        std::printf("result %.9g %.9g %.9g, and %.9g\n", double{result[0]}, double{result[1]}, double{result[2]},
                    double{training.kept_by_functions[0]});
    training.changed(); // all have read
}

void check_elastic_mistakes() {
    check("a job of fixed size is not elastic", [] {
        mdist::Strategy strategy = strategy_of(2);
        mdist::Elastic elastic(strategy);
        require(!elastic.is_joining(), "it is no newcomer");
        for (const auto &function : {std::function<void()>([&] { elastic.commit(1); }), {[&] { elastic.regroup(); }}})
            require(thrown_by<mdist::Error>(function).reason() == "not_elastic", "the reason");
        require_usable(strategy);
    });
    check("a blob's vector has an element for each replica, and its functions go with it", [] {
        mdist::Strategy strategy = strategy_of(2);
        const auto captured = std::make_shared<int>();
        {
            mdist::Elastic elastic(strategy);
            std::vector<int> few(1), enough(2);
            thrown_by<std::invalid_argument>([&] { elastic.blob("few", few); });
            elastic.blob("enough", enough);
            elastic.blob(
                "own", 1, [captured](uint32_t, void *) {}, [](uint32_t, const void *) {});
            const auto refused = thrown_by<mdist::Error>([&] {
                elastic.blob(
                    "", 1, [captured](uint32_t, void *) {}, [](uint32_t, const void *) {});
            });
            require(refused.status() == MDIST_ERR_INVALID_ARGUMENT && captured.use_count() == 2,
                    "the refused one is gone");
        }
        require(captured.use_count() == 1, "all are gone");
    });
}

// The function fails on worker 1. So the commit fails on both, and the job goes on.
void check_failing_blob() {
    check("what a blob's function throws comes out of commit", [] {
        bool fails = true;
        mdist::Strategy strategy;
        mdist::Elastic elastic(strategy);
        elastic.blob(
            "failing", 1,
            [&](uint32_t id, void *) {
                if (fails && id == 3) throw std::out_of_range("of replica 3");
            },
            [](uint32_t, const void *) {});
        if (strategy.rank() == 1) {
            thrown_by<std::out_of_range>([&] { elastic.commit(1); });
        } else {
            const auto failed = thrown_by<mdist::Error>([&] { elastic.commit(1); });
            require(std::strstr(failed.what(), "of replica 3") != nullptr, failed.what());
        }
        fails = false;
        elastic.commit(1);
    });
}
