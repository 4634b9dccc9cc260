// SPDX-License-Identifier: Apache-2.0
// Failures come out of the call that ran the lambda: the library's error, or the same exception that a lambda threw.
#include <atomic>
#include <cstring>
#include <thread>

#include "check.hpp"

namespace {

// An exception that can tell whether it is still the same object.
struct Unlucky : std::runtime_error {
    using std::runtime_error::runtime_error;
    const Unlucky *self = this;
};

// Runs a step that throws on one replica while the others wait for it.
void throw_on(mdist::Strategy &strategy, uint32_t id) {
    try {
        strategy.run([&](mdist::Replica &replica) {
            if (replica.id() == id) throw Unlucky("replica " + std::to_string(id));
            replica.barrier();
        });
        require(false, "the run succeeded");
    } catch (const Unlucky &error) {
        require(error.what() == "replica " + std::to_string(id), error.what());
        require(error.self == &error, "it is a copy");
    }
}

void check_throwing_steps() {
    check("what a step throws comes back as it was thrown, from every replica", [] {
        auto strategy = strategy_of(4);
        for (int32_t id = 0; id < 4; ++id) throw_on(strategy, id); // 0 is on this thread, the others on the library's
        require_usable(strategy);
    });
    check("what is not derived from std::exception comes back, too", [] {
        auto strategy = strategy_of(2);
        const int number = thrown_by<int>([&] { strategy.run([](mdist::Replica &) { throw 42; }); });
        require(number == 42, std::to_string(number));
    });
    check("when all throw at once, one of theirs comes back", [] {
        auto strategy = strategy_of(4);
        for (int i = 0; i < 200; ++i)
            thrown_by<Unlucky>([&] { strategy.run([](mdist::Replica &) { throw Unlucky("all"); }); });
        require_usable(strategy);
    });
    check("in a merge, and in a step nested in it", [] {
        auto strategy = strategy_of(3);
        const auto in_merge = thrown_by<Unlucky>([&] {
            strategy.run([](mdist::Replica &replica) {
                replica.merge([](mdist::Strategy &, const mdist::Values &) { throw Unlucky("merge"); });
            });
        });
        require(std::strcmp(in_merge.what(), "merge") == 0, in_merge.what());
        const auto nested = thrown_by<Unlucky>([&] {
            strategy.run([](mdist::Replica &replica) {
                replica.merge(
                    [](mdist::Strategy &inner, const mdist::Values &) { throw_on(inner, 2), throw Unlucky("n"); });
            });
        });
        require(std::strcmp(nested.what(), "n") == 0, nested.what());
        require_usable(strategy);
    });
    check("in an update", [] {
        auto strategy = strategy_of(2);
        mdist::Variable variable(strategy, "variable", 0.0f);
        thrown_by<Unlucky>(
            [&] { variable.update([](uint32_t, mdist::Tensor, mdist::ConstTensors) { throw Unlucky("update"); }); });
    });
}

void check_throwing_maps() {
    check("what a map throws comes out of the iterator, with prefetching and without", [] {
        std::vector<float> rows{1, 2, 3, 4};
        int times = 0;
        const auto careful = [&](mdist::ConstTensors in, mdist::Tensors out) {
            const float number = in[0].item<float>();
            if (number == 3) throw Unlucky("three, time " + std::to_string(++times));
            out[0].as<float>()[0] = number;
        };
        const auto plain = mdist::Dataset::from_tensors({rows}).map(careful, {mdist::Tensor::of<float>({})});
        const auto prefetched = plain.prefetch(2);
        for (const mdist::Dataset *const dataset : {&plain, &prefetched, &plain}) {
            auto iterator = dataset->iterator();
            require(iterator.next()->at(0).tensor().item<float>() == 1, "the first element");
            iterator.next();
            const auto error = thrown_by<Unlucky>([&] { iterator.next(); });
            require(error.what() == "three, time " + std::to_string(times), error.what());
            thrown_by<Unlucky>([&] { iterator.next(); }); // every later call throws, too
        }
    });
}

void check_errors_of_the_library() {
    check("a wrong dtype is the library's sentence, with status, reason and operation", [] {
        auto strategy = strategy_of(2);
        const auto error = thrown_by<mdist::Error>([&] {
            strategy.run([](mdist::Replica &replica) {
                float number = 1;
                int32_t other = 1;
                if (replica.id() == 0)
                    replica.all_reduce(MDIST_SUM, number);
                else
                    replica.all_reduce(MDIST_SUM, other);
            });
        });
        const std::string text = error.what();
        require(error.status() == MDIST_ERR_MISMATCH && error.operation() == "mdist_all_reduce", text);
        require(text.find("float32") != text.npos && text.find("int32") != text.npos, text);
        require_usable(strategy);
    });
    check("a busy strategy has the reason `busy`, a misspelt key its neighbour", [] {
        auto strategy = strategy_of(1);
        mdist::Run run(strategy);
        const auto busy = thrown_by<mdist::Error>([&] { strategy.run([](mdist::Replica &) {}); });
        require(busy.status() == MDIST_ERR_FAILED_PRECONDITION && busy.reason() == "busy", busy.what());
        const auto key = thrown_by<mdist::Error>([] { mdist::Config().set("device", "cpu"); });
        require(key.status() == MDIST_ERR_CONFIG && std::strstr(key.what(), "devices"), key.what());
        require(key.replica() == MDIST_NONE && key.rank() == MDIST_NONE, "somebody is at fault");
    });
    check("an error survives the strategy that it came from", [] {
        auto strategy = std::make_unique<mdist::Strategy>(strategy_of(2));
        const auto error = thrown_by<mdist::Error>([&] { strategy->reduce(MDIST_SUM, mdist::Value(1.0f)); });
        strategy.reset();
        require(error.status() == MDIST_ERR_INVALID_ARGUMENT && std::strlen(error.what()) > 0, error.what());
    });
    check("a call keeps to a timeout of its own", [] {
        auto strategy = strategy_of(2);
        std::atomic<bool> over{false};
        const auto error = thrown_by<mdist::Error>([&] {
            strategy.run([&](mdist::Replica &replica) {
                if (replica.id() == 0)
                    while (!over) std::this_thread::yield();
                else
                    over = thrown_by<mdist::Error>([&] { replica.barrier(std::chrono::milliseconds(1)); }).status() < 0;
            });
        });
        require(error.status() == MDIST_ERR_TIMEOUT, error.what());
    });
}

} // namespace

void check_failures() {
    check_throwing_steps();
    check_throwing_maps();
    check_errors_of_the_library();
}
