// SPDX-License-Identifier: Apache-2.0
// batch: joins consecutive elements along a new first dimension.
#include "data/transforms/batches.h"
#include "data/transforms/joiner.h"
#include "util/failure.h"
#include "util/sizes.h"
#include "util/text.h"

#include <algorithm>
#include <cstring>
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

class Batch final : public Streamed<Batch, class BatchStream, Rewritable<Batch, Batches>> {
  public:
    Batch(const Source &source, uint64_t batch_size, bool drop_remainder)
        : Streamed(source, batched(source->spec(), batch_size, drop_remainder), batch_size, drop_remainder) {}

    Traits traits() const override {
        return {.text = text("batch(", batch_size(), drop_remainder() ? ", whole ones" : "", ")"),
                .batch_size = batch_size()};
    }
};

/// A batch of records of one size, as uint8 [rows, length]. Whoever reads a record may write it into the next row.
class RowRoom final : public Room {
  public:
    RowRoom(uint64_t most, uint64_t row_bytes)
        : row_bytes_(row_bytes),
          memory_(Tensor::allocate(*host(), MDIST_UINT8, Shape().with_first(row_bytes).with_first(most))) {}

    char *of(uint64_t bytes) override {
        return bytes == row_bytes_ ? static_cast<char *>(memory_.data()) + count_ * row_bytes_ : nullptr;
    }
    void accept() { ++count_; }
    void append(const char *row) {
        std::memcpy(of(row_bytes_), row, row_bytes_);
        ++count_;
    }
    uint64_t count() const { return count_; }

    /// Returns the rows so far. A small part of a batch is copied, so that it does not keep the memory of the whole.
    Tensor joined() && {
        const uint64_t most = memory_.shape().dims[0];
        if (count_ == most) return std::move(memory_);
        if (count_ > most / 2) return memory_.rows(0, count_);
        Tensor part = Tensor::allocate(*host(), MDIST_UINT8, memory_.rows(0, count_).shape());
        std::memcpy(part.data(), memory_.data(), part.bytes());
        return part;
    }

  private:
    uint64_t row_bytes_;
    Tensor memory_;
    uint64_t count_ = 0;
};

class BatchStream final : public Stage<Batch> {
  public:
    using Stage::Stage;

  private:
    bool produce(Element &out) override { return upstream_->fills_rooms() ? read_rows(out) : join_elements(out); }
    bool join_elements(Element &out) {
        while (joiner_.count() < dataset_->batch_size() && upstream_->next(joiner_.place())) joiner_.accept();
        if (joiner_.count() == 0) return false;
        const bool whole = joiner_.count() == dataset_->batch_size();
        if (!whole && dataset_->drop_remainder()) return false;
        out = joiner_.join();
        return true;
    }
    uint64_t leap(uint64_t count, Element &scratch) override { return dataset_->replay(*upstream_, count, scratch); }
    /// Lets the records of files be read straight into their rows. The size of the rows is that of the last batch, or
    /// of the first record. Since memory for all rows is allocated before their records have come, a large batch is
    /// read so only after a complete batch of rows of the same size.
    bool read_rows(Element &out) {
        constexpr uint64_t kTrusted = uint64_t{64} << 20;
        Element first;
        if (row_bytes_ == 0) {
            if (!upstream_->next(first)) return false;
            row_bytes_ = first.bytes(0);
            const bool large = saturated_product(row_bytes_, dataset_->batch_size()) > kTrusted;
            if (row_bytes_ == 0 || large) return join_and_measure(std::move(first), out);
        }
        RowRoom rows(dataset_->batch_size(), row_bytes_);
        if (first.count() != 0) rows.append(first.data(0));
        while (rows.count() < dataset_->batch_size()) {
            const Got got = upstream_->next_into(rows, first);
            if (got == Got::kEnd) break;
            if (got == Got::kBytes) {
                rows.accept();
            } else if (first.bytes(0) == row_bytes_) {
                rows.append(first.data(0));
            } else if (rows.count() == 0) { // a batch of rows of another size
                return join_and_measure(std::move(first), out);
            } else {
                throw different_shapes(0, rows.count(), first.shape(0), Shape().with_first(row_bytes_));
            }
        }
        const bool whole = rows.count() == dataset_->batch_size();
        if (rows.count() == 0 || (!whole && dataset_->drop_remainder())) return false;
        out = Element(std::move(rows).joined());
        return true;
    }
    /// Joins `first` and the elements after it, and expects the next batch to have rows of the same size.
    bool join_and_measure(Element first, Element &out) {
        row_bytes_ = 0;
        joiner_.place() = std::move(first);
        joiner_.accept();
        if (!join_elements(out)) return false;
        const uint64_t rows = out.shape(0).dims[0];
        if (rows == dataset_->batch_size()) row_bytes_ = out.bytes(0) / rows;
        return true;
    }
    void rewind() override {
        upstream_->restart();
        joiner_ = Joiner();
    }

    uint64_t row_bytes_ = 0; // of records, which go straight into their rows; 0: not known
    Joiner joiner_;
};

} // namespace

std::shared_ptr<Dataset> make_batch(Source source, uint64_t batch_size, bool drop_remainder) {
    if (batch_size == 0) throw invalid("batch_size is 0; it must be 1 or more");
    return std::make_shared<Batch>(std::move(source), batch_size, drop_remainder);
}

} // namespace mdist
