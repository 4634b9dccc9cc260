// SPDX-License-Identifier: Apache-2.0
// Iterator: one iteration of a dataset, as a caller holds it.
//
// Guards the stream, which knows no errors twice and no second thread: a call while another is under way is refused
// (FAILED_PRECONDITION, and the iterator is none the worse), a failure is remembered and thrown again by every later
// call, the end likewise. Any thread; destruction waits for a prefetching thread where it must (Dataset::borrows).
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

    /// Hands the next element to `take`, whose failure is the iterator's too: the element is lost with it. False,
    /// without a call, after the last.
    bool next(FunctionRef<void(const Element &)> take);
    /// Ends the iteration and waits for all that goes on for it.
    void close();
    const Dataset &dataset() const { return *dataset_; }
    /// Corrupt records left out so far. Any thread, at any time.
    uint64_t skipped() const;
    /// Whether all workers of the job take their elements together.
    bool agrees() const { return agreement_ != nullptr; }
    /// Rows of each replica of the job in the last element, by id. Throws FAILED_PRECONDITION if there is none.
    StepRows step_rows();

    /// Where it stands: behind the elements that were handed out. Throws FAILED_PRECONDITION, reason "unordered", where
    /// nobody can say which these are.
    IteratorState state();

  private:
    friend class Restoring;

    /// The right to use the stream, for as long as this lives.
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
    };

    Run begin(std::shared_ptr<Series> series) const;
    void require_open() const;

    std::shared_ptr<const Dataset> dataset_;
    std::shared_ptr<std::atomic<bool>> awaited_;
    std::shared_ptr<Agreement> agreement_;
    std::shared_ptr<StepRows> step_rows_;
    Run run_;
    mutable std::mutex skipped_mutex_; // of run_.skipped, for skipped() alone
    Element element_;
    std::optional<Failure> failure_;
    std::atomic<bool> busy_{false};
};

/// An iterator about to be moved to another position; no other call uses it meanwhile. It stays as it was until
/// commit().
class Restoring {
  public:
    /// Throws MISMATCH for a state of another dataset (reason "different_dataset") or layout ("different_layout").
    /// Calls what the dataset calls to come to that position.
    Restoring(std::shared_ptr<Iterator> iterator, const IteratorState &state);
    void commit() noexcept;

  private:
    std::shared_ptr<Iterator> iterator_;
    Iterator::OnlyCall call_;
    Iterator::Run run_;
};

} // namespace mdist
