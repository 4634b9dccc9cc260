// SPDX-License-Identifier: Apache-2.0
#include "launch/attempt.h"

#include <algorithm>
#include <cerrno>
#include <cmath>

#include <poll.h>
#include <sys/wait.h>

namespace mdist {
namespace {

/// What a worker left running when it ended well gets this long after SIGTERM.
constexpr double kLeftoversGrace_s = 2;

std::string seconds_text(double count) {
    char text[32];
    std::snprintf(text, sizeof text, "%g s", count);
    return text;
}

} // namespace

int Outcome::exit_code() const {
    if (cause == Cause::kTimeout) return kTimedOut;
    if (first_failure != nullptr) return first_failure->code();
    if (all_ended_well) return 0;
    return 128 + signal;
}

Attempt::Attempt(const LaunchOptions &options, Console &console, Signals &signals, std::optional<Time> deadline)
    : options_(options), console_(console), signals_(signals), deadline_(deadline), ending_(options.grace_s) {}

Attempt::~Attempt() {
    for (const auto &worker : workers_) {
        if (worker->gone()) continue;
        worker->send(SIGKILL);
        if (!worker->ended()) waitpid(worker->pid(), nullptr, 0);
    }
}

void Attempt::start(std::vector<WorkerStart> starts) {
    for (WorkerStart &start : starts)
        workers_.push_back(std::make_unique<Worker>(std::move(start), signals_.original_mask()));
}

void Attempt::send_all(int signal) {
    for (const auto &worker : workers_) worker->send(signal);
}

void Attempt::handle(int signal, Time now) {
    if (signal == SIGCHLD) return;
    if (!asks_to_end(signal)) {
        send_all(signal);
        return;
    }
    if (asked_) {
        console_.notice(signal_name(signal) + " again: killing the workers");
        ending_.kill_now(now);
        return;
    }
    asked_ = true;
    console_.notice(signal_name(signal) + " is passed on to the workers; a second one kills them");
    if (outcome_.first_failure == nullptr && outcome_.cause == Cause::kWorkers) {
        outcome_.cause = Cause::kSignal;
        outcome_.signal = signal;
    }
    send_all(signal);
    ending_.have_asked(now);
}

void Attempt::take_signals() {
    for (const int signal : signals_.take()) handle(signal, Clock::now());
}

void Attempt::note_end(Worker &worker) {
    const bool decided = outcome_.first_failure != nullptr || outcome_.cause != Cause::kWorkers;
    if (worker.ended_well() || decided) return;
    outcome_.first_failure = &worker;
    if (!all_ended()) {
        console_.notice("rank " + std::to_string(worker.place().rank) + " failed (" + worker.how() +
                        "); the others have " + seconds_text(options_.grace_s) + " to end");
    }
    ending_.let_end(Clock::now());
}

void Attempt::reap() {
    int status = 0;
    // Whatever workers left behind is this process's to reap, too (see adopt_orphans).
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        for (const auto &worker : workers_) {
            if (worker->pid() != pid || worker->ended()) continue;
            worker->set_ended(status, Clock::now());
            note_end(*worker);
        }
    }
}

void Attempt::keep_time() {
    const Time now = Clock::now();
    if (deadline_ && now >= *deadline_ && outcome_.cause != Cause::kTimeout) {
        console_.notice("the job has had its " + seconds_text(options_.timeout_s) + " (--timeout)");
        outcome_.cause = Cause::kTimeout;
        deadline_.reset();
        ending_.end_now(now);
    }
    if (!clearing_ && all_ended()) {
        clearing_ = true;
        ending_ = Ending(std::min(options_.grace_s, kLeftoversGrace_s));
        ending_.end_now(now);
    }
    if (const int signal = ending_.due(now)) send_all(signal);
}

int Attempt::poll_timeout_ms() const {
    std::optional<Time> next = ending_.next();
    if (deadline_ && (!next || *deadline_ < *next)) next = deadline_;
    if (!next) return -1;
    const double left_ms = std::chrono::duration<double, std::milli>(*next - Clock::now()).count();
    return static_cast<int>(std::clamp(std::ceil(left_ms), 0.0, 1e9));
}

void Attempt::wait_and_move() {
    std::vector<pollfd> fds{{signals_.fd(), POLLIN, 0}};
    std::vector<WorkerStream *> streams;
    for (const auto &worker : workers_) {
        for (WorkerStream *stream : {&worker->output(), &worker->errors()}) {
            if (!stream->is_open() || console_.queue(stream->kind()).full()) continue;
            fds.push_back({stream->fd(), POLLIN, 0});
            streams.push_back(stream);
        }
    }
    console_.add_to(fds);
    if (poll(fds.data(), fds.size(), poll_timeout_ms()) <= 0) return;
    for (std::size_t i = 0; i < streams.size(); ++i)
        if (fds[1 + i].revents != 0) streams[i]->pump(console_);
    console_.write_ready(fds);
}

bool Attempt::all_ended() const {
    return std::all_of(workers_.begin(), workers_.end(), [](const auto &worker) { return worker->ended(); });
}

/// Nothing runs any more; or what does has been killed twice and is only waiting for somebody else to notice.
bool Attempt::finished() {
    const bool gone = std::all_of(workers_.begin(), workers_.end(), [](const auto &worker) { return worker->gone(); });
    return gone || (clearing_ && ending_.kills() > 1);
}

/// What is in the pipes still; not what those who left a group on purpose may go on to write.
void Attempt::drain() {
    constexpr int kFullPipes = 16;
    for (const auto &worker : workers_) {
        for (WorkerStream *stream : {&worker->output(), &worker->errors()}) {
            for (int i = 0; i < kFullPipes && stream->is_open() && stream->pump(console_); ++i) {
            }
            if (stream->is_open()) stream->close(console_);
        }
    }
}

Outcome Attempt::run() {
    do {
        keep_time();
        wait_and_move();
        take_signals();
        reap();
    } while (!finished());
    drain();
    outcome_.all_ended_well =
        std::all_of(workers_.begin(), workers_.end(), [](const auto &worker) { return worker->ended_well(); });
    return outcome_;
}

} // namespace mdist
