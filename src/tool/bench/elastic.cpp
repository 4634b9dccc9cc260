// SPDX-License-Identifier: Apache-2.0
#include "bench/elastic.h"

#include "bench/board.h"
#include "bench/report.h"

#include <cerrno>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mdist {
namespace {

constexpr double kRecoveryGoalNs = 1e9;
constexpr double kCommitGoal = 1.25; // 0.8 of the rate of memcpy
constexpr double kStepGoal = 1.02;
constexpr double kPatienceNs = 60e9;
constexpr uint64_t kStepsBeforeKill = 30;

using Settings = std::vector<std::string>; // NAME=VALUE

/// `mdist launch` with this program as its workers. Ends it when the object goes.
class LaunchedJob {
  public:
    LaunchedJob(const MappedBoard &board, const std::vector<std::string> &size, Settings settings) {
        settings.push_back("BENCH_BOARD=" + board.path());
        char own[4096] = "";
        if (readlink("/proc/self/exe", own, sizeof own - 1) < 0)
            throw std::system_error(errno, std::generic_category(), "/proc/self/exe");
        std::vector<std::string> words = {own, "launch", "--no-input"};
        words.insert(words.end(), size.begin(), size.end());
        words.insert(words.end(), {"--", own, "bench", "--elastic-worker"});
        for (char **entry = environ; *entry != nullptr; ++entry)
            if (!std::string_view(*entry).starts_with("MDIST_") && !std::string_view(*entry).starts_with("BENCH_"))
                settings.push_back(*entry);
        std::vector<char *> argv, env;
        for (std::string &word : words) argv.push_back(word.data());
        for (std::string &setting : settings) env.push_back(setting.data());
        argv.push_back(nullptr);
        env.push_back(nullptr);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        for (const int fd : {STDOUT_FILENO, STDERR_FILENO})
            posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
        const int problem = posix_spawn(&pid_, own, &actions, nullptr, argv.data(), env.data());
        posix_spawn_file_actions_destroy(&actions);
        if (problem != 0) throw std::system_error(problem, std::generic_category(), "cannot start " + words[0]);
    }
    ~LaunchedJob() {
        if (pid_ <= 0) return;
        kill(pid_, SIGTERM);
        waitpid(pid_, nullptr, 0);
    }
    LaunchedJob(const LaunchedJob &) = delete;
    LaunchedJob &operator=(const LaunchedJob &) = delete;

    bool has_ended() {
        if (pid_ > 0 && waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = -1;
        return pid_ < 0;
    }
    /// Waits until that holds, or fails if the job ends before.
    template <class Condition>
    void await(const char *what, Condition &&condition) {
        const double end = now_ns() + kPatienceNs;
        while (!condition()) {
            if (has_ended() && !condition())
                throw std::runtime_error(std::string("a job of the bench has ended while the bench waited for ") +
                                         what);
            if (now_ns() > end) throw std::runtime_error(std::string("a job of the bench is stuck: no ") + what);
            poll(nullptr, 0, 1);
        }
    }
    void await_end() {
        await("its end", [this] { return has_ended(); });
        if (status_ != 0) throw std::runtime_error("a job of the bench has failed");
    }

  private:
    pid_t pid_ = -1;
    int status_ = 0;
};

/// Time from the kill of a worker to the end of the next step, which is the first of a later generation.
double time_of_loss(const std::vector<std::string> &size, const Settings &settings, uint32_t victim) {
    const MappedBoard board;
    Settings all = settings;
    all.emplace_back("BENCH_PART=train");
    LaunchedJob job(board, size, all);
    job.await("steps", [&] { return board->steps > kStepsBeforeKill; });
    const double killed = now_ns();
    kill(board->pids[victim], SIGKILL);
    double first = 0;
    job.await("step after the loss", [&] {
        for (uint32_t generation = 2; generation < Board::kGenerations && first == 0; ++generation)
            first = board->first_ns[generation];
        return first != 0;
    });
    return first - killed;
}

std::vector<double> samples_of(const std::array<double, Board::kSamples> &all, uint32_t count) {
    return {all.begin(), all.begin() + count};
}

void bench_loss(Bench &bench) {
    Row row;
    row.name = "loss of a worker, 4 workers";
    if (!bench.wanted(row.name)) return;
    std::vector<double> elastic, restarts;
    const uint32_t kills = bench.quick() ? 2 : 20;
    for (uint32_t i = 0; i < kills; ++i) {
        elastic.push_back(time_of_loss({"-n", "1:4"}, {"MDIST_ELASTIC_REPLICAS=4"}, i % Board::kWorkers));
        restarts.push_back(
            time_of_loss({"-n", "4", "--max-restarts", "1"}, {"MDIST_DEVICES=cpu*1"}, i % Board::kWorkers));
    }
    row.replicas = 4;
    row.floor = "restart of the whole job (mdist launch --max-restarts)";
    row.set_times(elastic, restarts);
    row.set_goal(Measure::kTime, kRecoveryGoalNs);
    row.note = "from kill -9 to the end of the next step; the launcher waits 500 ms before a restart";
    bench.add(std::move(row));
}

void bench_commit(Bench &bench) {
    const uint64_t bytes = bench.quick() ? 4 << 20 : 64 << 20;
    Row row;
    row.name = "commit 2x1 x " + size_text(bytes);
    if (!bench.wanted(row.name)) return;
    const MappedBoard board;
    LaunchedJob job(board, {"-n", "1:2"},
                    {"MDIST_ELASTIC_REPLICAS=2", "BENCH_PART=commit", "BENCH_BYTES=" + std::to_string(bytes),
                     "BENCH_ROUNDS=" + std::to_string(bench.quick() ? 3 : 31)});
    job.await_end();
    row.replicas = 2;
    row.bytes = bytes;
    row.floor = "memcpy of the same bytes, in both workers at once";
    row.set_times(samples_of(board->library_ns, board->samples), samples_of(board->floor_ns, board->samples));
    row.set_goal(Measure::kRatio, kCommitGoal);
    bench.add(std::move(row));
}

double step_time(const Bench &bench, const std::vector<std::string> &size, Settings settings, const char *to) {
    const MappedBoard board;
    settings.emplace_back("BENCH_PART=step");
    settings.emplace_back(std::string("BENCH_TO=") + to);
    settings.emplace_back("BENCH_ROUNDS=" + std::to_string(bench.quick() ? 10 : 400));
    LaunchedJob job(board, size, std::move(settings));
    job.await_end();
    return median(samples_of(board->library_ns, board->samples));
}

/// `to`: the program's own memory, as gradients mostly are, or a variable.
void bench_step(Bench &bench, const char *to) {
    Row row;
    row.name = std::string("elastic step 2x1 x 1 MiB, to ") + to;
    if (!bench.wanted(row.name)) return;
    std::vector<double> elastic, fixed;
    for (int round = 0; round < (bench.quick() ? 3 : 15); ++round) {
        elastic.push_back(step_time(bench, {"-n", "1:2"}, {"MDIST_ELASTIC_REPLICAS=2"}, to));
        fixed.push_back(step_time(bench, {"-n", "2"}, {"MDIST_DEVICES=cpu*1"}, to));
    }
    row.replicas = 2;
    row.bytes = 1 << 20;
    row.floor = "the same step in a job of fixed size";
    row.set_times(elastic, fixed);
    row.set_goal(Measure::kRatio, kStepGoal);
    row.note = "an all-reduce of 1 MiB; each round is the median of a job";
    bench.add(std::move(row));
}

} // namespace

int bench_elastic(const BenchOptions &options, bool json) {
    Bench bench(options);
    bench_loss(bench);
    bench_commit(bench);
    bench_step(bench, "memory");
    bench_step(bench, "variable");
    return conclude_bench(bench, json);
}

} // namespace mdist
