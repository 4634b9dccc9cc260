// SPDX-License-Identifier: Apache-2.0
// Worker: one process of the job with everything that it started (its group), its output, and how it ended. Main
// thread.
#pragma once

#include "launch/console.h"
#include "launch/ending.h"
#include "launch/lines.h"
#include "launch/process.h"
#include "launch/variables.h"

#include <cstdio>
#include <deque>
#include <memory>
#include <optional>
#include <string>

namespace mdist {

/// One of a worker's two output streams. It goes to the console, and to the worker's log file if there is one.
class WorkerStream {
  public:
    /// Opens the log. Throws std::system_error.
    WorkerStream(Stream kind, uint32_t rank, const std::string &log_path);

    void set_pipe(Descriptor pipe) { pipe_ = std::move(pipe); }
    int fd() const { return pipe_.get(); }
    bool is_open() const { return pipe_.is_open(); }
    Stream kind() const { return kind_; }
    const std::deque<std::string> &last_lines() const { return last_lines_; }
    /// Whether the library has said here that the worker left an elastic job before its first commit.
    bool says_no_commit() const { return says_no_commit_; }
    /// Reads what is available, up to a limit that keeps one worker from delaying the others. Closes at the stream's
    /// end. Returns whether there may be more.
    bool pump(Console &console);
    /// Ends the stream, even if a process still holds the other side.
    void close(Console &console);
    /// When show_held() next has something to do.
    std::optional<Time> held_until() const { return held_until_; }
    void show_held(Console &console);

  private:
    struct CloseFile {
        void operator()(std::FILE *file) const { std::fclose(file); }
    };
    void take_line(Console &console, std::string_view text, LineEnd end);
    void remember(std::string_view text, LineEnd end);

    Stream kind_;
    uint32_t rank_;
    Descriptor pipe_;
    std::unique_ptr<std::FILE, CloseFile> log_;
    LineCutter cutter_;
    std::optional<Time> held_until_;
    std::deque<std::string> last_lines_;
    bool says_no_commit_ = false;
    std::string last_line_; // as far as it has come
    bool returned_ = false; // the next text overwrites it
};

struct WorkerStart {
    Place place;
    std::vector<std::string> words;
    std::vector<std::string> environment;
    Input input = Input::kNone;
    uint64_t id = 0;      // that the store of an elastic job knows it by
    std::string greeting; // first line on the input of a remote worker; empty: none
    std::string log_base; // path of its log files without the stream's suffix; empty: none
};

class Worker {
  public:
    /// Throws std::system_error if the program cannot run or a log file cannot be written.
    Worker(WorkerStart start, const sigset_t &mask);

    const Place &place() const { return place_; }
    uint64_t id() const { return id_; }
    pid_t pid() const { return process_.pid; }
    WorkerStream &output() { return output_; }
    WorkerStream &errors() { return errors_; }
    const WorkerStream &errors() const { return errors_; }

    /// Sends a signal to its whole group; for a remote worker, to the group on its host. Also continues a stopped group
    /// if the signal asks it to end.
    void send(int signal);
    /// Records that wait() returned this worker.
    void set_ended(int status, Time now);
    bool ended() const { return ended_; }
    /// Whether its process is stopped (SIGSTOP). Of a remote worker nobody knows.
    bool is_stopped() const;
    /// Whether its group is empty, so that nothing it started runs any more. Asks the system, after children were
    /// reaped.
    bool gone();

    bool ended_well() const;
    /// Whether another process killed it. SIGABRT does not count: a process sends it to itself, as after an uncaught
    /// exception.
    bool was_killed() const;
    /// The exit code, or 128 + the signal.
    int code() const;
    /// "exit code 3", "killed by SIGSEGV (core dumped)"
    std::string how() const;
    Time began() const { return began_; }
    double seconds_run() const;
    /// Whether it left an elastic job before its first commit. Programs may send their stderr to stdout.
    bool had_no_commit() const { return output_.says_no_commit() || errors_.says_no_commit(); }
    /// The signal by which the launcher or a user told this worker to end, before it did; or 0.
    int told() const { return told_; }

  private:
    Place place_;
    uint64_t id_;
    WorkerStream output_;
    WorkerStream errors_;
    Process process_;
    Time began_;
    Time end_;
    int status_ = 0;
    int told_ = 0;
    bool ended_ = false;
    bool gone_ = false;
};

} // namespace mdist
