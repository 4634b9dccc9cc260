// SPDX-License-Identifier: Apache-2.0
// Consecutive elements joined along a new first dimension.
#include "data/transforms.h"
#include "util/failure.h"
#include "util/text.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mdist {
namespace {

std::vector<Spec> batched(std::vector<Spec> spec, uint64_t rows) {
    for (Spec &component : spec) component.shape = component.shape.with_first(rows);
    return spec;
}

class Batch final : public Transform {
  public:
    Batch(Source source, uint64_t batch_size, bool drop_remainder)
        : Transform(source, batched(source->spec(), rows_of(*source, batch_size, drop_remainder))),
          batch_size_(batch_size),
          drop_remainder_(drop_remainder) {}

    std::unique_ptr<Stream> open(const Iteration &iteration) const override;
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
    // Elements that lie one after the other in memory: copied in one go.
    struct Run {
        Element first;
        uint64_t count = 0;
    };

    bool produce(Element &out) override {
        const uint64_t rows = collect();
        if (rows == 0 || (rows < dataset_->batch_size() && dataset_->drop_remainder())) return false;
        check_shapes();
        std::vector<Tensor> joined(runs_[0].first.count());
        for (std::size_t component = 0; component < joined.size(); ++component) {
            const Element &first = runs_[0].first;
            Tensor &tensor = joined[component];
            tensor = Tensor::allocate(*host(), first.dtype(component), first.shape(component).with_first(rows));
            gather(component, static_cast<char *>(tensor.data()));
        }
        // Rows of kept arrays may stay for the next batch to overwrite without counting references; elements with
        // memory of their own must not wait that long.
        for (std::size_t i = 0; i < used_; ++i)
            if (!runs_[i].first.is_row()) runs_[i].first = Element();
        out = Element(std::move(joined));
        return true;
    }

    uint64_t collect() {
        uint64_t rows = 0;
        for (used_ = 0; rows < dataset_->batch_size(); ++rows) {
            if (used_ == runs_.size()) runs_.emplace_back();
            Run &run = runs_[used_];
            if (!upstream_->next(run.first)) break;
            if (used_ != 0 && run.first.follows(runs_[used_ - 1].first, runs_[used_ - 1].count)) {
                ++runs_[used_ - 1].count;
                continue;
            }
            run.count = 1;
            ++used_;
        }
        return rows;
    }

    void check_shapes() const {
        uint64_t row = 0;
        for (std::size_t i = 0; i < used_; row += runs_[i++].count)
            if (!runs_[i].first.same_rows(runs_[0].first)) check_shapes(runs_[i].first, row);
    }

    void check_shapes(const Element &element, uint64_t row) const {
        const Element &first = runs_[0].first;
        for (std::size_t component = 0; component < element.count(); ++component)
            if (!(element.shape(component) == first.shape(component)))
                throw Failure(MDIST_ERR_MISMATCH,
                              text("component ", component, " of element ", row, " of a batch has shape ",
                                   element.shape(component).text(), " and that of element 0 has ",
                                   first.shape(component).text(), "; elements of one batch need equal shapes"));
    }

    /// The first lines; the processor finds the rest of a longer row by itself.
    static void fetch_ahead(const char *row, std::size_t bytes) {
        for (std::size_t at = 0; at < std::min<std::size_t>(bytes, 8 * 64); at += 64) __builtin_prefetch(row + at);
    }

    void gather(std::size_t component, char *to) const {
        const std::size_t bytes = runs_[0].first.bytes(component);
        if (bytes == 0) return;
        for (std::size_t i = 0; i < used_; ++i) {
            // Rows in random order: the processor cannot guess where the next but one begins.
            if (i + 2 < used_) fetch_ahead(runs_[i + 2].first.data(component), bytes);
            const std::size_t length = runs_[i].count * bytes;
            std::memcpy(to, runs_[i].first.data(component), length);
            to += length;
        }
    }

    void rewind() override { upstream_->restart(); }

    std::shared_ptr<const Batch> dataset_;
    std::unique_ptr<Stream> upstream_;
    std::vector<Run> runs_; // the first used_ make up the batch under way
    std::size_t used_ = 0;
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
