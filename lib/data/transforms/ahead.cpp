// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/ahead.h"

#include "data/current_failure.h"
#include "data/stream_threads.h"
#include "util/failure.h"
#include "util/forced_unwind.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace mdist {
namespace {

/// The state that the threads share. One thread at a time takes an element from upstream and numbers it; all map.
/// Results wait until they are taken, in the order of their numbers or in that of their completion.
class Makers final : public StreamWork {
  public:
    Makers(std::shared_ptr<const Transform> dataset, const WorkAhead &how, std::unique_ptr<Stream> upstream,
           std::shared_ptr<Stop> stop)
        : dataset_(std::move(dataset)), how_(how), upstream_(std::move(upstream)), stop_(std::move(stop)) {}

    void run() override {
        MapFunction::Room room;
        std::unique_lock lock(mutex_);
        for (uint64_t number = 0; begin(number, lock);) {
            lock.unlock();
            Result result;
            try {
                const bool there = upstream_->next(result.element);
                if (!there || how_.threads > 1) pulled(there);
                if (!there) return;
                if (how_.map != nullptr) result.element = (*how_.map)(result.element, room);
            } catch (...) {
                const bool ending = thread_is_ending();
                result.failure = std::make_unique<const Failure>(ending ? thread_ended() : current_failure());
                if (ending) {
                    lock.lock();
                    put(number, std::move(result));
                    lock.unlock();
                    rethrow();
                }
            }
            lock.lock();
            put(number, std::move(result));
        }
    }

    void stop() override {
        const std::lock_guard lock(mutex_);
        stop_->request();
        working_.notify_all();
    }

    bool take(Element &out) {
        std::unique_lock lock(mutex_);
        const auto is_there = [this] { return !results_.empty() && results_.front().there; };
        taking_.wait(lock, [&] { return is_there() || (drained_ && results_.empty()) || stop_->requested(); });
        if (!is_there()) return false;
        if (results_.front().failure != nullptr) throw Failure(*results_.front().failure);
        out = std::move(results_.front().element);
        results_.pop_front();
        ++taken_;
        lock.unlock();
        working_.notify_one();
        return true;
    }

    /// Must not be called while a thread is in run().
    uint64_t replay(uint64_t count, Element &scratch) { return upstream_->replay(count, scratch); }

    /// Starts again at the first element. Must not be called while a thread is in run().
    void restart() {
        stop_->withdraw();
        results_.clear();
        done_ = taken_ = 0;
        drained_ = failed_ = pulling_ = false;
        upstream_->restart();
    }

  private:
    struct Result {
        Element element = {};
        std::unique_ptr<const Failure> failure = nullptr;
        bool there = false;
    };

    /// Waits for the turn to take an element from upstream, and for room for its result.
    bool begin(uint64_t &number, std::unique_lock<std::mutex> &lock) {
        const auto over = [this] { return drained_ || failed_ || stop_->requested(); };
        working_.wait(lock, [&] { return over() || (!pulling_ && results_.size() < how_.most); });
        if (over()) {
            taking_.notify_one(); // if a stream above said stop, its thread may wait for an element that will not come
            return false;
        }
        pulling_ = how_.threads > 1;
        number = taken_ + results_.size();
        results_.emplace_back();
        return true;
    }

    void pulled(bool there) {
        const std::lock_guard lock(mutex_);
        pulling_ = false;
        if (!there) {
            drained_ = true;
            results_.pop_back(); // nobody else has begun meanwhile
            taking_.notify_one();
        }
        working_.notify_all();
    }

    /// Needs the lock.
    void put(uint64_t number, Result result) {
        // If upstream failed, pulled() was not called and pulling_ stays set: failed_ ends the other threads' wait.
        if (result.failure != nullptr) {
            failed_ = true;
            working_.notify_all();
        }
        result.there = true;
        results_[(how_.ordered ? number : done_) - taken_] = std::move(result);
        ++done_;
        taking_.notify_one();
    }

    std::shared_ptr<const Transform> dataset_; // has what how_ points to
    const WorkAhead how_;
    std::unique_ptr<Stream> upstream_;
    std::shared_ptr<Stop> stop_;
    std::mutex mutex_;
    std::condition_variable working_;
    std::condition_variable taking_;
    std::deque<Result> results_; // those begun and not taken
    uint64_t done_ = 0;
    uint64_t taken_ = 0;   // elements taken by the stream
    bool pulling_ = false; // a thread is taking an element from upstream, and another may wait for that
    bool drained_ = false; // upstream has ended
    bool failed_ = false;
};

class AheadStream final : public Stream {
  public:
    AheadStream(std::shared_ptr<const Transform> dataset, const WorkAhead &how, const Iteration &iteration)
        : Stream(iteration), count_(how.threads), threads_(how.thread_name, dataset->borrows(), iteration) {
        Iteration inner = iteration;
        auto stop = std::make_shared<Stop>(iteration.stop);
        inner.stop = stop;
        auto upstream = dataset->source().open(inner);
        makers_ = std::make_shared<Makers>(std::move(dataset), how, std::move(upstream), std::move(stop));
    }

  private:
    bool produce(Element &out) override {
        if (!threads_.running()) threads_.start(makers_, count_);
        return makers_->take(out);
    }
    uint64_t leap(uint64_t count, Element &scratch) override {
        return threads_.running() ? Stream::leap(count, scratch) : makers_->replay(count, scratch);
    }
    void rewind() override {
        threads_.join(); // called from downstream, so never on a thread that is joined
        makers_->restart();
    }

    const std::size_t count_;
    std::shared_ptr<Makers> makers_;
    StreamThreads threads_; // last member, so that it is destroyed first
};

} // namespace

std::unique_ptr<Stream> open_ahead(std::shared_ptr<const Transform> dataset, const WorkAhead &how,
                                   const Iteration &iteration) {
    return std::make_unique<AheadStream>(std::move(dataset), how, iteration);
}

} // namespace mdist
