// SPDX-License-Identifier: Apache-2.0
// WorkerThread: a thread that leads the operations among workers that nobody waits in, one at a time.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>

#include <pthread.h>

namespace mdist {

class WorkerThread {
  public:
    /// Throws RESOURCE if the system refuses the thread.
    WorkerThread();
    /// Returns when the last job is done.
    ~WorkerThread();
    WorkerThread(const WorkerThread &) = delete;
    WorkerThread &operator=(const WorkerThread &) = delete;

    /// Any thread. Returns when the thread has taken the job before this one.
    void give(std::function<void()> job);

  private:
    static void *main(void *self);
    void work();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::function<void()> job_;
    bool ended_ = false; // used by the thread only
    pthread_t thread_ = {};
};

} // namespace mdist
