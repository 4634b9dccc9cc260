// SPDX-License-Identifier: Apache-2.0
// Crew: the threads of one stream, which work ahead for it.
//
// Who lets go of a stream may be a finalizer, with locks that a function of the caller's needs: so nobody waits for a
// thread if all that it still uses is released by itself. Then the threads are left behind, and the process counts them
// until they have nothing more to do with anybody's functions. A Crew is used by one thread at a time.
#pragma once

#include "data/dataset.h"

#include <pthread.h>

#include <memory>
#include <vector>

namespace mdist {

/// What the threads share with the stream and among each other, so that any of them may go last.
class CrewWork {
  public:
    virtual ~CrewWork() = default;
    /// On each thread, once. Leaves no exception but the unwinding of a thread that ends.
    virtual void run() = 0;
    /// Makes every run() return soon. From any thread.
    virtual void stop() = 0;
};

class Crew {
  public:
    /// `awaits`: that threads must have ended before the stream is gone (Dataset::borrows); so they must if
    /// `iteration.awaited` says so in the end.
    Crew(const char *name, bool awaits, const Iteration &iteration)
        : name_(name), awaits_(awaits), awaited_(iteration.awaited) {}
    ~Crew();
    Crew(const Crew &) = delete;
    Crew &operator=(const Crew &) = delete;

    bool running() const { return work_ != nullptr; }
    /// `count` threads for `work`, while none is running. Throws RESOURCE if there is not even one thread.
    void start(const std::shared_ptr<CrewWork> &work, std::size_t count);
    /// Stops the work and waits for the threads. Not from one of them.
    void join();

  private:
    class Straggler;
    struct Job;
    struct Member {
        pthread_t thread;
        std::shared_ptr<Straggler> straggler;
    };

    /// One for each iteration.
    const void *iteration() const { return awaited_ != nullptr ? static_cast<const void *>(awaited_.get()) : this; }
    static void *run_member(void *argument);
    int start_member();
    void leave_behind();

    const char *name_;
    bool awaits_;
    std::shared_ptr<const std::atomic<bool>> awaited_;
    std::shared_ptr<CrewWork> work_; // of the running threads
    std::vector<Member> members_;
};

/// Waits for threads left behind; false if some are still there after `timeout_ns`.
bool wait_for_stragglers(uint64_t timeout_ns);

} // namespace mdist
