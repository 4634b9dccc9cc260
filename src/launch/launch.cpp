// SPDX-License-Identifier: Apache-2.0
#include "launch/launch.h"

#include "launch/attempt.h"
#include "launch/dry_run.h"
#include "launch/job.h"
#include "launch/summary.h"
#include "machine.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>

namespace mdist {
namespace {

constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

/// What a program expects of its first three descriptors, the launcher's pipes must not be.
void open_standard_streams() {
    int fd = 0;
    while (fd >= 0 && fd <= STDERR_FILENO) fd = open("/dev/null", O_RDWR);
    close(fd);
}

/// Children of a worker that has ended become this process's, so that it can tell when they are gone.
void adopt_orphans() {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/// Waits before another start; false if somebody wants an end, or the job's time is over.
bool back_off(Clock::duration time, Signals &signals, std::optional<Time> deadline) {
    const Time until = std::min(Clock::now() + time, deadline.value_or(Time::max()));
    for (Time now = Clock::now(); now < until; now = Clock::now()) {
        pollfd arrival{signals.fd(), POLLIN, 0};
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now);
        poll(&arrival, 1, static_cast<int>(left.count()));
        for (const int signal : signals.take())
            if (asks_to_end(signal)) return false;
    }
    return !deadline || Clock::now() < *deadline;
}

/// Half a second, doubling, so that a job that cannot start does not keep the machine busy.
Clock::duration pause_before(uint32_t restart) {
    return seconds(std::min(0.25 * (1u << std::min(restart, 10u)), 30.0));
}

/// Starts the job, and again while it fails and may be; returns the exit status.
int run_job(const LaunchOptions &options, Job &job, Console &console, Signals &signals) {
    std::optional<Time> deadline;
    if (options.timeout_s > 0) deadline = Clock::now() + seconds(options.timeout_s);
    for (uint32_t restart = 0;;) {
        job.begin(restart);
        Attempt attempt(options, console, signals, deadline);
        attempt.start(job.starts());
        const Outcome outcome = attempt.run();
        console.write_errors(summary_of(outcome, attempt.workers()));
        const int code = outcome.exit_code();
        if (code == 0 || outcome.cause != Cause::kWorkers || restart == options.max_restarts) return code;
        ++restart;
        console.notice("restart " + std::to_string(restart) + " of " + std::to_string(options.max_restarts));
        if (!back_off(pause_before(restart), signals, deadline)) return code;
    }
}

/// All that is left, waiting for whoever reads it; signals end the launcher again as they end any program.
void flush(Console &console) {
    for (const Stream kind : {Stream::kOutput, Stream::kErrors}) {
        OutputQueue &queue = console.queue(kind);
        while (!queue.empty()) {
            pollfd room{queue.fd(), POLLOUT, 0};
            if (poll(&room, 1, -1) > 0) queue.write_some();
        }
    }
}

} // namespace

int run_launch(const LaunchOptions &options) {
    if (options.program.empty()) throw UsageError("which program? mdist launch -n 4 -- ./program arguments");
    const uint32_t usable_cpus = this_machine().usable_cpus;
    const Placement placement = place_workers(options, usable_cpus);
    Console console({!options.no_prefix, options.timestamps, parse_ranks(options.quiet_ranks, placement.size)});
    open_standard_streams();
    adopt_orphans();
    Job job(options, placement, usable_cpus);
    if (options.dry_run) {
        print_dry_run(options, job, usable_cpus);
        return 0;
    }
    int code = 0;
    try {
        Signals signals; // before the store, whose thread is not to receive any
        job.open();
        code = run_job(options, job, console, signals);
    } catch (const CannotRun &problem) {
        console.notice(problem.what());
        code = problem.code().value() == ENOENT ? kNotFound : kNotExecutable;
    }
    flush(console);
    return code;
}

} // namespace mdist
