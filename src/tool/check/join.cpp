// SPDX-License-Identifier: Apache-2.0
#include "check/join.h"

#include "counted.h"
#include "handles.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
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

/// Sums ones over all replicas of the job, repeatedly. The result is the number of replicas.
class Sums {
  public:
    Sums(mdist_strategy_t *strategy, std::size_t count)
        : strategy_(strategy), numbers_(mdist_strategy_local_replica_count(strategy), std::vector<float>(count)) {}

    /// Returns the average seconds per sum. An average is needed because the last replica to come finds the others'
    /// work done, and the first one waits for it.
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

/// The library's log line, at the start of the job, about who takes part and by what links.
std::string told;

void keep_job(mdist_log_level_t level, const char *text, size_t length, void *) {
    const std::string line(text, length);
    if (line.compare(0, 5, "job: ") == 0)
        told = line.substr(5);
    else if (level <= MDIST_LOG_WARN)
        std::fprintf(stderr, "mdist: %s\n", line.c_str());
}

/// While it lives, keeps the line about the job, and prints warnings and errors to stderr.
struct Listening {
    Listening() {
        mdist_log_set_level(MDIST_LOG_INFO, nullptr);
        mdist_log_set_sink(keep_job, nullptr, nullptr, nullptr);
    }
    ~Listening() { mdist_log_set_sink(nullptr, nullptr, nullptr, nullptr); }
};

void check_sums(mdist_strategy_t *strategy, CheckReport &report) {
    constexpr std::size_t kLarge = 4 << 20; // bytes
    try {
        const double small = Sums(strategy, 1).measure(100);
        const double large = Sums(strategy, kLarge / sizeof(float)).measure(5);
        report.ok("sums", in_units("4 bytes in %.1f us", small * 1e6) + in_units(", 4 MiB in %.1f ms", large * 1e3) +
                              in_units(" (%.2f GB/s)", static_cast<double>(kLarge) / large / 1e9));
    } catch (const std::runtime_error &failure) {
        report.problem("sums", failure.what(), "a job would fail in the same way");
    }
}

} // namespace

void check_join(const mdist_config_t *config, CheckReport &report) {
    const auto start = Clock::now();
    StrategyHandle strategy;
    const Listening listening;
    try {
        strategy = make_strategy(config);
    } catch (const std::runtime_error &failure) {
        report.problem("join", failure.what(), "a job would fail in the same way");
        return;
    }
    report.ok("join", counted(mdist_strategy_worker_count(strategy.get()), "worker") + " with " +
                          counted(mdist_strategy_replica_count(strategy.get()), "replica") + "; this is worker " +
                          std::to_string(mdist_strategy_rank(strategy.get())) +
                          in_units(", which waited %.1f s for the others", seconds_since(start)));
    const std::size_t links = told.find("links: ");
    if (links != std::string::npos) report.ok("links", told.substr(links + 7));
    check_sums(strategy.get(), report);
}

} // namespace mdist
