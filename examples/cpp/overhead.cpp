// SPDX-License-Identifier: Apache-2.0
// The cost of a run that does nothing, for both ways to run: nanoseconds per run, the best of five blocks.
//
//     overhead --replicas 2 --runs 10000
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <string>
#include <thread>

#include <mdist/mdist.hpp>

namespace {

struct Options {
    uint32_t replicas = 2;
    uint32_t runs = 10000;
};

// A barrier: each thread returns when all threads have come.
class Barrier {
  public:
    explicit Barrier(uint32_t threads) : threads_(threads) {}

    void wait() {
        std::unique_lock lock(mutex_);
        const uint64_t round = round_;
        if (++come_ == threads_) {
            come_ = 0;
            ++round_;
            all_have_come_.notify_all();
        } else {
            all_have_come_.wait(lock, [&] { return round_ != round; });
        }
    }

  private:
    std::mutex mutex_;
    std::condition_variable all_have_come_;
    uint32_t threads_, come_ = 0;
    uint64_t round_ = 0;
};

template <typename OneRun>
void measure(const char *way, const Options &options, OneRun run) {
    using Clock = std::chrono::steady_clock;
    auto best = Clock::duration::max();
    for (int block = 0; block < 5; ++block) {
        const auto start = Clock::now();
        for (uint32_t i = 0; i < options.runs; ++i) run();
        best = std::min(best, Clock::now() - start);
    }
    const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(best).count();
    std::cout << "cpp " << way << " replicas=" << options.replicas << " ns_per_run=" << nanoseconds / options.runs
              << std::endl;
}

void nothing(mdist::Replica &) {}

// All replicas but the first stay on their own threads from run to run. The measured time includes the hand-over to
// them, two barriers. The library's own threads must be woken and waited for, too.
void measure_entered(mdist::Strategy &strategy, const Options &options) {
    Barrier start(options.replicas), finish(options.replicas);
    mdist::Run *run = nullptr; // the current run; none: measuring is over
    std::vector<std::thread> threads;
    for (uint32_t i = 1; i < options.replicas; ++i)
        threads.emplace_back([&, i] {
            for (;;) {
                start.wait();
                if (!run) return;
                run->enter(i, nothing);
                finish.wait();
            }
        });
    measure("entered", options, [&] {
        mdist::Run now(strategy);
        run = &now;
        start.wait();
        now.enter(0, nothing);
        finish.wait();
        now.end();
    });
    run = nullptr;
    start.wait();
    for (std::thread &thread : threads) thread.join();
}

uint32_t number(const std::string &text, uint32_t largest) {
    const bool plain = !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos;
    const unsigned long result = plain ? std::stoul(text) : 0;
    if (result < 1 || result > largest)
        throw std::invalid_argument("'" + text + "' must be a whole number from 1 to " + std::to_string(largest));
    return static_cast<uint32_t>(result);
}

Options parse(int argument_count, char **arguments) {
    Options options;
    for (int i = 1; i < argument_count; i += 2) {
        const std::string name = arguments[i], value = i + 1 < argument_count ? arguments[i + 1] : "";
        if (name == "--replicas")
            options.replicas = number(value, 256);
        else if (name == "--runs")
            options.runs = number(value, 100000000);
        else
            throw std::invalid_argument(name + " is no option; there are --replicas N and --runs M");
    }
    return options;
}

} // namespace

int main(int argument_count, char **arguments) try {
    const Options options = parse(argument_count, arguments);
    mdist::Strategy strategy(mdist::Config().set("devices", "cpu*" + std::to_string(options.replicas)));
    measure("callback", options, [&] { strategy.run(nothing); });
    measure_entered(strategy, options);
} catch (const std::exception &error) {
    std::cerr << "overhead: " << error.what() << '\n';
    return 1;
}
