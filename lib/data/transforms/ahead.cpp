// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/ahead.h"

#include "data/current_failure.h"
#include "data/stream_threads.h"
#include "util/failure.h"
#include "util/forced_unwind.h"

#include <algorithm>
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
            Element element;
            try {
                const bool there = upstream_->next(element);
                if (!there || how_.threads > 1) pulled(there);
                if (!there) return;
                if (how_.map != nullptr) element = (*how_.map)(element, room);
            } catch (...) {
                const bool ending = thread_is_ending();
                lock.lock();
                fail(place_of(number), ending ? thread_ended() : current_failure());
                lock.unlock();
                if (ending) rethrow();
                return;
            }
            lock.lock();
            results_[place_of(number) - taken_] = {std::move(element), true};
            taking_.notify_one();
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
        const auto is_over = [this] { return (drained_ && results_.empty()) || stop_->requested(); };
        taking_.wait(lock, [&] { return is_there() || taken_ == failed_at_ || is_over(); });
        if (taken_ == failed_at_) throw Failure(*failure_);
        if (!is_there()) return false;
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
        failed_at_ = kNever;
        done_ = taken_ = 0;
        drained_ = pulling_ = false;
        upstream_->restart();
    }

  private:
    static constexpr uint64_t kNever = UINT64_MAX;
    struct Result {
        Element element = {};
        bool there = false;
    };

    // All of these need the lock, except for pulled().

    /// Waits for the turn to take an element from upstream, and for room for its result.
    bool begin(uint64_t &number, std::unique_lock<std::mutex> &lock) {
        const auto over = [this] { return drained_ || failed_at_ != kNever || stop_->requested(); };
        working_.wait(lock, [&] { return over() || (!pulling_ && results_.size() < how_.most); });
        if (over()) {
            taking_.notify_one(); // if a stream above said stop, its thread may wait for an element that will not come
            return false;
        }
        number = taken_ + results_.size();
        try {
            results_.emplace_back();
        } catch (const std::bad_alloc &) {
            return fail(number, out_of_memory()), false;
        }
        pulling_ = how_.threads > 1;
        return true;
    }

    /// Where the result of that number comes among those that are taken.
    uint64_t place_of(uint64_t number) { return how_.ordered ? number : done_++; }

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

    /// Keeps the failure that is met first. If upstream has failed, `pulling_` stays set.
    void fail(uint64_t place, const Failure &failure) {
        if (place < failed_at_) failure_ = failure;
        failed_at_ = std::min(failed_at_, place);
        working_.notify_all();
        taking_.notify_one();
    }

    std::shared_ptr<const Transform> dataset_; // has what how_ points to
    const WorkAhead how_;
    std::unique_ptr<Stream> upstream_;
    std::shared_ptr<Stop> stop_;
    std::mutex mutex_;
    std::condition_variable working_;
    std::condition_variable taking_;
    std::deque<Result> results_;  // those begun and not taken
    uint64_t done_ = 0;           // results in whatever order
    uint64_t taken_ = 0;          // elements taken by the stream
    bool pulling_ = false;        // a thread is taking an element from upstream, and another may wait for that
    bool drained_ = false;        // upstream has ended
    uint64_t failed_at_ = kNever; // the place of the failure
    std::optional<Failure> failure_;
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
