// SPDX-License-Identifier: Apache-2.0
#include "launch/console.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

namespace mdist {
namespace {

constexpr Clock::duration kLongestHold = std::chrono::milliseconds(200);

bool knows_escapes() {
    const char *terminal = std::getenv("TERM");
    return terminal != nullptr && std::string_view(terminal) != "dumb";
}

bool wants_colours() {
    const char *refused = std::getenv("NO_COLOR");
    return refused == nullptr || *refused == '\0';
}

/// "2026-11-22 00:15:01.123", local time.
std::string time_text() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    tm local{};
    localtime_r(&now.tv_sec, &local);
    char day[32];
    char text[48];
    strftime(day, sizeof day, "%Y-%m-%d %H:%M:%S", &local);
    std::snprintf(text, sizeof text, "%s.%03ld", day, now.tv_nsec / 1000000);
    return text;
}

} // namespace

OutputQueue::OutputQueue(int fd)
    : fd_(fd),
      terminal_(isatty(fd) != 0),
      erases_(terminal_ && knows_escapes()),
      colours_(erases_ && wants_colours()) {}

void OutputQueue::add(std::string_view bytes) {
    if (!broken_) bytes_.append(bytes);
}

void OutputQueue::write_some() {
    // A pipe that poll calls ready accepts PIPE_BUF bytes without waiting.
    const std::size_t most = std::min<std::size_t>(bytes_.size() - written_, PIPE_BUF);
    const ssize_t count = write(fd_, bytes_.data() + written_, most);
    if (count < 0 && errno != EINTR && errno != EAGAIN) {
        broken_ = true;
        written_ = bytes_.size();
    }
    if (count > 0) written_ += static_cast<std::size_t>(count);
    if (written_ == bytes_.size() || written_ >= kFull) {
        bytes_.erase(0, written_);
        written_ = 0;
    }
}

Console::Console(ConsoleStyle style) : style_(std::move(style)), output_(STDOUT_FILENO), errors_(STDERR_FILENO) {}

std::string Console::prefix(const OutputQueue &queue, uint32_t rank) const {
    std::string text;
    if (style_.timestamps) text = time_text() + " ";
    if (!style_.prefix) return text;
    // Six colours that are readable on dark and on bright backgrounds.
    if (queue.colours()) text.append("\033[").append(std::to_string(31 + rank % 6)).append("m");
    text.append("[").append(std::to_string(rank)).append("]");
    if (queue.colours()) text.append("\033[0m");
    return text.append(" ");
}

Console::Line &Console::line_of(Stream stream) {
    return lines_[output_.is_terminal() && errors_.is_terminal() ? 0 : static_cast<int>(stream)];
}

/// Leaves the current line so that another line can begin.
void Console::leave_line(Stream stream) {
    Line &line = line_of(stream);
    if (line.open) queue(stream).add(line.bar && queue(stream).erases() ? "\r\033[K" : "\n");
    line = Line();
}

void Console::worker_line(Stream stream, uint32_t rank, std::string_view text, LineEnd end) {
    if (style_.quiet[rank]) return;
    OutputQueue &to = queue(stream);
    Line &line = line_of(stream);
    if (line.open && (line.rank != rank || line.stream != stream)) leave_line(stream);
    const bool only_ends = line.open && text.empty();
    const bool at_start = !line.open || line.returned;
    if (at_start && !only_ends && !(text.empty() && end == LineEnd::kReturn)) to.add(prefix(to, rank));
    to.add(text);
    if (end == LineEnd::kNewline) {
        to.add("\n");
        line = Line();
        return;
    }
    if (end == LineEnd::kReturn) to.add("\r");
    line = Line{true, stream, rank, end == LineEnd::kReturn, line.bar || end == LineEnd::kReturn};
}

std::optional<Clock::duration> Console::longest_hold(Stream stream) const {
    if (style_.one_worker) return Clock::duration::zero();
    const bool terminal = (stream == Stream::kOutput ? output_ : errors_).is_terminal();
    return terminal ? std::optional(kLongestHold) : std::nullopt;
}

void Console::write_errors(std::string_view text) {
    if (!text.empty()) leave_line(Stream::kErrors);
    errors_.add(text);
}

void Console::add_to(std::vector<pollfd> &fds) const {
    for (const OutputQueue *queue : {&output_, &errors_})
        if (!queue->empty()) fds.push_back({queue->fd(), POLLOUT, 0});
}

void Console::write_ready(const std::vector<pollfd> &fds) {
    for (OutputQueue *queue : {&output_, &errors_})
        for (const pollfd &entry : fds)
            if (entry.fd == queue->fd() && entry.revents != 0) queue->write_some();
}

void Console::notice(const std::string &sentence) {
    leave_line(Stream::kErrors);
    errors_.add((style_.timestamps ? time_text() + " " : std::string()) + "mdist: " + sentence + "\n");
}

} // namespace mdist
