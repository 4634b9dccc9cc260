// SPDX-License-Identifier: Apache-2.0
// parallel_map: the caller's function makes one element from another, on several threads at a time.
#include "data/current_failure.h"
#include "data/stream_threads.h"
#include "data/transforms.h"
#include "data/transforms/map_function.h"
#include "util/failure.h"
#include "util/forced_unwind.h"
#include "util/text.h"

#include <condition_variable>
#include <mutex>
#include <utility>

namespace mdist {
namespace {

class ParallelMap final : public Transform {
  public:
    ParallelMap(Source source, MapFunction map, uint32_t parallel_calls, bool ordered)
        : Transform(std::move(source), map.outputs()),
          map_(std::move(map)),
          parallel_calls_(parallel_calls),
          ordered_(ordered) {
        check_any_thread(this->source(), "mdist_dataset_map with parallel_calls");
    }

    std::unique_ptr<Stream> open(const Iteration &iteration) const override;
    std::shared_ptr<const Dataset> with_sources(const Sources &sources) const override {
        return std::make_shared<ParallelMap>(sources[0], map_, parallel_calls_, ordered_);
    }
    Traits traits() const override {
        return {.text = text("map_parallel(", parallel_calls_, " calls", ordered_ ? "" : ", in any order", ")"),
                .identity = map_.text()};
    }
    std::optional<uint64_t> size() const override { return source().size(); }
    bool borrows() const override { return map_.borrows() || source().borrows(); }
    const MapFunction &map() const { return map_; }
    uint32_t parallel_calls() const { return parallel_calls_; }
    bool ordered() const { return ordered_; }

  private:
    MapFunction map_;
    uint32_t parallel_calls_;
    bool ordered_;
};

/// The state that the threads share. One thread at a time takes an element from upstream and numbers it; all compute.
/// Results wait in a ring until they are taken, in the order of their numbers or in that of their completion.
class Mappers final : public StreamWork {
  public:
    Mappers(std::shared_ptr<const ParallelMap> dataset, std::unique_ptr<Stream> upstream, std::shared_ptr<Stop> stop)
        : dataset_(std::move(dataset)),
          upstream_(std::move(upstream)),
          stop_(std::move(stop)),
          results_(2 * std::size_t{dataset_->parallel_calls()}) {}

    void run() override {
        MapFunction::Room room;
        uint64_t number = 0;
        while (begin(number)) {
            try {
                Element input;
                if (!pulled(upstream_->next(input))) return;
                put(number, Result{dataset_->map()(input, room), std::nullopt, true});
            } catch (...) {
                const bool ending = thread_is_ending();
                put(number, Result{{}, ending ? thread_ended() : current_failure(), true});
                if (ending) rethrow();
            }
        }
    }

    void stop() override {
        const std::lock_guard lock(mutex_);
        stop_->request();
        working_.notify_all();
    }

    bool take(Element &out) {
        std::unique_lock lock(mutex_);
        Result &next = results_[taken_ % results_.size()];
        taking_.wait(lock, [&] { return next.there || (drained_ && taken_ == begun_) || stop_->requested(); });
        if (!next.there) return false;
        if (next.failure) throw Failure(*next.failure);
        out = std::exchange(next, Result()).element;
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
        for (Result &result : results_) result = Result();
        begun_ = done_ = taken_ = 0;
        drained_ = failed_ = pulling_ = false;
        upstream_->restart();
    }

  private:
    struct Result {
        Element element;
        std::optional<Failure> failure;
        bool there = false;
    };

    /// Waits for the turn to take an element from upstream, and for room for its result.
    bool begin(uint64_t &number) {
        std::unique_lock lock(mutex_);
        const auto over = [this] { return drained_ || failed_ || stop_->requested(); };
        working_.wait(lock, [&] { return over() || (!pulling_ && begun_ - taken_ < results_.size()); });
        if (over()) {
            taking_.notify_one(); // if a stream above said stop, its thread may wait for an element that will not come
            return false;
        }
        pulling_ = true;
        number = begun_++;
        return true;
    }

    bool pulled(bool there) {
        const std::lock_guard lock(mutex_);
        pulling_ = false;
        if (!there) {
            drained_ = true;
            --begun_;
            taking_.notify_one();
        }
        working_.notify_all();
        return there;
    }

    void put(uint64_t number, Result result) {
        const std::lock_guard lock(mutex_);
        // If upstream failed, pulled() was not called and pulling_ stays set: failed_ ends the other threads' wait.
        if (result.failure) {
            failed_ = true;
            working_.notify_all();
        }
        results_[(dataset_->ordered() ? number : done_) % results_.size()] = std::move(result);
        ++done_;
        taking_.notify_one();
    }

    std::shared_ptr<const ParallelMap> dataset_;
    std::unique_ptr<Stream> upstream_;
    std::shared_ptr<Stop> stop_;
    std::mutex mutex_;
    std::condition_variable working_;
    std::condition_variable taking_;
    std::vector<Result> results_;
    uint64_t begun_ = 0; // elements taken from upstream
    uint64_t done_ = 0;
    uint64_t taken_ = 0;   // elements taken by the stream
    bool pulling_ = false; // a thread is taking an element from upstream
    bool drained_ = false; // upstream has ended
    bool failed_ = false;
};

class ParallelMapStream final : public Stream {
  public:
    ParallelMapStream(const std::shared_ptr<const ParallelMap> &dataset, const Iteration &iteration)
        : Stream(iteration),
          threads_(dataset->parallel_calls()),
          stream_threads_("mdist map", dataset->borrows(), iteration) {
        Iteration inner = iteration;
        auto stop = std::make_shared<Stop>(iteration.stop);
        inner.stop = stop;
        mappers_ = std::make_shared<Mappers>(dataset, dataset->source().open(inner), std::move(stop));
        if (!dataset->ordered() && iteration.series != nullptr) iteration.series->refuse(inexact());
    }

  private:
    bool produce(Element &out) override {
        if (!stream_threads_.running()) stream_threads_.start(mappers_, threads_);
        return mappers_->take(out);
    }
    uint64_t leap(uint64_t count, Element &scratch) override {
        return stream_threads_.running() ? Stream::leap(count, scratch) : mappers_->replay(count, scratch);
    }

    static Failure inexact() {
        return Failure(MDIST_ERR_FAILED_PRECONDITION,
                       "mdist_dataset_map with MDIST_MAP_UNORDERED gives elements in the order in which calls end, so "
                       "a saved "
                       "position could not say which are left. To save an iterator, make the map without that flag")
            .reason("unordered");
    }

    void rewind() override {
        stream_threads_.join(); // called from downstream, so never on a thread that is joined
        mappers_->restart();
    }

    std::size_t threads_;
    std::shared_ptr<Mappers> mappers_;
    StreamThreads stream_threads_; // last member, so that it is destroyed first
};

std::unique_ptr<Stream> ParallelMap::open(const Iteration &iteration) const {
    return std::make_unique<ParallelMapStream>(self(*this), iteration);
}

} // namespace

std::shared_ptr<Dataset> make_parallel_map(Source source, mdist_map_fn map, void *user_data,
                                           std::shared_ptr<void> owner, const mdist_tensor_t *outputs,
                                           std::size_t output_count, uint32_t parallel_calls, bool ordered) {
    constexpr uint32_t kMost = 1024;
    if (parallel_calls > kMost) throw invalid(text("parallel_calls is ", parallel_calls, "; it must be 0 to ", kMost));
    MapFunction function(*source, map, user_data, std::move(owner), outputs, output_count);
    return std::make_shared<ParallelMap>(std::move(source), std::move(function), parallel_calls, ordered);
}

} // namespace mdist
