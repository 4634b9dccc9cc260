// SPDX-License-Identifier: Apache-2.0
// Consecutive elements joined along a new first dimension.
#include "data/transforms.h"
#include "data/transforms/joiner.h"
#include "util/failure.h"
#include "util/text.h"

#include <utility>

namespace mdist {
namespace {

std::vector<Spec> batched(std::vector<Spec> spec, uint64_t rows, bool drop_remainder) {
    for (Spec &component : spec) {
        component.shape = component.shape.with_first(rows);
        component.by_count = !drop_remainder;
    }
    return spec;
}

class Batch final : public Transform {
  public:
    Batch(Source source, uint64_t batch_size, bool drop_remainder)
        : Transform(source, batched(source->spec(), rows_of(*source, batch_size, drop_remainder), drop_remainder)),
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
    static uint64_t rows_of(const Dataset &source, uint64_t batch_size, bool drop_remainder) {
        const std::optional<uint64_t> all = source.size();
        return drop_remainder || (all && *all % batch_size == 0) ? batch_size : Spec::kUnknown;
    }

    uint64_t batch_size_;
    bool drop_remainder_;
};

class BatchStream final : public Stream {
  public:
    BatchStream(std::shared_ptr<const Batch> dataset, const Iteration &iteration)
        : Stream(iteration), dataset_(std::move(dataset)), upstream_(dataset_->source().open(iteration)) {}

  private:
    bool produce(Element &out) override {
        while (joiner_.count() < dataset_->batch_size() && upstream_->next(joiner_.place())) joiner_.accept();
        if (joiner_.count() == 0) return false;
        const bool whole = joiner_.count() == dataset_->batch_size();
        if (!whole && dataset_->drop_remainder()) return false;
        out = joiner_.join();
        return true;
    }
    void rewind() override {
        upstream_->restart();
        joiner_ = Joiner();
    }

    std::shared_ptr<const Batch> dataset_;
    std::unique_ptr<Stream> upstream_;
    Joiner joiner_;
};

std::unique_ptr<Stream> Batch::open(const Iteration &iteration) const {
    return std::make_unique<BatchStream>(self(*this), iteration);
}

} // namespace

std::shared_ptr<Dataset> make_batch(Source source, uint64_t batch_size, bool drop_remainder) {
    if (batch_size == 0) throw invalid("a batch of 0 elements; batch_size must be 1 or more");
    return std::make_shared<Batch>(std::move(source), batch_size, drop_remainder);
}

} // namespace mdist
