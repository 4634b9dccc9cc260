// SPDX-License-Identifier: Apache-2.0
#include "comm/workers/workers.h"

#include "comm/workers/blobs.h"
#include "comm/workers/perform.h"
#include "comm/workers/told_operation.h"
#include "util/text.h"
#include "util/thread.h"

#include <condition_variable>
#include <utility>

namespace mdist {

/// The thread that runs operations that nobody waits in.
class Workers::Thread {
  public:
    Thread() {
        if (const int refused = mdist::start_thread(&thread_, main, this, "mdist-work"); refused != 0)
            throw Failure(MDIST_ERR_RESOURCE, "the system refused a thread for started operations").native(refused);
    }
    ~Thread() {
        give([this] { ended_ = true; });
        pthread_join(thread_, nullptr);
    }

    void give(std::function<void()> job) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !job_; });
        job_ = std::move(job);
        changed_.notify_all();
    }

  private:
    static void *main(void *self) {
        prefer_short_turns();
        static_cast<Thread *>(self)->work();
        return nullptr;
    }

    void work() {
        while (!ended_) {
            std::function<void()> job;
            {
                std::unique_lock lock(mutex_);
                changed_.wait(lock, [this] { return static_cast<bool>(job_); });
                job = std::exchange(job_, nullptr);
                changed_.notify_all();
            }
            job();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::function<void()> job_;
    bool ended_ = false; // used by the thread only
    pthread_t thread_ = {};
};

Workers::Workers(std::unique_ptr<Membership> membership, WorkerLinks links, const Spans &spans)
    : group_(std::move(membership), std::move(links), spans) {}

Workers::Workers(const Workers &job, WorkerLinks links, GroupLayout layout)
    : group_(job.group_, std::move(links), std::move(layout)) {}

Workers::~Workers() {
    leave();
}

void Workers::stop_thread() noexcept {
    std::unique_ptr<Thread> thread; // ends without the lock
    {
        const std::lock_guard lock(thread_mutex_);
        thread = std::move(thread_);
    }
}

void Workers::leave() noexcept {
    stop_thread();
    group_.leave();
}

/// Ends the job if memory runs out. A worker cannot go on in the middle of a collective, and the others would wait for
/// it.
template <class Body>
auto Workers::guarded(Body body) {
    try {
        return body();
    } catch (const Failure &) {
        throw;
    } catch (const std::exception &) {
        fail(Failure(MDIST_ERR_OUT_OF_MEMORY, "out of memory"));
        group_.link().close();
        throw;
    }
}

void Workers::perform(const Call *const *calls, uint64_t timeout_ns) {
    guarded([&] { workers::perform(group_, calls, timeout_ns); });
}

void Workers::meet(const Call &call, uint64_t timeout_ns) {
    guarded([&] { WorkerOperation(group_, call, timeout_ns); });
}

ToldLengths Workers::tell_lengths(const Call *const *calls, uint64_t timeout_ns) {
    return guarded([&] { return workers::ToldOperation({group_, calls, timeout_ns, {}}).take_lengths(); });
}

Workers::Blobs Workers::gather(const Call &call, const void *data, std::size_t bytes, uint64_t timeout_ns) {
    return guarded([&] { return workers::gather_blobs(group_, call, data, bytes, timeout_ns); });
}

Workers::Blobs Workers::exchange(const Call &call, const std::vector<std::string> &blobs, uint64_t timeout_ns) {
    return guarded([&] { return workers::exchange_blobs(group_, call, blobs, timeout_ns); });
}

void Workers::broadcast(const Call &call, void *data, std::size_t bytes, uint64_t timeout_ns) {
    guarded([&] { workers::broadcast_blob(group_, call, data, bytes, timeout_ns); });
}

void Workers::start_thread() {
    const std::lock_guard lock(thread_mutex_);
    if (!thread_) thread_ = std::make_unique<Thread>();
}

void Workers::run_later(std::function<void()> job) noexcept {
    thread_->give(std::move(job));
}

} // namespace mdist
