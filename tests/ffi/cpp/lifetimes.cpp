// SPDX-License-Identifier: Apache-2.0
// Creation and destruction: in any order, on any thread, ten thousand times.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include <unistd.h>

#include "check.hpp"

namespace {

// One object of each kind, in use: a distributed dataset with a map and a prefetching iterator, an element of it that
// became a result, a variable, and their strategy.
struct Everything {
    std::vector<float> rows{1, 2, 3, 4, 5, 6};
    std::optional<mdist::Strategy> strategy{strategy_of(2)};
    std::optional<mdist::Variable> variable{std::in_place, *strategy, "variable", 1.0f, MDIST_AGGREGATION_SUM};
    std::optional<mdist::Dataset> dataset;
    std::optional<mdist::Iterator> iterator;
    std::optional<mdist::Value> value;

    Everything() {
        const auto copy = [](mdist::ConstTensors in, mdist::Tensors out) {
            const auto from = in[0].as<float>();
            std::copy(from.begin(), from.end(), out[0].as<float>().begin());
        };
        dataset = mdist::Dataset::from_tensors({rows})
                      .batch(2)
                      .map(copy, {mdist::Tensor::of<float>({MDIST_UNKNOWN_LENGTH})})
                      .prefetch(1)
                      .distribute(*strategy);
        iterator = dataset->iterator();
        value = strategy->run([](mdist::Replica &replica) { return replica.argument(0).as<float>()[0]; },
                              *iterator->next());
    }

    void destroy(size_t part) {
        switch (part) {
            case 0:
                return strategy.reset();
            case 1:
                return variable.reset();
            case 2:
                return dataset.reset();
            case 3:
                return iterator.reset();
            default:
                return value.reset();
        }
    }
};

// A sanitizer delays freeing, and finds leaks by itself.
#ifdef MDIST_TEST_SANITIZED
constexpr long kGrowth = 1 << 30;
#else
constexpr long kGrowth = 2048; // KiB; a leak of 300 bytes in a cycle is more
#endif

struct Usage {
    long memory; // resident, in KiB
    long open, threads;

    static long entries(const char *folder) {
        return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
    }
    static Usage now() {
        std::ifstream file("/proc/self/statm");
        long size = 0, resident = 0;
        file >> size >> resident;
        return {resident * (sysconf(_SC_PAGESIZE) / 1024), entries("/proc/self/fd"), entries("/proc/self/task")};
    }
};

void cycle() {
    auto strategy = strategy_of(2);
    mdist::Variable variable(strategy, "variable", std::vector<float>(100), MDIST_AGGREGATION_SUM);
    const mdist::Value result = strategy.run([&](mdist::Replica &replica) {
        variable.assign(replica, MDIST_ASSIGN_ADD, std::vector<float>(100, 1.0f));
        return variable.tensor(replica).as<float>();
    });
    require(result.tensor(1).as<float>()[99] == 2, "the result");
}

} // namespace

void check_lifetimes() {
    check("everything is destroyed in each of 120 orders, here and on another thread", [] {
        std::array<size_t, 5> order{0, 1, 2, 3, 4};
        do {
            Everything here, elsewhere;
            for (const size_t part : order) here.destroy(part);
            for (const size_t part : order) std::thread([&] { elsewhere.destroy(part); }).join();
        } while (std::next_permutation(order.begin(), order.end()));
    });
    check("10000 strategies come and go without growth", [] {
        Usage early{};
        for (int i = 1; i <= 10000; ++i) {
            cycle();
            if (i == 1000) early = Usage::now();
        }
        const Usage late = Usage::now();
        require(late.memory < early.memory + kGrowth,
                "memory grew from " + std::to_string(early.memory) + " to " + std::to_string(late.memory) + " KiB");
        require(late.open <= early.open, std::to_string(late.open - early.open) + " more open files");
    });
    check("10000 failing runs on one strategy come and go without growth", [] {
        auto strategy = strategy_of(2);
        Usage early{};
        for (int i = 1; i <= 10000; ++i) {
            thrown_by<std::runtime_error>([&] {
                strategy.run([](mdist::Replica &replica) {
                    if (replica.id() == 1) throw std::runtime_error(std::string(200, 'x'));
                    replica.barrier();
                });
            });
            if (i == 1000) early = Usage::now();
        }
        require(Usage::now().memory < early.memory + kGrowth, "memory grew");
    });
}
