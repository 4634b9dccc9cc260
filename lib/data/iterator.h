// SPDX-License-Identifier: Apache-2.0
// Iterator: the object that a caller holds while it iterates over a dataset.
//
// It guards the stream, which takes one thread at a time and cannot go on after an error:
// - a call while another is under way throws FAILED_PRECONDITION and changes nothing;
// - a failure is remembered, and every later call throws it again;
// - the end is remembered, too.
// Any thread may call. Destruction waits for a prefetching thread where it must (Dataset::borrows).
#pragma once

#include "data/dataset.h"
#include "data/iterator_state.h"
#include "util/failure.h"
#include "util/function_ref.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

namespace mdist {

class Iterator {
  public:
    explicit Iterator(std::shared_ptr<const Dataset> dataset);

    /// Hands the next element to `take`. If `take` fails, so does the iterator, and the element is lost. After the last
    /// element it returns false without calling `take`.
    bool next(FunctionRef<void(const Element &)> take);
    /// Ends the iteration and waits for all threads that work for it.
    void close();
    const Dataset &dataset() const { return *dataset_; }
    /// Returns how many corrupt records were left out so far. Any thread, at any time.
    uint64_t skipped() const;
    /// Tells whether all workers of the job take their elements together.
    bool agrees() const { return agreement_ != nullptr; }
    /// Returns the rows of each replica of the job in the last element, by id. Throws FAILED_PRECONDITION if there is
    /// none.
    StepRows step_rows();

    /// Returns the position: how many elements were handed out. Throws FAILED_PRECONDITION, reason "unordered", if it
    /// is not determined which elements these were.
    IteratorState state();

    /// Goes back to a position of this iteration, if what was kept permits that. Else returns false; Restoring then
    /// makes a new iteration. The dataset may be dealt out in another way than before. The source is not read.
    bool rewind(const IteratorState &state);
    /// Gives up what is kept of elements before a position of this iteration. Nobody goes back further.
    void forget_before(uint64_t taken);

  private:
    friend class Restoring;

    /// Holds the right to use the stream while it lives.
    class OnlyCall {
      public:
        explicit OnlyCall(std::atomic<bool> &busy);
        ~OnlyCall() { busy_.store(false, std::memory_order_release); }
        OnlyCall(const OnlyCall &) = delete;
        OnlyCall &operator=(const OnlyCall &) = delete;

      private:
        std::atomic<bool> &busy_;
    };

    /// One run through the dataset.
    struct Run {
        std::shared_ptr<Series> series;
        std::shared_ptr<std::atomic<uint64_t>> skipped = std::make_shared<std::atomic<uint64_t>>(0);
        std::unique_ptr<Stream> stream; // null when closed
        uint64_t taken = 0;
        std::shared_ptr<KeptInput> kept; // may be null

        Run() = default;
        Run(Run &&) = default;
        Run &operator=(Run &&) = default;
        ~Run() { close(); }
        void close();
    };

    Run begin(std::shared_ptr<Series> series) const;
    std::unique_ptr<Stream> open(const Run &run) const;
    void require_open() const;

    std::shared_ptr<const Dataset> dataset_;
    std::shared_ptr<std::atomic<bool>> awaited_;
    std::shared_ptr<Agreement> agreement_;
    std::shared_ptr<StepRows> step_rows_;
    Run run_;
    mutable std::mutex skipped_mutex_; // guards run_.skipped, which skipped() reads from any thread
    Element element_;
    std::optional<Failure> failure_;
    std::atomic<bool> busy_{false};
};

/// Moves an iterator to a saved position, in two phases. The constructor prepares the new position; commit() takes it.
/// Until commit() the iterator stays where it was. No other call may use the iterator while this lives.
class Restoring {
  public:
    /// Throws MISMATCH for a state of another dataset (reason "different_dataset") or layout ("different_layout").
    /// To reach the position, it calls the functions of the dataset.
    Restoring(std::shared_ptr<Iterator> iterator, const IteratorState &state);
    void commit() noexcept;

  private:
    std::shared_ptr<Iterator> iterator_;
    Iterator::OnlyCall call_;
    Iterator::Run run_;
};

} // namespace mdist
