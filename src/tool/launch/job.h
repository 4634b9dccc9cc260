// SPDX-License-Identifier: Apache-2.0
// Job: what the launcher starts, and what it needs while it runs: the store and the secret. Main thread.
#pragma once

#include "launch/secret.h"
#include "launch/store.h"
#include "launch/variables.h"
#include "launch/worker.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mdist {

class Job {
  public:
    /// Both must outlive the job. Throws UsageError, std::runtime_error, std::system_error.
    Job(const LaunchOptions &options, const Placement &placement, uint32_t usable_cpus);

    /// Reads the secret, or chooses one and the path of its file. The last process to end removes that file. So a
    /// process that only watches must have called this, too.
    void choose_secret();
    /// Makes the secret's file, unless there is one, and binds the store.
    void open();
    /// Begins a start of the job: the first (0) or a restart.
    void begin(uint32_t restart);
    /// The worker that left the others first, according to the store; -1: none, or another launcher has the store.
    uint32_t first_gone() const { return store_ ? store_->first_gone() : MDIST_NONE; }
    /// What to start in these places, for the last begin().
    std::vector<WorkerStart> starts(const std::vector<Place> &places) const;
    /// What to start in the place of a worker of an elastic job that has ended; the `number`-th such worker.
    WorkerStart start_again(const Place &place, uint32_t number) const;
    bool is_elastic() const { return placement_.least != 0; }
    /// A worker of an elastic job has ended. If another launcher has the store, the store sees it by its silence.
    void worker_ended(uint64_t id) {
        if (store_) store_->worker_ended(id);
    }
    bool ended_without_commit() const { return store_ && store_->ended_without_commit(); }
    /// The next worker that is out of an elastic job, if this launcher has the store.
    std::optional<LeftBehind> take_left_behind() { return store_ ? store_->take_left_behind() : std::nullopt; }
    /// Asks a worker of an elastic job to leave. Only in the launcher that serves the store.
    void dismiss(uint64_t id) { store_->dismiss(id); }
    bool serves_store() const { return store_.has_value(); }
    /// Begins an elastic job again that has ended, for the `number`-th time.
    void begin_again(uint32_t number);

    const Placement &placement() const { return placement_; }
    const Session &session() const { return session_; }

  private:
    bool sends_secret(const Place &place) const { return place.remote && !session_.secret_file.empty(); }
    WorkerStart start_of(const Place &place) const;
    void open_store();

    const LaunchOptions &options_;
    const Placement &placement_;
    uint32_t usable_cpus_;
    Session session_;
    uint32_t begun_again_ = 0;
    std::optional<SecretFile> own_secret_;
    std::optional<JobStore> store_;
};

} // namespace mdist
