// SPDX-License-Identifier: Apache-2.0
// batch: joins consecutive elements along a new first dimension.
#include "data/transforms.h"
#include "data/transforms/joiner.h"
#include "data/transforms/replay_batches.h"
#include "util/failure.h"
#include "util/text.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace mdist {
namespace {

/// Unless the remainder is dropped, the length of a batch is not known in advance, not even if the elements come out
/// even. The shapes of a dataset must not depend on how many elements it has. Otherwise that number would also decide
/// whether a last, partial step takes place.
std::vector<Spec> batched(std::vector<Spec> spec, uint64_t batch_size, bool drop_remainder) {
    for (Spec &component : spec)
        component.shape = component.shape.with_first(drop_remainder ? batch_size : Spec::kUnknown);
    return spec;
}

class Batch final : public Transform {
  public:
    Batch(Source source, uint64_t batch_size, bool drop_remainder)
        : Transform(source, batched(source->spec(), batch_size, drop_remainder)),
          batch_size_(batch_size),
          drop_remainder_(drop_remainder) {}

    std::unique_ptr<Stream> open(const Iteration &iteration) const override;
    std::shared_ptr<const Dataset> with_sources(const Sources &sources) const override {
        return std::make_shared<Batch>(sources[0], batch_size_, drop_remainder_);
    }
    Traits traits() const override {
        return {.text = text("batch(", batch_size_, drop_remainder_ ? ", whole ones" : "", ")"),
                .batch_size = batch_size_};
    }
    std::optional<uint64_t> size() const override {
        const std::optional<uint64_t> all = source().size();
        if (!all) return all;
        return *all / batch_size_ + (*all % batch_size_ != 0 && !drop_remainder_ ? 1 : 0);
    }
    uint64_t batch_size() const { return batch_size_; }
    bool drop_remainder() const { return drop_remainder_; }

  private:
    uint64_t batch_size_;
    bool drop_remainder_;
};

class BatchStream final : public Stream {
  public:
    BatchStream(std::shared_ptr<const Batch> dataset, const Iteration &iteration)
        : Stream(iteration),
          dataset_(std::move(dataset)),
          upstream_(dataset_->source().open(iteration)),
          block_(upstream_->block()) {}

  private:
    static constexpr uint64_t kChunk = 4096; // rows asked for at a time

    bool produce(Element &out) override { return block_ != nullptr ? join_rows(out) : join_elements(out); }
    bool join_elements(Element &out) {
        while (joiner_.count() < dataset_->batch_size() && upstream_->next(joiner_.place())) joiner_.accept();
        if (joiner_.count() == 0) return false;
        const bool whole = joiner_.count() == dataset_->batch_size();
        if (!whole && dataset_->drop_remainder()) return false;
        out = joiner_.join();
        return true;
    }
    uint64_t leap(uint64_t count, Element &scratch) override {
        return replay_batches(*upstream_, count, dataset_->batch_size(), dataset_->drop_remainder(), scratch);
    }
    bool join_rows(Element &out) {
        const uint64_t size = dataset_->batch_size();
        rows_.clear();
        for (std::size_t count = 1; count != 0 && rows_.size() < size;) {
            const std::size_t before = rows_.size();
            rows_.resize(before + std::min<uint64_t>(kChunk, size - before));
            count = upstream_->next_rows(&rows_[before], rows_.size() - before);
            rows_.resize(before + count);
        }
        if (rows_.empty() || (rows_.size() < size && dataset_->drop_remainder())) return false;
        out = joined_rows(*block_, rows_);
        return true;
    }
    void rewind() override {
        upstream_->restart();
        joiner_ = Joiner();
    }

    std::shared_ptr<const Batch> dataset_;
    std::unique_ptr<Stream> upstream_;
    std::shared_ptr<const Block> block_; // null: elements are taken one by one
    std::vector<uint64_t> rows_;         // numbers of the rows of one batch
    Joiner joiner_;
};

std::unique_ptr<Stream> Batch::open(const Iteration &iteration) const {
    return std::make_unique<BatchStream>(self(*this), iteration);
}

} // namespace

std::shared_ptr<Dataset> make_batch(Source source, uint64_t batch_size, bool drop_remainder) {
    if (batch_size == 0) throw invalid("batch_size is 0; it must be 1 or more");
    return std::make_shared<Batch>(std::move(source), batch_size, drop_remainder);
}

} // namespace mdist
