// SPDX-License-Identifier: Apache-2.0
#include "data/keep.h"

#include "util/failure.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

uint64_t bytes_of(const Element &element) {
    uint64_t bytes = 0;
    for (std::size_t i = 0; i < element.count(); ++i) bytes += element.bytes(i);
    return bytes;
}

class Keep final : public Rewritable<Keep> {
  public:
    explicit Keep(Source source) : Rewritable(source, source->spec()) {}

    std::unique_ptr<Stream> open(const Iteration &iteration) const override;
    Traits traits() const override { return {.text = "keep", .identity = "", .keeps_batch_size = true}; }
    std::optional<uint64_t> size() const override { return source().size(); }
};

class KeepStream final : public Stream {
  public:
    KeepStream(std::shared_ptr<const Keep> dataset, const Iteration &iteration)
        : Stream(iteration), dataset_(std::move(dataset)), kept_(iteration.kept) {
        reader_ = kept_->begin_reading([&] {
            Iteration inner = iteration;
            inner.stop = kept_->stop();
            inner.kept = nullptr;
            return dataset_->source().open(inner);
        });
    }

  private:
    bool produce(Element &out) override {
        if (!kept_->take(reader_, at_, out)) return false;
        ++at_;
        return true;
    }
    uint64_t leap(uint64_t count, Element &scratch) override {
        const uint64_t done = kept_->pass(reader_, at_, count, scratch);
        at_ += done;
        return done;
    }
    void rewind() override { throw Failure(MDIST_ERR_INTERNAL, "a distributed dataset has no epochs to begin anew"); }

    std::shared_ptr<const Keep> dataset_;
    std::shared_ptr<KeptInput> kept_;
    uint64_t reader_;
    uint64_t at_ = 0;
};

std::unique_ptr<Stream> Keep::open(const Iteration &iteration) const {
    if (iteration.kept == nullptr) return source().open(iteration);
    return std::make_unique<KeepStream>(self(*this), iteration);
}

} // namespace

bool KeptInput::usable() const {
    const std::lock_guard lock(mutex_);
    return !failed_;
}

uint64_t KeptInput::begin_reading(FunctionRef<std::unique_ptr<Stream>()> open) {
    const std::lock_guard lock(mutex_);
    if (source_ == nullptr) source_ = open();
    return ++reader_;
}

/// Throws if that element is forgotten.
void KeptInput::require(uint64_t position) const {
    if (position < first_) throw Failure(MDIST_ERR_INTERNAL, "an element of the input is not kept any more");
}

void KeptInput::drop_first() {
    bytes_ -= bytes_of(elements_.front());
    elements_.pop_front();
    ++first_;
}

bool KeptInput::take(uint64_t reader, uint64_t position, Element &out) {
    const std::lock_guard lock(mutex_);
    if (reader != reader_) return false;
    require(position);
    if (position - first_ < elements_.size()) {
        out = elements_[position - first_];
        return true;
    }
    failed_ = true; // until the source has returned
    const bool there = source_->next(out);
    failed_ = false;
    if (!there) return false;
    elements_.push_back(out);
    bytes_ += bytes_of(out);
    while (bytes_ > most_bytes_) drop_first();
    drop_old();
    return true;
}

uint64_t KeptInput::pass(uint64_t reader, uint64_t position, uint64_t count, Element &scratch) {
    const std::lock_guard lock(mutex_);
    if (reader != reader_) return 0;
    require(position + count); // where it began may be forgotten
    const uint64_t here = std::min<uint64_t>(first_ + elements_.size() - position, count);
    if (here == count) return count;
    failed_ = true;
    const uint64_t more = source_->replay(count - here, scratch);
    failed_ = false;
    first_ += elements_.size() + more; // nothing of it is kept
    elements_.clear();
    bytes_ = 0;
    return here + more;
}

void KeptInput::drop_old() {
    while (!elements_.empty() && first_ < oldest_.load(std::memory_order_relaxed)) drop_first();
}

/// Whoever has the lock may be in a function of the program, which may wait for this thread. It drops them when it is
/// back.
void KeptInput::forget_before(uint64_t position) {
    oldest_.store(position, std::memory_order_relaxed);
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock) drop_old();
}

std::shared_ptr<Dataset> make_keep(Source source) {
    return std::make_shared<Keep>(std::move(source));
}

} // namespace mdist
