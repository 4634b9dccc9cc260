// SPDX-License-Identifier: Apache-2.0
#include "launch/launch.h"

#include "launch/attempt.h"
#include "launch/control.h"
#include "launch/dry_run.h"
#include "launch/job.h"
#include "launch/keeper.h"
#include "launch/summary.h"
#include "machine.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>

namespace mdist {
namespace {

constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

/// Opens descriptors 0 to 2, which programs expect. The launcher's pipes must not get these numbers.
void open_standard_streams() {
    int fd = 0;
    while (fd >= 0 && fd <= STDERR_FILENO) fd = open("/dev/null", O_RDWR);
    close(fd);
}

/// Allows enough descriptors. Each worker takes four while it runs, and a few more for a moment.
void allow_descriptors(std::size_t workers) {
    const rlim_t needed = 64 + 5 * workers;
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
    limit.rlim_cur = std::min(limit.rlim_max, needed);
    setrlimit(RLIMIT_NOFILE, &limit);
}

/// Waits before another start. Returns the job's exit status if a signal or its time limit forbids another start.
std::optional<int> back_off(Clock::duration time, Console &console, Signals &signals, std::optional<Time> deadline) {
    const Time until = std::min(Clock::now() + time, deadline.value_or(Time::max()));
    for (Time now = Clock::now(); now < until; now = Clock::now()) {
        std::vector<pollfd> fds{{signals.fd(), POLLIN, 0}};
        console.add_to(fds);
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now);
        if (poll(fds.data(), fds.size(), static_cast<int>(left.count())) <= 0) continue;
        console.write_ready(fds);
        for (const int signal : signals.take())
            if (asks_to_end(signal)) return 128 + signal;
    }
    return deadline && Clock::now() >= *deadline ? std::optional(kTimedOut) : std::nullopt;
}

/// Half a second, doubled each time, so that a job that cannot start does not keep the machine busy.
Clock::duration pause_before(uint32_t restart) {
    return seconds(std::min(0.25 * (1u << std::min(restart, 10u)), 30.0));
}

/// Where --resize reaches an elastic job with one launcher; else NULL.
std::unique_ptr<Control> control_of(const Job &job, bool has_other_launchers, Console &console) {
    if (!job.is_elastic() || !job.serves_store() || has_other_launchers) return nullptr;
    try {
        return std::make_unique<Control>(job.session().job);
    } catch (const std::exception &problem) { // the job does without
        console.notice(problem.what());
        return nullptr;
    }
}

/// The number of workers in `--resize JOB N`.
uint32_t resized_to(const LaunchOptions &options) {
    if (!options.program.empty() || !options.workers.empty())
        throw UsageError("--resize JOB N takes neither a program nor -n");
    return parse_count(options.resize[1], "--resize " + options.resize[0]);
}

/// How often an elastic job may lose workers before it has a commit.
uint32_t most_losses() {
    return static_cast<uint32_t>(std::stoul(configured("elastic.max_losses_per_commit")));
}

/// Starts the job, and restarts it while it fails and restarts are left. Returns the exit status.
int run_job(const LaunchOptions &options, Job &job, Console &console, Signals &signals) {
    const std::unique_ptr<Control> control = control_of(job, options.nodes != 1, console);
    const Placement &placement = job.placement();
    const bool names_hosts = !options.hosts.empty() || !options.hostfile.empty() || !options.discover.empty();
    Hosts hosts(placement, names_hosts ? std::optional(seconds(options.leave_out_s)) : std::nullopt);
    std::optional<Discovery> discovery;
    if (!options.discover.empty()) discovery.emplace(options.discover, placement.hosts, signals.original_mask());
    std::optional<Time> deadline;
    if (options.timeout_s > 0) deadline = Clock::now() + seconds(options.timeout_s);
    for (uint32_t restart = 0, again = 0;;) {
        job.begin(restart);
        std::optional<Attempt::Replacing> replacing;
        if (job.is_elastic())
            replacing = {[&job](uint64_t id) { job.worker_ended(id); },
                         [&job](const Place &place, uint32_t number) { return job.start_again(place, number); },
                         [&job](uint64_t id) { job.dismiss(id); },
                         [&job] { return job.take_left_behind(); },
                         [&job] { return job.ended_without_commit(); },
                         &hosts,
                         placement.least,
                         placement.size / options.nodes,
                         placement.places[0].rank,
                         discovery ? &*discovery : nullptr,
                         control.get()};
        Attempt attempt(
            options, console, signals, deadline, [&job] { return job.first_gone(); }, replacing);
        attempt.start(
            job.starts(again == 0 ? placement.places : hosts.first(placement.places[0].rank, placement.size)));
        const Outcome outcome = attempt.run();
        console.write_errors(summary_of(outcome, attempt.workers()));
        if (outcome.lost_nothing && options.nodes == 1 && again < most_losses()) {
            console.notice(
                "workers were lost before the first commit, and so nothing else: the job begins again, time " +
                std::to_string(++again) + " of " + std::to_string(most_losses()) +
                " at most (elastic.max_losses_per_commit)");
            if (const auto end = back_off(pause_before(again), console, signals, deadline)) return *end;
            job.begin_again(again);
            continue;
        }
        const int code = outcome.exit_code();
        if (code == 0 || outcome.cause != Cause::kWorkers || restart == options.max_restarts) return code;
        ++restart;
        console.notice("restart " + std::to_string(restart) + " of " + std::to_string(options.max_restarts));
        if (const auto end = back_off(pause_before(restart), console, signals, deadline)) return *end;
    }
}

/// Writes all that is left, waiting for its readers. Signals end the launcher again as they end any program.
void flush(Console &console) {
    while (!console.empty()) {
        std::vector<pollfd> fds;
        console.add_to(fds);
        if (poll(fds.data(), fds.size(), -1) > 0) console.write_ready(fds);
    }
}

} // namespace

int run_launch(const LaunchOptions &options) {
    if (!options.resize.empty()) return ask_to_resize(options.resize[0], resized_to(options));
    if (options.program.empty())
        throw UsageError("no program given; write, for example: mdist launch -n 4 ./program arguments");
    const uint32_t usable_cpus = this_machine().usable_cpus;
    const Placement placement = place_workers(options, usable_cpus);
    Console console({!options.no_prefix, options.timestamps, parse_ranks(options.quiet_ranks, placement.size),
                     (placement.least != 0 ? placement.size / options.nodes : placement.places.size()) == 1});
    open_standard_streams();
    allow_descriptors(placement.size / options.nodes);
    Job job(options, placement, usable_cpus);
    if (placement.least != 0 && options.max_restarts != 0)
        throw UsageError("--max-restarts: an elastic job is not restarted; its workers are replaced");
    if (options.dry_run) {
        print_dry_run(options, job, usable_cpus);
        return 0;
    }
    job.choose_secret();
    Signals signals; // before the store, whose thread must not receive signals
    return run_in_keeper(signals, [&] {
        int code = 0;
        try {
            job.open();
            code = run_job(options, job, console, signals);
        } catch (const CannotRun &problem) {
            console.notice(problem.what());
            code = problem.code().value() == ENOENT ? kNotFound : kNotExecutable;
        }
        signals.release();
        flush(console);
        return code;
    });
}

} // namespace mdist
