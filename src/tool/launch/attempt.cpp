// SPDX-License-Identifier: Apache-2.0
#include "launch/attempt.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <system_error>

#include <poll.h>
#include <sys/wait.h>

namespace mdist {
namespace {

/// Seconds after SIGTERM for processes that a worker left running when it ended well.
constexpr double kLeftoversGrace_s = 2;
/// Seconds for a remote shell to end its worker if the job ends with an exception.
constexpr double kLastGrace_s = 5;
/// Seconds after the first failure in which another worker may turn out to be its cause.
constexpr double kEvidence_s = 1;
/// Signals within this time are one request. `timeout` signals the launcher and then its group, systemd sends SIGTERM
/// and SIGHUP, and wrappers pass on what the terminal sends to all.
constexpr Clock::duration kOneRequest = std::chrono::seconds(1);
/// Between two looks at who is out of an elastic job.
constexpr Clock::duration kLook = std::chrono::milliseconds(200);

} // namespace

std::string seconds_text(double count) {
    char text[32];
    std::snprintf(text, sizeof text, "%g s", count);
    return text;
}

int Outcome::exit_code() const {
    if (cause == Cause::kTimeout) return kTimedOut;
    if (first_ended != nullptr) return first_ended->code();
    if (first_failure != nullptr) return first_failure->code();
    if (all_ended_well) return 0;
    return 128 + signal;
}

Attempt::Attempt(const LaunchOptions &options, Console &console, Signals &signals, std::optional<Time> deadline,
                 std::function<uint32_t()> first_gone, std::optional<Replacing> replacing)
    : options_(options),
      console_(console),
      signals_(signals),
      deadline_(deadline),
      ending_(options.grace_s),
      first_gone_(std::move(first_gone)),
      verdict_(seconds(std::min(options.grace_s, kEvidence_s))),
      replacing_(std::move(replacing)),
      wanted_(replacing_ ? replacing_->most : 0) {}

Attempt::~Attempt() {
    for (const auto &worker : workers_)
        if (!worker->gone()) worker->send(SIGKILL);
    const Time until = Clock::now() + seconds(kLastGrace_s);
    for (const auto &worker : workers_) {
        if (worker->ended()) continue;
        while (waitpid(worker->pid(), nullptr, WNOHANG) == 0)
            if (poll(nullptr, 0, 1) == 0 && Clock::now() > until) kill(worker->pid(), SIGKILL);
    }
}

void Attempt::start(std::vector<WorkerStart> starts) {
    for (WorkerStart &start : starts) {
        workers_.push_back(std::make_unique<Worker>(std::move(start), signals_.original_mask()));
        deaths_.watch(workers_.back()->pid());
    }
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
    if (asked_ != 0 && now - asked_at_ >= kOneRequest) {
        console_.notice(signal_name(signal) + " again: killing the workers");
        ending_.kill_now(now);
        return;
    }
    if (asked_ != 0) {
        if (signal != asked_) send_all(signal);
        return;
    }
    asked_ = signal;
    asked_at_ = now;
    console_.notice(signal_name(signal) + " was passed on to the workers; another one at least 1 s later kills them");
    if (!verdict_.has_failed() && outcome_.cause == Cause::kWorkers) {
        outcome_.cause = Cause::kSignal;
        outcome_.signal = signal;
    }
    send_all(signal);
    ending_.have_asked(now);
}

void Attempt::take_signals() {
    for (const int signal : signals_.take()) handle(signal, Clock::now());
}

/// An elastic job has ended well if one of its workers has: the others were replaced, or not needed.
void Attempt::conclude() {
    const auto well = [](const auto &worker) { return worker->ended_well(); };
    if (replacing_) {
        outcome_.all_ended_well = any_ended_well();
        outcome_.first_failure = outcome_.all_ended_well ? nullptr : first_failed_;
        outcome_.lost_nothing = lost_nothing();
    } else {
        outcome_.first_failure = verdict_.cause(first_gone_());
        if (outcome_.first_failure != nullptr && outcome_.first_failure->told() != 0)
            outcome_.first_ended = verdict_.first();
        outcome_.all_ended_well = std::all_of(workers_.begin(), workers_.end(), well);
    }
}

void Attempt::note_end(Worker &worker) {
    if (replacing_) return note_end_in_elastic(worker);
    if (worker.ended_well() || worker.told() != 0 || outcome_.cause != Cause::kWorkers) return;
    const Time now = Clock::now();
    if (!verdict_.has_failed()) {
        ending_.let_end(now);
        for (const auto &other : workers_)
            if (other->is_stopped()) verdict_.note_stopped(*other);
    }
    verdict_.add(worker, now);
    tell_failure(now);
}

bool Attempt::reap_one(pid_t pid) {
    int status = 0;
    if (waitpid(pid, &status, WNOHANG) != pid) return false;
    for (const auto &worker : workers_) {
        if (worker->pid() != pid || worker->ended()) continue;
        worker->set_ended(status, Clock::now());
        note_end(*worker);
    }
    return true;
}

void Attempt::reap() {
    for (pid_t peeked = 0;;) {
        for (const pid_t pid : deaths_.take()) reap_one(pid);
        siginfo_t info{};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
        // This process also reaps what workers left behind (see keeper.h). A worker is reaped in its turn.
        const bool its_turn = !deaths_.watches(info.si_pid) || peeked == info.si_pid;
        if (its_turn && !reap_one(info.si_pid)) return;
        peeked = info.si_pid;
    }
}

/// Names the worker that failed first, as soon as no better evidence can follow.
void Attempt::tell_failure(Time now) {
    if (told_failure_ || !verdict_.has_failed() || all_ended() || !verdict_.is_due(now)) return;
    told_failure_ = true;
    const Worker &cause = *verdict_.cause(first_gone_());
    const Worker &failed = cause.ended() ? cause : *verdict_.first();
    const std::string stopped =
        cause.ended() ? "" : "rank " + std::to_string(cause.place().rank) + " is stopped (SIGSTOP), and ";
    console_.notice(stopped + "rank " + std::to_string(failed.place().rank) + " failed (" + failed.how() +
                    "); the others have " + seconds_text(options_.grace_s) + " to end");
}

void Attempt::keep_time() {
    const Time now = Clock::now();
    tell_failure(now);
    end_left_behind(now);
    if (deadline_ && now >= *deadline_ && outcome_.cause != Cause::kTimeout) {
        console_.notice("the job reached its time limit of " + seconds_text(options_.timeout_s) + " (--timeout)");
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
    for (const auto &worker : workers_)
        for (WorkerStream *stream : {&worker->output(), &worker->errors()})
            if (stream->held_until() && now >= *stream->held_until()) stream->show_held(console_);
}

int Attempt::poll_timeout_ms() const {
    Time next = Time::max();
    for (const std::optional<Time> &due : {ending_.next(), deadline_})
        if (due) next = std::min(next, *due);
    if (verdict_.has_failed() && !told_failure_) next = std::min(next, verdict_.due());
    if (replacing_ && !all_ended()) next = std::min(next, Clock::now() + kLook);
    for (const auto &worker : workers_)
        for (const WorkerStream *stream : {&worker->output(), &worker->errors()})
            if (stream->held_until()) next = std::min(next, *stream->held_until());
    if (next == Time::max()) return -1;
    const double left_ms = std::chrono::duration<double, std::milli>(next - Clock::now()).count();
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
    Control *const control = replacing_ ? replacing_->control : nullptr;
    const std::size_t control_at = fds.size();
    if (control != nullptr) fds.push_back({control->fd(), POLLIN, 0});
    console_.add_to(fds);
    if (poll(fds.data(), fds.size(), poll_timeout_ms()) <= 0) return;
    if (control != nullptr && fds[control_at].revents != 0)
        control->answer([this](uint32_t workers) { return resize(workers); });
    for (std::size_t i = 0; i < streams.size(); ++i)
        if (fds[1 + i].revents != 0) streams[i]->pump(console_);
    console_.write_ready(fds);
}

bool Attempt::all_ended() const {
    return std::all_of(workers_.begin(), workers_.end(), [](const auto &worker) { return worker->ended(); });
}

/// Whether nothing runs any more. Processes that were killed twice count as ended; they only wait for another process
/// to reap them.
bool Attempt::finished() {
    const bool gone = std::all_of(workers_.begin(), workers_.end(), [](const auto &worker) { return worker->gone(); });
    return gone || (clearing_ && ending_.kills() > 1);
}

/// Reads what is still in the pipes. It does not wait for processes that left their group on purpose and may go on to
/// write.
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
        fill();
    } while (!finished());
    drain();
    conclude();
    return outcome_;
}

} // namespace mdist
