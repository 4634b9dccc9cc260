// SPDX-License-Identifier: Apache-2.0
#include "comm/workers.h"

#include "comm/joint/collectives.h"
#include "util/text.h"
#include "util/thread.h"

#include <condition_variable>
#include <utility>

namespace mdist {

/// Runs what nobody waits in.
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
    bool ended_ = false; // the thread's own
    pthread_t thread_ = {};
};

Workers::Workers(std::unique_ptr<Membership> membership, WorkerLinks links, uint32_t replicas_per_worker)
    : membership_(std::move(membership)),
      links_(std::move(links)),
      per_worker_(replicas_per_worker),
      cut_(membership_->size() * replicas_per_worker, replicas_per_worker),
      doubling_(membership_->size(), replicas_per_worker, links_.per_host) {}

Workers::~Workers() {
    leave();
}

void Workers::leave() noexcept {
    thread_.reset();
    membership_->leave();
    links_.link->close();
}

/// A worker that runs out of memory in the middle of a collective can't go on, and the others would wait for it.
template <class Body>
auto Workers::guarded(Body body) {
    try {
        return body();
    } catch (const Failure &) {
        throw;
    } catch (const std::exception &) {
        fail(Failure(MDIST_ERR_OUT_OF_MEMORY, "out of memory"));
        links_.link->close();
        throw;
    }
}

void Workers::perform(const Call *const *calls, uint64_t timeout_ns) {
    guarded([&] {
        switch (pattern_of(*calls[0])) {
            case Pattern::kReduce:
                return joint::all_reduce(*this, calls, timeout_ns);
            case Pattern::kBroadcast:
                return joint::broadcast(*this, calls, timeout_ns);
            case Pattern::kGather:
                return joint::all_gather(*this, calls, timeout_ns);
            case Pattern::kScatter:
                return joint::reduce_scatter(*this, calls, timeout_ns);
            case Pattern::kToRoot:
            case Pattern::kFromRoot:
                return joint::exchange_with_root(*this, calls, timeout_ns);
            case Pattern::kTranspose:
                return joint::all_to_all(*this, calls, timeout_ns);
            case Pattern::kMeet:
                return joint::meet(*this, *calls[0], timeout_ns);
        }
    });
}

Workers::Blobs Workers::gather(const Call &call, const void *data, std::size_t bytes, uint64_t timeout_ns) {
    return guarded([&] { return joint::gather_blobs(*this, call, data, bytes, timeout_ns); });
}

Workers::Blobs Workers::exchange(const Call &call, const std::vector<std::string> &blobs, uint64_t timeout_ns) {
    return guarded([&] { return joint::exchange_blobs(*this, call, blobs, timeout_ns); });
}

void Workers::broadcast(const Call &call, void *data, std::size_t bytes, uint64_t timeout_ns) {
    guarded([&] { joint::broadcast_blob(*this, call, data, bytes, timeout_ns); });
}

void Workers::fail(const Failure &cause) noexcept {
    membership_->fail(cause);
    links_.link->interrupt();
}

void Workers::when_failed(std::function<void(const Failure &)> call) {
    call_when_failed_ = std::move(call);
    membership_->when_failed([this](const Failure &cause) {
        failures_.advance();
        links_.link->interrupt();
        call_when_failed_(cause);
    });
}

void Workers::start_thread() {
    const std::lock_guard lock(thread_mutex_);
    if (!thread_) thread_ = std::make_unique<Thread>();
}

void Workers::run_later(std::function<void()> job) noexcept {
    thread_->give(std::move(job));
}

} // namespace mdist
