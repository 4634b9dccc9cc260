// SPDX-License-Identifier: Apache-2.0
// StreamThreads: the threads that work ahead for one stream.
//
// A stream may be destroyed by a finalizer that holds locks which the caller's function needs. Waiting for the threads
// could deadlock then. So destruction does not wait if everything that a thread still uses is released by itself. It
// leaves the threads behind ("stragglers"). The process counts them until they no longer use any function of the
// caller's. One thread at a time may use a StreamThreads.
#pragma once

#include "data/dataset.h"

#include <pthread.h>

#include <memory>
#include <vector>

namespace mdist {

/// The state that the threads share with the stream and with each other. Any of them may be the last to release it.
class StreamWork {
  public:
    virtual ~StreamWork() = default;
    /// Runs once on each thread. It throws nothing; only the unwinding of a thread that ends may leave it.
    virtual void run() = 0;
    /// Makes every run() return soon. Any thread may call it.
    virtual void stop() = 0;
};

class StreamThreads {
  public:
    /// `awaits`: whether destroying the stream must wait for the threads (Dataset::borrows). It also waits if
    /// `iteration.awaited` is true by then.
    StreamThreads(const char *name, bool awaits, const Iteration &iteration)
        : name_(name), awaits_(awaits), awaited_(iteration.awaited) {}
    ~StreamThreads();
    StreamThreads(const StreamThreads &) = delete;
    StreamThreads &operator=(const StreamThreads &) = delete;

    bool running() const { return work_ != nullptr; }
    /// Starts `count` threads for `work`; none may be running. Fewer threads will do. Throws RESOURCE if not even one
    /// starts.
    void start(const std::shared_ptr<StreamWork> &work, std::size_t count);
    /// Stops the work and waits for the threads. Must not be called on one of them.
    void join();

  private:
    class Straggler;
    struct Job;
    struct Member {
        pthread_t thread;
        std::shared_ptr<Straggler> straggler;
    };

    /// Identifies the iteration.
    const void *iteration() const { return awaited_ != nullptr ? static_cast<const void *>(awaited_.get()) : this; }
    static void *run_member(void *argument);
    int start_member();
    void leave_behind();

    const char *name_;
    bool awaits_;
    std::shared_ptr<const std::atomic<bool>> awaited_;
    std::shared_ptr<StreamWork> work_; // null while no thread is running
    std::vector<Member> members_;
};

/// Waits for the threads that were left behind. Returns false if some still exist after `timeout_ns`.
bool wait_for_stragglers(uint64_t timeout_ns);

} // namespace mdist
