// SPDX-License-Identifier: Apache-2.0
// rebatch: cuts rows into batches of given sizes in turn, across the borders of the source's elements.
#include "data/transforms.h"
#include "data/transforms/joiner.h"
#include "data/transforms/row_sequence.h"
#include "util/failure.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

std::vector<Spec> cut(std::vector<Spec> spec, const std::vector<uint64_t> &sizes, bool drop_remainder) {
    check_has_rows(spec);
    const bool alike = std::all_of(sizes.begin(), sizes.end(), [&](uint64_t size) { return size == sizes[0]; });
    const auto comes_out = [&](const Spec &component) {
        const uint64_t rows = component.shape.dims[0];
        return rows != Spec::kUnknown && rows % sizes[0] == 0;
    };
    const bool whole = alike && (drop_remainder || std::any_of(spec.begin(), spec.end(), comes_out));
    for (Spec &component : spec) component.shape.dims[0] = whole ? sizes[0] : Spec::kUnknown;
    return spec;
}

class Rebatch final : public Streamed<Rebatch, class RebatchStream> {
  public:
    Rebatch(const Source &source, std::vector<uint64_t> sizes, bool drop_remainder)
        : Streamed(source, cut(source->spec(), sizes, drop_remainder)),
          sizes_(std::move(sizes)),
          drop_remainder_(drop_remainder) {}

    Traits traits() const override {
        std::string all;
        for (const uint64_t size : sizes_) all += text(size, ", ");
        return {.text = text("rebatch(", listed(sizes_), drop_remainder_ ? ", whole ones" : "", ")"),
                .identity = text("rebatch(", all, drop_remainder_ ? "whole ones)" : "all)")};
    }
    const std::vector<uint64_t> &sizes() const { return sizes_; }
    bool drop_remainder() const { return drop_remainder_; }

    Element no_rows() const {
        std::vector<Tensor> tensors;
        for (const Spec &component : spec()) {
            Shape shape = component.shape;
            shape.dims[0] = 0;
            for (int32_t i = 1; i < shape.rank; ++i)
                if (shape.dims[i] == Spec::kUnknown) shape.dims[i] = 0;
            tensors.push_back(Tensor::allocate(*host(), component.dtype, shape));
        }
        return Element(std::move(tensors));
    }

  private:
    std::vector<uint64_t> sizes_;
    bool drop_remainder_;
};

class RebatchStream final : public Stream {
  public:
    RebatchStream(std::shared_ptr<const Rebatch> dataset, const Iteration &iteration)
        : Stream(iteration), dataset_(std::move(dataset)), rows_(dataset_->source(), iteration) {}

  private:
    bool produce(Element &out) override {
        if (cut_short_) return false;
        const uint64_t size = dataset_->sizes()[at_];
        at_ = (at_ + 1) % dataset_->sizes().size();
        if (size == 0) return out = dataset_->no_rows(), true;
        for (; joiner_.count() < size && rows_.more(); joiner_.accept()) rows_.take(joiner_.place());
        if (joiner_.count() == 0) return false;
        cut_short_ = joiner_.count() < size;
        if (cut_short_ && dataset_->drop_remainder()) return false;
        out = joiner_.join();
        return true;
    }
    uint64_t leap(uint64_t count, Element &scratch) override {
        uint64_t done = 0;
        for (; done < count && !cut_short_; ++done) {
            const uint64_t size = dataset_->sizes()[at_];
            at_ = (at_ + 1) % dataset_->sizes().size();
            if (size == 0) continue;
            const uint64_t rows = rows_.replay(size, scratch);
            cut_short_ = rows < size;
            if (rows == 0 || (cut_short_ && dataset_->drop_remainder())) break;
        }
        return done;
    }
    void rewind() override {
        rows_.restart();
        joiner_ = Joiner();
        at_ = 0;
        cut_short_ = false;
    }

    std::shared_ptr<const Rebatch> dataset_;
    RowSequence rows_;
    Joiner joiner_;
    std::size_t at_ = 0;     // index in sizes
    bool cut_short_ = false; // the last batch was cut short: this is the end, and no empty batches follow
};

} // namespace

std::shared_ptr<Dataset> make_rebatch(const Source &source, std::vector<uint64_t> batch_sizes, bool drop_remainder) {
    if (std::all_of(batch_sizes.begin(), batch_sizes.end(), [](uint64_t size) { return size == 0; }))
        throw invalid("batch_sizes has no size other than 0; it needs at least one, or the dataset would never end");
    return std::make_shared<Rebatch>(source, std::move(batch_sizes), drop_remainder);
}

} // namespace mdist
