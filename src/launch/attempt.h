// SPDX-License-Identifier: Apache-2.0
// Attempt: one start of the whole job, from the first worker's start until nothing of it runs any more. Main thread.
#pragma once

#include "launch/console.h"
#include "launch/ending.h"
#include "launch/signals.h"
#include "launch/variables.h"
#include "launch/worker.h"

#include <memory>
#include <optional>
#include <vector>

namespace mdist {

/// What brought a job to its end: its workers themselves, a signal to the launcher, or the time it had.
enum class Cause { kWorkers, kSignal, kTimeout };

constexpr int kTimedOut = 124; // as timeout(1)

struct Outcome {
    Cause cause = Cause::kWorkers;
    int signal = 0;                        // of kSignal
    const Worker *first_failure = nullptr; // before signal or timeout, if there was one
    bool all_ended_well = false;
    int exit_code() const;
};

class Attempt {
  public:
    /// `deadline`: of the job; none if empty.
    Attempt(const LaunchOptions &options, Console &console, Signals &signals, std::optional<Time> deadline);
    ~Attempt();
    Attempt(const Attempt &) = delete;
    Attempt &operator=(const Attempt &) = delete;

    /// Throws std::system_error where one cannot be started; what runs by then is killed.
    void start(std::vector<WorkerStart> starts);
    /// Returns when every worker has ended, with all that it started, and what they wrote has been passed on.
    Outcome run();
    const std::vector<std::unique_ptr<Worker>> &workers() const { return workers_; }

  private:
    void send_all(int signal);
    void take_signals();
    void handle(int signal, Time now);
    void reap();
    void note_end(Worker &worker);
    void keep_time();
    void wait_and_move();
    bool all_ended() const;
    bool finished();
    void drain();
    int poll_timeout_ms() const;

    const LaunchOptions &options_;
    Console &console_;
    Signals &signals_;
    std::optional<Time> deadline_;
    Ending ending_;
    Outcome outcome_;
    bool asked_ = false;    // by a signal, to end
    bool clearing_ = false; // all workers have ended; what they left running goes
    std::vector<std::unique_ptr<Worker>> workers_;
};

} // namespace mdist
