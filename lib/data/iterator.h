// SPDX-License-Identifier: Apache-2.0
// Iterator: one iteration of a dataset, as a caller holds it.
//
// Guards the stream, which knows no errors twice and no second thread: a call while another is under way is refused
// (FAILED_PRECONDITION, and the iterator is none the worse), a failure is remembered and thrown again by every later
// call, the end likewise. Any thread; destruction waits for a prefetching thread where it must (Dataset::borrows).
#pragma once

#include "data/dataset.h"
#include "util/failure.h"
#include "util/function_ref.h"

#include <atomic>
#include <memory>
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
    uint64_t skipped() const { return *skipped_; }
    /// Whether all workers of the job take their elements together.
    bool agrees() const { return agreement_ != nullptr; }
    /// Rows of each replica of the job in the last element, by id. Throws FAILED_PRECONDITION if there is none.
    StepRows step_rows();

  private:
    std::shared_ptr<const Dataset> dataset_;
    std::shared_ptr<std::atomic<bool>> awaited_;
    std::shared_ptr<std::atomic<uint64_t>> skipped_;
    std::shared_ptr<Agreement> agreement_;
    std::shared_ptr<StepRows> step_rows_;
    std::unique_ptr<Stream> stream_; // null when closed
    Element element_;
    std::optional<Failure> failure_;
    std::atomic<bool> busy_{false};
};

} // namespace mdist
