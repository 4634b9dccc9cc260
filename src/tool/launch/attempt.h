// SPDX-License-Identifier: Apache-2.0
// Attempt: one run of the whole job, from the first worker's start until none of its processes run. Main thread.
#pragma once

#include "launch/console.h"
#include "launch/control.h"
#include "launch/deaths.h"
#include "launch/discovery.h"
#include "launch/ending.h"
#include "launch/hosts.h"
#include "launch/signals.h"
#include "launch/store.h"
#include "launch/variables.h"
#include "launch/verdict.h"
#include "launch/worker.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace mdist {

/// Why a job ended: its workers, a signal to the launcher, or its time limit.
enum class Cause { kWorkers, kSignal, kTimeout };

constexpr int kTimedOut = 124; // as timeout(1)

/// "15 s"
std::string seconds_text(double count);

struct Outcome {
    Cause cause = Cause::kWorkers;
    int signal = 0;                        // set for kSignal
    const Worker *first_failure = nullptr; // before the signal or timeout, if there was one
    const Worker *first_ended = nullptr;   // the first that failed, if the first failure is a worker that was stopped
    bool all_ended_well = false;
    bool lost_nothing = false; // an elastic job has lost workers before its first commit, so it may begin again
    int exit_code() const;
};

class Attempt {
  public:
    /// What an elastic job needs while it runs. Workers that are lost are replaced.
    struct Replacing {
        std::function<void(uint64_t id)> worker_ended;
        std::function<WorkerStart(const Place &place, uint32_t number)> start_again;
        std::function<void(uint64_t id)> dismiss;
        std::function<std::optional<LeftBehind>()> left_behind;
        std::function<bool()> ended_without_commit;
        Hosts *hosts;
        uint32_t least;       // workers
        uint32_t most;        // that this launcher may start
        uint32_t first_rank;  // of those
        Discovery *discovery; // NULL: the hosts stay the same
        Control *control;     // NULL: nobody can ask for another number of workers
    };

    /// `deadline`: the job's; none if empty.
    /// `first_gone`: the worker that left the others first according to the store, or MDIST_NONE.
    Attempt(const LaunchOptions &options, Console &console, Signals &signals, std::optional<Time> deadline,
            std::function<uint32_t()> first_gone, std::optional<Replacing> replacing = std::nullopt);
    ~Attempt();
    Attempt(const Attempt &) = delete;
    Attempt &operator=(const Attempt &) = delete;

    /// Throws std::system_error if a worker cannot be started, and kills those that run by then.
    void start(std::vector<WorkerStart> starts);
    /// Returns when every worker and all its processes have ended and their output has been passed on.
    Outcome run();
    const std::vector<std::unique_ptr<Worker>> &workers() const { return workers_; }

  private:
    /// A worker that was lost: its place, and what to say of it.
    struct Lost {
        Place place;
        std::string sentence;
    };
    void send_all(int signal);
    void take_signals();
    void handle(int signal, Time now);
    void reap();
    bool reap_one(pid_t pid);
    void note_end(Worker &worker);
    void conclude();
    void tell_failure(Time now);
    void keep_time();
    void wait_and_move();
    bool all_ended() const;
    bool finished();
    void drain();
    int poll_timeout_ms() const;

    // Of an elastic job (crew.cpp).
    void note_end_in_elastic(Worker &worker);
    bool any_ended_well() const;
    bool is_about_to_end() const;
    bool was_lost(Worker &worker) const;
    bool lost_nothing() const;
    void note_left_behind(Time now);
    void end_left_behind(Time now);
    void fill();
    void follow_hosts();
    void dismiss(Worker &worker);
    std::string replace(const Lost &lost);
    std::optional<std::string> start_more();
    std::optional<Place> free_place(uint32_t rank, const std::string &host) const;
    void start_worker(const Place &place);
    std::string resize(uint32_t wanted);
    std::vector<Worker *> staying() const;
    uint32_t free_rank() const;

    const LaunchOptions &options_;
    Console &console_;
    Signals &signals_;
    std::optional<Time> deadline_;
    Ending ending_;
    Outcome outcome_;
    Deaths deaths_;
    std::function<uint32_t()> first_gone_;
    Verdict verdict_;
    std::optional<Replacing> replacing_; // of an elastic job
    uint32_t wanted_ = 0;                // so many workers should run
    std::vector<Lost> lost_;             // to be replaced
    std::set<Worker *> dismissed_;       // were asked to leave, or leave by themselves
    /// A worker that its elastic job is without.
    struct Leftover {
        Ending ending;
        bool job_goes_on;
    };
    std::map<Worker *, Leftover> left_behind_;
    uint32_t replacements_ = 0;
    const Worker *first_failed_ = nullptr; // of an elastic job
    bool told_failure_ = false;
    int asked_ = 0; // the first signal that requested an end, or 0
    Time asked_at_;
    bool clearing_ = false; // all workers have ended; their remaining processes are being ended
    std::vector<std::unique_ptr<Worker>> workers_;
};

} // namespace mdist
