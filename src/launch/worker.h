// SPDX-License-Identifier: Apache-2.0
// Worker: one process of the job as the launcher sees it, with all that it started (its group), what it writes, and how
// it ended. Main thread.
#pragma once

#include "launch/console.h"
#include "launch/ending.h"
#include "launch/lines.h"
#include "launch/process.h"
#include "launch/variables.h"

#include <cstdio>
#include <deque>
#include <memory>
#include <string>

namespace mdist {

/// One of a worker's two streams, on its way to the console, and to its log file if it has one.
class WorkerStream {
  public:
    WorkerStream(Stream kind, uint32_t rank, Descriptor pipe, const std::string &log_path);

    int fd() const { return pipe_.get(); }
    bool is_open() const { return pipe_.is_open(); }
    Stream kind() const { return kind_; }
    const std::deque<std::string> &last_lines() const { return last_lines_; }
    /// Moves what is there, up to a limit that keeps one worker from holding up the others; closes at the stream's end.
    /// Whether there may be more.
    bool pump(Console &console);
    /// The end, though somebody may still hold the other side.
    void close(Console &console);

  private:
    struct CloseFile {
        void operator()(std::FILE *file) const { std::fclose(file); }
    };
    void take_line(Console &console, std::string_view line);

    Stream kind_;
    uint32_t rank_;
    Descriptor pipe_;
    std::unique_ptr<std::FILE, CloseFile> log_;
    LineCutter cutter_;
    std::deque<std::string> last_lines_;
};

struct WorkerStart {
    Place place;
    std::vector<std::string> words;
    std::vector<std::string> environment;
    Input input = Input::kNone;
    std::string greeting; // first line on the input of a remote worker; empty: none
    std::string log_base; // path of its log files but for what says the stream; empty: none
};

class Worker {
  public:
    /// Throws std::system_error where the program cannot be run or a log file not be written.
    Worker(WorkerStart start, const sigset_t &mask);

    const Place &place() const { return place_; }
    pid_t pid() const { return process_.pid; }
    WorkerStream &output() { return output_; }
    WorkerStream &errors() { return errors_; }
    const WorkerStream &errors() const { return errors_; }

    /// To its whole group; for a remote worker, to the group there.
    void send(int signal);
    /// wait() returned this worker.
    void set_ended(int status, Time now);
    bool ended() const { return ended_; }
    /// Whether its group is empty: nothing that it started still runs. Asks the system, once children are reaped.
    bool gone();

    bool ended_well() const;
    /// The exit code, or 128 + the signal.
    int code() const;
    /// "exit code 3", "killed by SIGSEGV (core dumped)"
    std::string how() const;
    double seconds_run() const;
    /// The signal by which the launcher, or whoever asked it to end, had told this worker to end before it did; or 0.
    int told() const { return told_; }

  private:
    Place place_;
    Process process_;
    WorkerStream output_;
    WorkerStream errors_;
    Time began_;
    Time end_;
    int status_ = 0;
    int told_ = 0;
    bool ended_ = false;
    bool gone_ = false;
};

} // namespace mdist
