// SPDX-License-Identifier: Apache-2.0
#include "data/iterator.h"

#include "data/caught.h"
#include "data/distribute/deal.h"
#include "util/forced_unwind.h"

#include <utility>

namespace mdist {
namespace {

/// The right to use the stream, for as long as this lives.
class OnlyCall {
  public:
    explicit OnlyCall(std::atomic<bool> &busy) : busy_(busy) {
        if (busy_.exchange(true, std::memory_order_acquire))
            throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                          "another call is using this iterator, on another thread or around this one (a map function "
                          "must not call the iterator it serves); an iterator takes one call at a time");
    }
    ~OnlyCall() { busy_.store(false, std::memory_order_release); }
    OnlyCall(const OnlyCall &) = delete;
    OnlyCall &operator=(const OnlyCall &) = delete;

  private:
    std::atomic<bool> &busy_;
};

} // namespace

Iterator::Iterator(std::shared_ptr<const Dataset> dataset)
    : dataset_(std::move(dataset)),
      awaited_(std::make_shared<std::atomic<bool>>(false)),
      skipped_(std::make_shared<std::atomic<uint64_t>>(0)),
      agreement_(dataset_->agreement()),
      step_rows_(std::make_shared<StepRows>()),
      stream_(dataset_->open(Iteration{nullptr, awaited_, skipped_, agreement_, step_rows_})) {}

void Iterator::close() {
    const OnlyCall call(busy_);
    *awaited_ = true;
    stream_.reset();
    element_ = Element();
}

bool Iterator::next(FunctionRef<void(const Element &)> take) {
    const OnlyCall call(busy_);
    if (stream_ == nullptr)
        throw Failure(MDIST_ERR_FAILED_PRECONDITION, "the iterator was closed; make a new one").reason("closed");
    if (failure_) throw Failure(*failure_);
    if (agreement_) agreement_->require_place(); // before anything is taken that would be lost
    try {
        if (!stream_->next(element_)) return false;
        take(element_);
        if (!element_.is_row()) element_ = Element(); // its memory is the taker's now
        return true;
    } catch (...) {
        const bool ending = thread_is_ending();
        failure_.emplace(ending ? thread_ended() : caught());
        if (ending) throw;
    }
    throw Failure(*failure_);
}

StepRows Iterator::step_rows() {
    const OnlyCall call(busy_);
    if (dataset_->replica_count() == 0)
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      "the iterator is of a dataset that is not distributed; its elements are no replica's");
    if (step_rows_->empty()) throw Failure(MDIST_ERR_FAILED_PRECONDITION, "the iterator has given no element yet");
    return *step_rows_;
}

} // namespace mdist
