// SPDX-License-Identifier: Apache-2.0
// Elements ahead of their use, on a thread of each iterator.
#include "data/caught.h"
#include "data/transforms.h"
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
// it must not) waits for no thread: it may be the very one, or one that waits for it. Nor does anybody if all that the
// thread still uses is released by itself: who destroys an iterator may be a finalizer, with locks that a map function
// needs.
thread_local bool prefetching = false;

void *run_producer(void *argument) {
    prefetching = true;
    const std::unique_ptr<std::shared_ptr<Producer>> producer(static_cast<std::shared_ptr<Producer> *>(argument));
    (*producer)->run();
    return nullptr;
}

pthread_t start_producer(const std::shared_ptr<Producer> &producer) {
    auto argument = std::make_unique<std::shared_ptr<Producer>>(producer);
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
        : Stream(iteration), dataset_(std::move(dataset)) {
        Iteration inner = iteration;
        auto stop = std::make_shared<Stop>(iteration.stop);
        inner.stop = stop;
        producer_ = std::make_shared<Producer>(dataset_->source().open(inner), std::move(stop), dataset_->elements());
    }
    ~PrefetchStream() override { halt(); }

  private:
    bool produce(Element &out) override {
        if (!running_) {
            thread_ = start_producer(producer_);
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

    void halt() {
        if (!running_) return;
        producer_->stop();
        if (prefetching || !dataset_->borrows())
            pthread_detach(thread_);
        else
            pthread_join(thread_, nullptr);
        running_ = false;
    }

    std::shared_ptr<const Prefetch> dataset_;
    std::shared_ptr<Producer> producer_;
    pthread_t thread_ = {};
    bool running_ = false; // a thread was started and not yet joined
};

std::unique_ptr<Stream> Prefetch::open(const Iteration &iteration) const {
    return std::make_unique<PrefetchStream>(self(*this), iteration);
}

} // namespace

std::shared_ptr<Dataset> make_prefetch(Source source, uint64_t elements) {
    if (elements == 0) throw invalid("a prefetch of 0 elements; it needs 1 or more");
    return std::make_shared<Prefetch>(std::move(source), elements);
}

} // namespace mdist
