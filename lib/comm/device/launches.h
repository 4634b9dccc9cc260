// SPDX-License-Identifier: Apache-2.0
// Launches: launches the graphs of several lanes at the same time, each by a thread of its own.
//
// CUDA's launch of a graph may wait until the card begins it. NCCL's kernels in the graphs wait for each other across
// cards. So one thread that launches one graph after another may wait for ever for a kernel that it has yet to launch
// (NCCL's manual, "Using NCCL with CUDA Graphs"). One thread at a time calls run().
#pragma once

#include "comm/device/lanes.h"
#include "util/failure.h"
#include "util/function_ref.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <pthread.h>

namespace mdist {

class Launches {
  public:
    Launches() = default;
    /// Ends the threads, which have nothing to do.
    ~Launches();
    Launches(const Launches &) = delete;
    Launches &operator=(const Launches &) = delete;

    /// Calls launch() of every lane, and returns when all calls have returned. If that takes longer than `timeout_ns`,
    /// or `failed` becomes true, it calls `give_up` once. That has to end the kernels that launches wait for, since
    /// nothing else can end a call of CUDA. Throws the first failure of a lane, RESOURCE, or TIMEOUT.
    void run(const std::vector<std::unique_ptr<Lane>> &lanes, uint64_t timeout_ns, FunctionRef<bool()> failed,
             FunctionRef<void()> give_up);

  private:
    struct Worker {
        Launches *all;
        Lane *lane = nullptr; // what to launch; nullptr: nothing
        pthread_t thread = {};
    };

    static void *main(void *worker);
    void work(Worker &worker);
    void add_worker();

    std::vector<std::unique_ptr<Worker>> workers_; // by lane; the threads start with the first launch
    std::mutex mutex_;                             // guards what follows, and what workers have to launch
    std::condition_variable given_;
    std::condition_variable done_;
    std::size_t left_ = 0; // launches that have not returned
    std::optional<Failure> wrong_;
    bool ending_ = false;
};

} // namespace mdist
