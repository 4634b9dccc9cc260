// SPDX-License-Identifier: Apache-2.0
// prefetch: makes elements before they are needed, on a thread of each iterator.
#include "data/current_failure.h"
#include "data/stream_threads.h"
#include "data/transforms.h"
#include "util/failure.h"
#include "util/forced_unwind.h"
#include "util/text.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace mdist {
namespace {

class Prefetch final : public Transform {
  public:
    Prefetch(Source source, uint64_t elements) : Transform(source, source->spec()), elements_(elements) {
        check_any_thread(this->source(), "mdist_dataset_prefetch");
    }

    std::unique_ptr<Stream> open(const Iteration &iteration) const override;
    std::shared_ptr<const Dataset> with_sources(const Sources &sources) const override {
        return std::make_shared<Prefetch>(sources[0], elements_);
    }
    Traits traits() const override {
        return {.text = text("prefetch(", elements_, ")"), .identity = "", .keeps_batch_size = true};
    }
    std::optional<uint64_t> size() const override { return source().size(); }
    uint64_t elements() const { return elements_; }

  private:
    uint64_t elements_;
};

/// The queue of elements, and the work that fills it.
class Producer final : public StreamWork {
  public:
    Producer(std::unique_ptr<Stream> upstream, std::shared_ptr<Stop> stop, uint64_t capacity)
        : upstream_(std::move(upstream)), stop_(std::move(stop)), capacity_(capacity) {}

    /// Fills the queue until the end, a failure or stop(). Runs on the prefetching thread.
    void run() override {
        try {
            Element element;
            while (await_room() && upstream_->next(element)) put(element);
            finish(std::nullopt);
        } catch (...) {
            const bool ending = thread_is_ending();
            finish(ending ? thread_ended() : current_failure());
            if (ending) rethrow();
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

    void stop() override {
        const std::lock_guard lock(mutex_);
        stop_->request();
        putting_.notify_one();
    }

    /// Must not be called while a thread is in run().
    uint64_t replay(uint64_t count, Element &scratch) { return upstream_->replay(count, scratch); }

    /// Starts again at the first element. Must not be called while a thread is in run().
    void restart() {
        stop_->withdraw();
        queue_.clear();
        failure_.reset();
        finished_ = false;
        upstream_->restart();
    }

  private:
    /// The element that is being made counts, too. Returns false after stop().
    bool await_room() {
        std::unique_lock lock(mutex_);
        putting_.wait(lock, [this] { return queue_.size() < capacity_ || stop_->requested(); });
        return !stop_->requested();
    }

    void put(Element &element) {
        {
            const std::lock_guard lock(mutex_);
            queue_.push_back(std::exchange(element, Element()));
        }
        taking_.notify_one();
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
    std::optional<Failure> failure_; // comes after the queued elements
    bool finished_ = false;
};

class PrefetchStream final : public Stream {
  public:
    PrefetchStream(const std::shared_ptr<const Prefetch> &dataset, const Iteration &iteration)
        : Stream(iteration), stream_threads_("mdist prefetch", dataset->borrows(), iteration) {
        Iteration inner = iteration;
        auto stop = std::make_shared<Stop>(iteration.stop);
        inner.stop = stop;
        producer_ = std::make_shared<Producer>(dataset->source().open(inner), std::move(stop), dataset->elements());
    }

  private:
    bool produce(Element &out) override {
        if (!stream_threads_.running()) stream_threads_.start(producer_, 1);
        return producer_->take(out);
    }
    uint64_t leap(uint64_t count, Element &scratch) override {
        return stream_threads_.running() ? Stream::leap(count, scratch) : producer_->replay(count, scratch);
    }

    void rewind() override {
        stream_threads_.join(); // called from downstream, so never on the thread that is joined
        producer_->restart();
    }

    std::shared_ptr<Producer> producer_;
    StreamThreads stream_threads_; // last member, so that it is destroyed first
};

std::unique_ptr<Stream> Prefetch::open(const Iteration &iteration) const {
    return std::make_unique<PrefetchStream>(self(*this), iteration);
}

} // namespace

std::shared_ptr<Dataset> make_prefetch(Source source, uint64_t elements) {
    if (elements == 0) throw invalid("a prefetch of 0 elements is not allowed; use 1 or more");
    return std::make_shared<Prefetch>(std::move(source), elements);
}

} // namespace mdist
