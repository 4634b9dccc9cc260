// SPDX-License-Identifier: Apache-2.0
#include "check/join.h"

#include "handles.h"

#include <chrono>
#include <cstdint>
#include <vector>

namespace mdist {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string in_units(const char *format, double number) {
    char text[64];
    std::snprintf(text, sizeof text, format, number);
    return text;
}

/// Sums over all replicas of the job, again and again: each brings ones, so everybody gets their number.
class Sums {
  public:
    Sums(mdist_strategy_t *strategy, std::size_t count)
        : strategy_(strategy), numbers_(mdist_strategy_local_replica_count(strategy), std::vector<float>(count)) {}

    /// Seconds of one, on the average of some: who comes last sees the others' work done, who comes first waits for it.
    double measure(int times) {
        double sum = 0;
        for (int i = 0; i < times; ++i) sum += measure_once();
        return sum / times;
    }

  private:
    double measure_once() {
        std::vector<mdist_buffer_t> buffers;
        for (std::vector<float> &numbers : numbers_) {
            numbers.assign(numbers.size(), 1.0f);
            buffers.push_back({numbers.data(), numbers.size(), MDIST_FLOAT32, 0});
        }
        mdist_error_t *error = nullptr;
        const auto start = Clock::now();
        require_ok(mdist_strategy_all_reduce(strategy_, MDIST_SUM, buffers.data(), buffers.data(), 1, nullptr, &error),
                   error);
        const double seconds = seconds_since(start);
        const auto wanted = static_cast<float>(mdist_strategy_replica_count(strategy_));
        for (const std::vector<float> &numbers : numbers_)
            for (const float number : numbers)
                if (number != wanted) throw std::runtime_error(in_units("a sum came out as %g", number));
        return seconds;
    }

    mdist_strategy_t *strategy_;
    std::vector<std::vector<float>> numbers_; // of each local replica
};

void check_sums(mdist_strategy_t *strategy, CheckReport &report) {
    constexpr std::size_t kLarge = 4 << 20; // bytes
    try {
        const double small = Sums(strategy, 1).measure(100);
        const double large = Sums(strategy, kLarge / sizeof(float)).measure(5);
        report.ok("sums", in_units("4 bytes in %.1f us", small * 1e6) + in_units(", 4 MiB in %.1f ms", large * 1e3) +
                              in_units(" (%.2f GB/s)", static_cast<double>(kLarge) / large / 1e9));
    } catch (const std::runtime_error &failure) {
        report.problem("sums", failure.what(), "docs/failures.md tells what that means");
    }
}

} // namespace

void check_join(const mdist_config_t *config, CheckReport &report) {
    const auto start = Clock::now();
    StrategyHandle strategy;
    try {
        strategy = make_strategy(config);
    } catch (const std::runtime_error &failure) {
        report.problem("join", failure.what(), "a job would fail alike");
        return;
    }
    report.ok("join", std::to_string(mdist_strategy_worker_count(strategy.get())) + " workers with " +
                          std::to_string(mdist_strategy_replica_count(strategy.get())) + " replicas; this is worker " +
                          std::to_string(mdist_strategy_worker(strategy.get())) +
                          in_units(", and had to wait %.1f s", seconds_since(start)));
    check_sums(strategy.get(), report);
}

} // namespace mdist
