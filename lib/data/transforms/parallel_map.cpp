// SPDX-License-Identifier: Apache-2.0
// One element from another, by the caller's function on several threads at a time.
#include "data/caught.h"
#include "data/crew.h"
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
        check_any_thread(this->source(), "mdist_dataset_map_parallel");
    }

    std::unique_ptr<Stream> open(const Iteration &iteration) const override;
    std::shared_ptr<const Dataset> with_sources(const Sources &sources) const override {
        return std::make_shared<ParallelMap>(sources[0], map_, parallel_calls_, ordered_);
    }
    Traits traits() const override {
        return {.text = text("map_parallel(", parallel_calls_, " calls", ordered_ ? "" : ", in any order", ")")};
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

/// What the threads share. One at a time takes an element from upstream, and numbers it; all compute. Results lie in a
/// ring, in the order of the numbers or in that of their completion, until they are taken.
class Mappers final : public CrewWork {
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
                put(number, Result{{}, ending ? thread_ended() : caught(), true});
                if (ending) throw;
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

    /// From the first element again; no thread is in run().
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
            taking_.notify_one(); // told to stop by a stream above, whose thread may wait for what will not come
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
        // One that failed below may not have handed on its turn: nobody gets it any more.
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
    uint64_t taken_ = 0;   // by the stream
    bool pulling_ = false; // somebody takes one from upstream
    bool drained_ = false; // upstream has ended
    bool failed_ = false;
};

class ParallelMapStream final : public Stream {
  public:
    ParallelMapStream(const std::shared_ptr<const ParallelMap> &dataset, const Iteration &iteration)
        : Stream(iteration), threads_(dataset->parallel_calls()), crew_("mdist map", dataset->borrows(), iteration) {
        Iteration inner = iteration;
        auto stop = std::make_shared<Stop>(iteration.stop);
        inner.stop = stop;
        mappers_ = std::make_shared<Mappers>(dataset, dataset->source().open(inner), std::move(stop));
    }

  private:
    bool produce(Element &out) override {
        if (!crew_.running()) crew_.start(mappers_, threads_);
        return mappers_->take(out);
    }

    void rewind() override {
        crew_.join(); // called from downstream, so never on a thread that is joined
        mappers_->restart();
    }

    std::size_t threads_;
    std::shared_ptr<Mappers> mappers_;
    Crew crew_; // goes first
};

std::unique_ptr<Stream> ParallelMap::open(const Iteration &iteration) const {
    return std::make_unique<ParallelMapStream>(self(*this), iteration);
}

} // namespace

std::shared_ptr<Dataset> make_parallel_map(Source source, mdist_map_fn map, void *user_data,
                                           std::shared_ptr<void> owner, const mdist_tensor_t *outputs,
                                           std::size_t output_count, uint32_t parallel_calls, bool ordered) {
    constexpr uint32_t kMost = 1024;
    if (parallel_calls == 0 || parallel_calls > kMost)
        throw invalid(text(parallel_calls, " parallel calls; 1 to ", kMost, " are possible"));
    MapFunction function(*source, map, user_data, std::move(owner), outputs, output_count);
    return std::make_shared<ParallelMap>(std::move(source), std::move(function), parallel_calls, ordered);
}

} // namespace mdist
