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

WorkerStream::WorkerStream(Stream kind, uint32_t rank, Descriptor pipe, const std::string &path)
    : kind_(kind), rank_(rank), pipe_(std::move(pipe)), log_(open_log(path)) {}

void WorkerStream::take_line(Console &console, std::string_view line) {
    console.worker_line(kind_, rank_, line);
    if (kind_ == Stream::kOutput || line.empty()) return;
    if (last_lines_.size() == kLastLines) last_lines_.pop_front();
    last_lines_.emplace_back(line.substr(0, kLongestLastLine));
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
    cutter_.feed(piece, [&](std::string_view line) { take_line(console, line); });
    return true;
}

void WorkerStream::close(Console &console) {
    cutter_.finish([&](std::string_view line) { take_line(console, line); });
    pipe_.close();
}

Worker::Worker(WorkerStart start, const sigset_t &mask)
    : place_(std::move(start.place)),
      process_(start_process(start.words, start.environment, start.input, mask)),
      output_(Stream::kOutput, place_.rank, std::move(process_.output), log_path(start.log_base, ".stdout")),
      errors_(Stream::kErrors, place_.rank, std::move(process_.errors), log_path(start.log_base, ".stderr")),
      began_(Clock::now()),
      end_(began_) {
    // The shell at the other end may be gone already; then so is the worker.
    if (!start.greeting.empty() && write(process_.input.get(), start.greeting.data(), start.greeting.size()) < 0)
        process_.input.close();
}

void Worker::send(int signal) {
    const bool ends = asks_to_end(signal) || signal == SIGKILL;
    if (!ended_ && ends) told_ = signal;
    if (gone_) return;
    if (!place_.remote) {
        kill(-process_.pid, signal);
        return;
    }
    const std::string line = signal_name(signal).substr(3) + "\n";
    const bool told = write(process_.input.get(), line.data(), line.size()) > 0;
    if (signal != SIGKILL) return;
    // The end of its input makes the shell there end the group; if it cannot be reached any more, the connection goes.
    process_.input.close();
    if (!told) kill(-process_.pid, SIGKILL);
}

void Worker::set_ended(int status, Time now) {
    ended_ = true;
    status_ = status;
    end_ = now;
    process_.input.close();
}

bool Worker::gone() {
    if (!gone_ && ended_) gone_ = kill(-process_.pid, 0) != 0 && errno == ESRCH;
    return gone_;
}

bool Worker::ended_well() const {
    return WIFEXITED(status_) && WEXITSTATUS(status_) == 0;
}

int Worker::code() const {
    return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
}

std::string Worker::how() const {
    if (WIFSIGNALED(status_))
        return "killed by " + signal_name(WTERMSIG(status_)) + (WCOREDUMP(status_) ? " (core dumped)" : "");
    const int code = WEXITSTATUS(status_);
    const std::string text = "exit code " + std::to_string(code);
    // A shell says so of what it ran, be it here or on another host.
    if (code > 128 && sigabbrev_np(code - 128) != nullptr) return text + " (" + signal_name(code - 128) + ")";
    return text;
}

double Worker::seconds_run() const {
    return std::chrono::duration<double>(end_ - began_).count();
}

} // namespace mdist
