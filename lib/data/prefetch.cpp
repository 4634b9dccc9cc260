// SPDX-License-Identifier: Apache-2.0
// Elements ahead of their use, on a thread of each iterator.
#include "data/caught.h"
#include "data/transforms.h"
#include "util/clock.h"
#include "util/event_count.h"
#include "util/failure.h"
#include "util/forced_unwind.h"
#include "util/text.h"
#include "util/thread.h"

#include <pthread.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <utility>

namespace mdist {
namespace {

class Prefetch final : public Transform {
  public:
    Prefetch(Source source, uint64_t elements) : Transform(source, source->spec()), elements_(elements) {}

    std::unique_ptr<Stream> open(const Iteration &iteration) const override;
    std::optional<uint64_t> size() const override { return source().size(); }
    uint64_t elements() const { return elements_; }

  private:
    uint64_t elements_;
};

/// The queue and what fills it. Shared by the stream and the thread, so that either may go first.
class Producer {
  public:
    Producer(std::unique_ptr<Stream> upstream, std::shared_ptr<Stop> stop, uint64_t capacity)
        : upstream_(std::move(upstream)), stop_(std::move(stop)), capacity_(capacity) {}

    /// Until the end, a failure or stop(). On the prefetching thread.
    void run() {
        try {
            Element element;
            while (upstream_->next(element) && put(element)) continue;
            finish(std::nullopt);
        } catch (...) {
            const bool ending = thread_is_ending();
            finish(ending ? thread_ended() : caught());
            if (ending) throw;
        }
    }

    bool take(Element &out) {
        std::unique_lock lock(mutex_);
        taking_.wait(lock, [this] { return !queue_.empty() || finished_; });
        if (queue_.empty()) {
            if (failure_) throw Failure(*failure_);
            return false;
        }
        out = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        putting_.notify_one();
        return true;
    }

    void stop() {
        const std::lock_guard lock(mutex_);
        stop_->request();
        putting_.notify_one();
    }

    /// From the first element again; no thread is in run().
    void restart() {
        stop_->withdraw();
        queue_.clear();
        failure_.reset();
        finished_ = false;
        upstream_->restart();
    }

  private:
    bool put(Element &element) {
        std::unique_lock lock(mutex_);
        putting_.wait(lock, [this] { return queue_.size() < capacity_ || stop_->requested(); });
        if (stop_->requested()) return false;
        queue_.push_back(std::exchange(element, Element()));
        lock.unlock();
        taking_.notify_one();
        return true;
    }

    void finish(std::optional<Failure> failure) {
        const std::lock_guard lock(mutex_);
        failure_.swap(failure);
        finished_ = true;
        taking_.notify_one();
    }

    std::unique_ptr<Stream> upstream_;
    std::shared_ptr<Stop> stop_;
    const uint64_t capacity_;
    std::mutex mutex_;
    std::condition_variable putting_;
    std::condition_variable taking_;
    std::deque<Element> queue_;
    std::optional<Failure> failure_; // after the queued elements
    bool finished_ = false;
};

// Whether this thread prefetches. One that lets go of a stream (a map function that destroys its own iterator, though
// it must not) waits for no thread: it may be the very one, or one that waits for it.
thread_local bool prefetching = false;

/// Threads that nobody joins, until they have nothing more to do with the caller's functions.
constinit std::atomic<uint32_t> stragglers{0};
constinit EventCount stragglers_gone;

/// A thread from its start to its last use of anything; known to it and to whoever may leave it behind.
class Straggler {
  public:
    void leave_behind() {
        const std::lock_guard lock(mutex_);
        if (!over_) ++stragglers;
        left_behind_ = true;
    }
    void end() {
        const std::lock_guard lock(mutex_);
        over_ = true;
        if (!left_behind_) return;
        --stragglers;
        stragglers_gone.advance();
    }

  private:
    std::mutex mutex_;
    bool over_ = false;
    bool left_behind_ = false;
};

/// What the thread holds. It goes in this order, however the thread ends.
struct Job {
    std::shared_ptr<Straggler> straggler;
    std::shared_ptr<Producer> producer;
    ~Job() {
        producer.reset();
        straggler->end();
    }
};

void *run_producer(void *argument) {
    prefetching = true;
    const std::unique_ptr<Job> job(static_cast<Job *>(argument));
    job->producer->run();
    return nullptr;
}

pthread_t start_producer(const std::shared_ptr<Straggler> &straggler, const std::shared_ptr<Producer> &producer) {
    auto argument = std::unique_ptr<Job>(new Job{straggler, producer});
    pthread_t thread;
    const int error = start_thread(&thread, run_producer, argument.get(), "mdist prefetch");
    if (error != 0)
        throw Failure(MDIST_ERR_RESOURCE, text("no thread for a prefetch: pthread_create says errno ", error,
                                               "; the process may have too many threads"))
            .native(error);
    argument.release();
    return thread;
}

class PrefetchStream final : public Stream {
  public:
    PrefetchStream(std::shared_ptr<const Prefetch> dataset, const Iteration &iteration)
        : Stream(iteration), dataset_(std::move(dataset)), awaited_(iteration.awaited) {
        Iteration inner = iteration;
        auto stop = std::make_shared<Stop>(iteration.stop);
        inner.stop = stop;
        producer_ = std::make_shared<Producer>(dataset_->source().open(inner), std::move(stop), dataset_->elements());
    }
    ~PrefetchStream() override { halt(); }

  private:
    bool produce(Element &out) override {
        if (!running_) {
            straggler_ = std::make_shared<Straggler>();
            thread_ = start_producer(straggler_, producer_);
            running_ = true;
        }
        return producer_->take(out);
    }

    void rewind() override {
        // Called from downstream, so never on the thread that is joined.
        if (running_) {
            producer_->stop();
            pthread_join(thread_, nullptr);
            running_ = false;
        }
        producer_->restart();
    }

    /// Nobody waits for a thread if all that it still uses is released by itself: who destroys an iterator may be a
    /// finalizer, with locks that a map function needs.
    void halt() {
        if (!running_) return;
        producer_->stop();
        const bool awaited = dataset_->borrows() || (awaited_ != nullptr && *awaited_);
        if (prefetching || !awaited) {
            straggler_->leave_behind();
            pthread_detach(thread_);
        } else {
            pthread_join(thread_, nullptr);
        }
        running_ = false;
    }

    std::shared_ptr<const Prefetch> dataset_;
    std::shared_ptr<const std::atomic<bool>> awaited_;
    std::shared_ptr<Producer> producer_;
    std::shared_ptr<Straggler> straggler_; // of the thread
    pthread_t thread_ = {};
    bool running_ = false; // a thread was started and not yet joined
};

std::unique_ptr<Stream> Prefetch::open(const Iteration &iteration) const {
    return std::make_unique<PrefetchStream>(self(*this), iteration);
}

} // namespace

bool wait_for_stragglers(uint64_t timeout_ns) {
    const uint64_t start = monotonic_clock().now_ns();
    for (;;) {
        const uint32_t seen = stragglers_gone.now();
        if (stragglers == 0) return true;
        const uint64_t waited = monotonic_clock().now_ns() - start;
        if (waited >= timeout_ns) return false;
        stragglers_gone.wait(seen, Patience(), timeout_ns - waited);
    }
}

std::shared_ptr<Dataset> make_prefetch(Source source, uint64_t elements) {
    if (elements == 0) throw invalid("a prefetch of 0 elements; it needs 1 or more");
    return std::make_shared<Prefetch>(std::move(source), elements);
}

} // namespace mdist
