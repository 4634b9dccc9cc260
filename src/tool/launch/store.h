// SPDX-License-Identifier: Apache-2.0
// JobStore: the store where the workers of this job meet, served by a thread of the library as long as it lives. Main
// thread.
#pragma once

#include "handles.h"

#include <cstdint>
#include <optional>
#include <string>

namespace mdist {

struct JobStoreOptions {
    std::string address; // host:port, port 0 for any free port
    uint32_t size = 1;
    uint32_t least = 0; // workers of an elastic job; 0: the job is not elastic
    std::string job;
    std::string secret;     // empty: none
    std::string state = {}; // of an elastic job: the folder in which the store keeps its state; empty: as configured
};

/// What the configuration of this environment says about a key. Throws std::runtime_error.
std::string configured(const char *key);

/// A worker that is out of an elastic job, though its process may still run.
struct LeftBehind {
    uint64_t id;
    mdist_departure_t how;
};

class JobStore {
  public:
    /// Throws std::runtime_error.
    explicit JobStore(const JobStoreOptions &options);

    /// The address with its actual port.
    std::string address() const { return now().address; }
    /// "2 of 4 workers have joined; missing: 1, 3"
    std::string progress() const { return now().progress; }
    /// The worker whose leaving ended the session that all had joined; or -1.
    uint32_t first_gone() const { return now().first_gone; }
    /// Tells the store of an elastic job that the process of a worker has ended.
    void worker_ended(uint64_t id);
    /// Whether an elastic job is over. Throws std::runtime_error with the reason if it has failed for good.
    bool ended() const;
    /// Whether all workers of an elastic job have ended, and none has told of a commit.
    bool ended_without_commit() const;
    /// Returns each of them once.
    std::optional<LeftBehind> take_left_behind();
    /// Asks a worker of an elastic job to leave.
    void dismiss(uint64_t id);
    /// Prepares for the workers of another start of the job.
    void restart(uint32_t restart);

  private:
    struct Destroy {
        void operator()(mdist_store_t *store) const { mdist_store_destroy(store); }
    };
    /// What the store is now. The error is why an elastic job has failed for good.
    mdist_store_info_t now(mdist_error_t **error = nullptr) const;

    uint32_t size_;
    std::unique_ptr<mdist_store_t, Destroy> store_;
};

} // namespace mdist
