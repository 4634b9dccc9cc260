// SPDX-License-Identifier: Apache-2.0
#include "data/iterator.h"

#include "data/agreement.h"
#include "data/current_failure.h"
#include "data/keep.h"
#include "util/forced_unwind.h"
#include "util/json.h"
#include "util/text.h"

#include <utility>

namespace mdist {

Iterator::OnlyCall::OnlyCall(std::atomic<bool> &busy) : busy_(busy) {
    if (busy_.exchange(true, std::memory_order_acquire))
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      "another call is using this iterator, on another thread or around this one (a map function "
                      "must not call the iterator it serves); an iterator takes one call at a time")
            .reason("busy");
}

Iterator::Iterator(std::shared_ptr<const Dataset> dataset)
    : dataset_(std::move(dataset)),
      awaited_(std::make_shared<std::atomic<bool>>(false)),
      agreement_(dataset_->agreement()),
      step_rows_(std::make_shared<StepRows>()),
      run_(begin(std::make_shared<Series>())) {}

Iterator::Run Iterator::begin(std::shared_ptr<Series> series) const {
    Run run;
    run.series = std::move(series);
    run.kept = dataset_->new_kept();
    run.stream = open(run);
    return run;
}

std::unique_ptr<Stream> Iterator::open(const Run &run) const {
    return dataset_->open(Iteration{nullptr, awaited_, run.skipped, run.series, agreement_, step_rows_, run.kept});
}

void Iterator::Run::close() {
    if (kept) kept->stop()->request(); // first, since the stream may wait for its threads
    stream.reset();
    kept.reset();
}

void Iterator::require_open() const {
    if (run_.stream == nullptr)
        throw Failure(MDIST_ERR_FAILED_PRECONDITION, "the iterator was closed; make a new one").reason("closed");
}

void Iterator::close() {
    const OnlyCall call(busy_);
    *awaited_ = true;
    run_.close();
    element_ = Element();
}

uint64_t Iterator::skipped() const {
    const std::lock_guard lock(skipped_mutex_);
    return *run_.skipped;
}

bool Iterator::next(FunctionRef<void(const Element &)> take) {
    const OnlyCall call(busy_);
    require_open();
    if (failure_) throw Failure(*failure_);
    if (agreement_) agreement_->require_place(); // must come before an element is taken, which would be lost
    try {
        if (!run_.stream->next(element_)) return false;
        take(element_);
        ++run_.taken;
        if (!element_.is_row()) element_ = Element(); // the taker now owns its memory
        return true;
    } catch (...) {
        const bool ending = thread_is_ending();
        failure_.emplace(ending ? thread_ended() : current_failure());
        if (ending) rethrow();
    }
    throw Failure(*failure_);
}

StepRows Iterator::step_rows() {
    const OnlyCall call(busy_);
    if (dataset_->replica_count() == 0)
        throw Failure(MDIST_ERR_FAILED_PRECONDITION,
                      "the iterator's dataset is not distributed, so its elements belong to no replica. Distribute the "
                      "dataset first");
    if (step_rows_->empty()) throw Failure(MDIST_ERR_FAILED_PRECONDITION, "the iterator has given no element yet");
    return *step_rows_;
}

IteratorState Iterator::state() {
    const OnlyCall call(busy_);
    require_open();
    if (failure_) throw Failure(*failure_);
    run_.series->require_exact();
    return {short_description(dataset_->description()), dataset_->layout(run_.taken), run_.taken,
            run_.series->numbers()};
}

bool Iterator::rewind(const IteratorState &state) {
    const OnlyCall call(busy_);
    require_open();
    const bool same = state.orders == run_.series->numbers() && state.layout == dataset_->layout(state.taken) &&
                      state.dataset == short_description(dataset_->description());
    if (!same || failure_ || !run_.kept || !run_.kept->usable()) return false;
    try {
        Element scratch;
        std::unique_ptr<Stream> stream = open(run_);
        if (stream->replay(state.taken, scratch) < state.taken) return false;
        run_.stream = std::move(stream);
    } catch (const Failure &) {
        return false; // it was forgotten, or the source fails; a new iteration finds out
    }
    run_.taken = state.taken;
    element_ = Element();
    step_rows_->clear();
    return true;
}

/// It only frees memory, so nothing is lost if another call is under way.
void Iterator::forget_before(uint64_t taken) {
    if (taken == 0 || busy_.exchange(true, std::memory_order_acquire)) return;
    if (run_.kept) run_.kept->forget_before(taken); // each step takes at least one element of the source
    busy_.store(false, std::memory_order_release);
}

namespace {

void check_same(const std::string &saved, const std::string &here, const char *what, const char *reason) {
    if (saved == here) return;
    throw Failure(MDIST_ERR_MISMATCH, text("the state was saved by an iterator with another ", what, ", ",
                                           json_of(saved), "; this iterator has ", json_of(here)))
        .reason(reason);
}

void check_enough(uint64_t taken, uint64_t there) {
    if (taken > there)
        throw Failure(MDIST_ERR_MISMATCH,
                      text("the state was saved after element ", taken, ", but this dataset has only ", there,
                           ". Restore it into the dataset that was saved"))
            .reason("different_dataset");
}

} // namespace

Restoring::Restoring(std::shared_ptr<Iterator> iterator, const IteratorState &state)
    : iterator_(std::move(iterator)), call_(iterator_->busy_) {
    const Dataset &dataset = iterator_->dataset();
    iterator_->require_open();
    check_same(state.dataset, short_description(dataset.description()), "dataset", "different_dataset");
    check_same(state.layout, dataset.layout(state.taken), "layout", "different_layout");
    if (const std::optional<uint64_t> size = dataset.size()) check_enough(state.taken, *size);
    run_ = iterator_->begin(std::make_shared<Series>(state.orders));
    run_.series->require_exact();
    if (!run_.series->complete())
        throw Failure(MDIST_ERR_MISMATCH, text("the state was saved for a dataset with ", state.orders.size(),
                                               " shuffles; this dataset has ", run_.series->numbers().size(),
                                               ". Restore it into the dataset that was saved"))
            .reason("different_dataset");
    Element scratch;
    check_enough(state.taken, run_.stream->replay(state.taken, scratch));
    run_.series->require_exact();
    run_.taken = state.taken;
}

void Restoring::commit() noexcept {
    Iterator &iterator = *iterator_;
    run_.series->commit();
    {
        const std::lock_guard lock(iterator.skipped_mutex_);
        std::swap(iterator.run_, run_);
    }
    iterator.element_ = Element();
    iterator.failure_.reset();
    iterator.step_rows_->clear();
}

} // namespace mdist
