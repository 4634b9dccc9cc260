// SPDX-License-Identifier: Apache-2.0
#include "launch/worker.h"

#include "launch/signals.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <sys/wait.h>

namespace mdist {
namespace {

constexpr std::size_t kLastLines = 5;
constexpr std::size_t kLongestLastLine = 500;
/// What the library logs, of the level `error` (lib/strategy/elastic/regroup.cpp).
constexpr std::string_view kNoCommit = "mdist: error: this worker leaves the job before its first commit (no_commit)";

std::FILE *open_log(const std::string &path) {
    if (path.empty()) return nullptr;
    std::FILE *file = std::fopen(path.c_str(), "wbe");
    if (file == nullptr) throw std::system_error(errno, std::generic_category(), path);
    return file;
}

std::string log_path(const std::string &base, const char *stream) {
    return base.empty() ? base : base + stream;
}

} // namespace

WorkerStream::WorkerStream(Stream kind, uint32_t rank, const std::string &path)
    : kind_(kind), rank_(rank), log_(open_log(path)) {}

void WorkerStream::take_line(Console &console, std::string_view text, LineEnd end) {
    held_until_.reset();
    console.worker_line(kind_, rank_, text, end);
    says_no_commit_ = says_no_commit_ || text.find(kNoCommit) != std::string_view::npos;
    if (kind_ == Stream::kErrors) remember(text, end);
}

void WorkerStream::remember(std::string_view text, LineEnd end) {
    if (returned_ && !text.empty()) last_line_.clear();
    last_line_.append(text.substr(0, kLongestLastLine - last_line_.size()));
    returned_ = end == LineEnd::kReturn;
    if (end != LineEnd::kNewline || last_line_.empty()) return;
    if (last_lines_.size() == kLastLines) last_lines_.pop_front();
    last_lines_.push_back(std::exchange(last_line_, {}));
}

void WorkerStream::show_held(Console &console) {
    cutter_.flush_part([&](std::string_view text, LineEnd end) { take_line(console, text, end); });
}

bool WorkerStream::pump(Console &console) {
    std::array<char, 65536> bytes;
    const ssize_t count = read(pipe_.get(), bytes.data(), bytes.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return errno == EINTR;
    if (count <= 0) {
        close(console);
        return false;
    }
    const std::string_view piece(bytes.data(), static_cast<std::size_t>(count));
    const bool logged = !log_ || (std::fwrite(piece.data(), 1, piece.size(), log_.get()) == piece.size() &&
                                  std::fflush(log_.get()) == 0);
    if (!logged) {
        console.notice("rank " + std::to_string(rank_) + ": its log ends here: " + std::strerror(errno));
        log_.reset();
    }
    cutter_.feed(piece, [&](std::string_view text, LineEnd end) { take_line(console, text, end); });
    const auto longest = console.longest_hold(kind_);
    if (cutter_.holds() && !held_until_ && longest) held_until_ = Clock::now() + *longest;
    return true;
}

void WorkerStream::close(Console &console) {
    cutter_.finish([&](std::string_view text, LineEnd end) { take_line(console, text, end); });
    pipe_.close();
    log_.reset();
}

Worker::Worker(WorkerStart start, const sigset_t &mask)
    : place_(std::move(start.place)),
      id_(start.id),
      output_(Stream::kOutput, place_.rank, log_path(start.log_base, ".stdout")),
      errors_(Stream::kErrors, place_.rank, log_path(start.log_base, ".stderr")),
      process_(start_process(start.words, start.environment, start.input, mask)), // last of what may fail
      began_(Clock::now()),
      end_(began_) {
    output_.set_pipe(std::move(process_.output));
    errors_.set_pipe(std::move(process_.errors));
    // The remote shell may have gone already; then the worker has gone, too.
    if (!start.greeting.empty() && write(process_.input.get(), start.greeting.data(), start.greeting.size()) < 0)
        process_.input.close();
}

void Worker::send(int signal) {
    const bool ends = asks_to_end(signal) || signal == SIGKILL;
    if (!ended_ && ends) told_ = signal;
    if (gone_) return;
    const bool wakes = asks_to_end(signal);
    if (!place_.remote) {
        kill(-process_.pid, signal);
        if (wakes) kill(-process_.pid, SIGCONT);
        return;
    }
    const std::string line = signal_name(signal).substr(3) + (wakes ? "\nCONT\n" : "\n");
    const bool told = write(process_.input.get(), line.data(), line.size()) > 0;
    if (signal != SIGKILL) return;
    // At the end of its input, the remote shell ends the group. If the shell cannot be reached, the connection is
    // closed.
    process_.input.close();
    if (!told) kill(-process_.pid, SIGKILL);
}

void Worker::set_ended(int status, Time now) {
    ended_ = true;
    status_ = status;
    end_ = now;
    process_.input.close();
}

bool Worker::is_stopped() const {
    siginfo_t info{};
    return !ended_ && waitid(P_PID, process_.pid, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

bool Worker::gone() {
    if (!gone_ && ended_) gone_ = kill(-process_.pid, 0) != 0 && errno == ESRCH;
    return gone_;
}

bool Worker::ended_well() const {
    return WIFEXITED(status_) && WEXITSTATUS(status_) == 0;
}

bool Worker::was_killed() const {
    const int signal = code() - 128; // a shell reports a signal like this, here or on another host
    return signal > 0 && signal != SIGABRT && sigabbrev_np(signal) != nullptr;
}

int Worker::code() const {
    return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
}

std::string Worker::how() const {
    if (WIFSIGNALED(status_))
        return "killed by " + signal_name(WTERMSIG(status_)) + (WCOREDUMP(status_) ? " (core dumped)" : "");
    const int code = WEXITSTATUS(status_);
    const std::string text = "exit code " + std::to_string(code);
    // A shell reports a signal like this, here or on another host.
    if (code > 128 && sigabbrev_np(code - 128) != nullptr) return text + " (" + signal_name(code - 128) + ")";
    return text;
}

double Worker::seconds_run() const {
    return std::chrono::duration<double>(end_ - began_).count();
}

} // namespace mdist
