// SPDX-License-Identifier: Apache-2.0
// Console: the launcher's stdout and stderr, where the lines of all workers come together whole. It never waits: bytes
// that do not fit stay in a queue, and while that is full, workers are not read from. Main thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>

namespace mdist {

/// Bytes on their way to one descriptor. If nobody reads them any more, they are dropped: a job does not end because
/// somebody closed its log.
class OutputQueue {
  public:
    explicit OutputQueue(int fd);

    int fd() const { return fd_; }
    bool colours() const { return colours_; }
    bool empty() const { return bytes_.size() == written_; }
    bool full() const { return bytes_.size() - written_ >= kFull; }
    void add(std::string_view bytes);
    /// To be called when poll says that it can be written to; takes what surely fits.
    void write_some();

  private:
    static constexpr std::size_t kFull = 4 << 20;
    int fd_;
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
};

class Console {
  public:
    explicit Console(ConsoleStyle style);

    OutputQueue &queue(Stream stream) { return stream == Stream::kOutput ? output_ : errors_; }
    /// A worker's line, without newline.
    void worker_line(Stream stream, uint32_t rank, std::string_view line);
    /// A line of the launcher itself, on stderr.
    void notice(const std::string &sentence);
    /// Any text, newlines and all, on stderr.
    void write_errors(std::string_view text) { errors_.add(text); }
    bool empty() const { return output_.empty() && errors_.empty(); }
    /// What to poll until there is room for what is queued.
    void add_to(std::vector<pollfd> &fds) const;
    void write_ready(const std::vector<pollfd> &fds);

  private:
    std::string prefix(const OutputQueue &queue, uint32_t rank) const;

    ConsoleStyle style_;
    OutputQueue output_;
    OutputQueue errors_;
};

} // namespace mdist
