// SPDX-License-Identifier: Apache-2.0
// Job: what is to be started, and what it needs while it runs: the store and the secret. Main thread.
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

    /// Binds the store and makes the secret's file.
    void open();
    /// The job is about to be started, for the first time (0) or again.
    void begin(uint32_t restart);
    /// One per place, for the start that began last.
    std::vector<WorkerStart> starts() const;

    const Placement &placement() const { return placement_; }
    const Session &session() const { return session_; }

  private:
    bool sends_secret(const Place &place) const { return place.remote && !session_.secret_file.empty(); }
    WorkerStart start_of(const Place &place) const;

    const LaunchOptions &options_;
    const Placement &placement_;
    uint32_t usable_cpus_;
    Session session_;
    std::optional<SecretFile> own_secret_;
    std::optional<JobStore> store_;
};

} // namespace mdist
