// SPDX-License-Identifier: Apache-2.0
// Console: the launcher's stdout and stderr, to which it writes the lines of all workers without mixing them. It never
// waits. Bytes that do not fit stay in a queue, and while that is full the launcher does not read from workers. Main
// thread.
#pragma once

#include "launch/ending.h"
#include "launch/lines.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>

namespace mdist {

/// Bytes on their way to one descriptor. If its reader has gone, they are dropped: closing a log does not end the job.
class OutputQueue {
  public:
    explicit OutputQueue(int fd);

    int fd() const { return fd_; }
    bool is_terminal() const { return terminal_; }
    /// Whether it is a terminal with escape sequences, and whether colours are wanted.
    bool erases() const { return erases_; }
    bool colours() const { return colours_; }
    bool empty() const { return bytes_.size() == written_; }
    bool full() const { return bytes_.size() - written_ >= kFull; }
    void add(std::string_view bytes);
    /// Writes what surely fits. Call it when poll says that the descriptor is writable.
    void write_some();

  private:
    static constexpr std::size_t kFull = 4 << 20;
    int fd_;
    bool terminal_;
    bool erases_;
    bool colours_;
    bool broken_ = false;
    std::string bytes_;
    std::size_t written_ = 0;
};

enum class Stream { kOutput, kErrors };

struct ConsoleStyle {
    bool prefix = true;
    bool timestamps = false;
    std::vector<bool> quiet; // by rank
    bool one_worker = false; // no other worker's line can come between the parts of a line
};

class Console {
  public:
    explicit Console(ConsoleStyle style);

    OutputQueue &queue(Stream stream) { return stream == Stream::kOutput ? output_ : errors_; }
    /// Writes a piece of a worker's line, up to its end.
    void worker_line(Stream stream, uint32_t rank, std::string_view text, LineEnd end);
    /// How long to hold back an unfinished line of a worker. None: until the line ends, which keeps lines whole in
    /// files. On a terminal a user may be waiting for a prompt.
    std::optional<Clock::duration> longest_hold(Stream stream) const;
    /// Writes a line of the launcher itself to stderr.
    void notice(const std::string &sentence);
    /// Writes any text, newlines included, to stderr.
    void write_errors(std::string_view text);
    bool empty() const { return output_.empty() && errors_.empty(); }
    /// Adds what to poll until there is room for the queued bytes.
    void add_to(std::vector<pollfd> &fds) const;
    void write_ready(const std::vector<pollfd> &fds);

  private:
    /// The line that the next byte would continue, if there is one.
    struct Line {
        bool open = false;
        Stream stream = Stream::kOutput; // the stream that wrote it
        uint32_t rank = 0;
        bool returned = false; // the next byte goes to the line's beginning
        bool bar = false;      // the line is meant to be overwritten
    };
    std::string prefix(const OutputQueue &queue, uint32_t rank) const;
    Line &line_of(Stream stream);
    void leave_line(Stream stream);

    ConsoleStyle style_;
    OutputQueue output_;
    OutputQueue errors_;
    Line lines_[2]; // by stream; if both are terminals, they are taken for the same one, and only the first counts
};

} // namespace mdist
