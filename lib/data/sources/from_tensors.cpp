// SPDX-License-Identifier: Apache-2.0
// Datasets of the rows of arrays in memory. Elements are views of the rows in place.
#include "data/sources.h"
#include "device/transfer/transfer.h"
#include "util/failure.h"
#include "util/text.h"

#include <algorithm>
#include <utility>

namespace mdist {
namespace {

class FromTensors final : public Streamed<FromTensors, class RowStream, Dataset> {
  public:
    FromTensors(std::vector<Spec> spec, std::shared_ptr<const Block> arrays)
        : Streamed(std::move(spec)), arrays_(std::move(arrays)), rows_(arrays_->part(0).tensor.shape().dims[0]) {}

    Traits traits() const override { return {.text = text("from_tensors(", rows_, " rows of ", text_of(spec()), ")")}; }
    std::optional<uint64_t> size() const override { return rows_; }
    bool borrows() const override { return arrays_->part(0).tensor.owner() == nullptr; }
    const std::shared_ptr<const Block> &arrays() const { return arrays_; }

  private:
    std::shared_ptr<const Block> arrays_;
    uint64_t rows_;
};

class RowStream final : public Stream {
  public:
    RowStream(const std::shared_ptr<const FromTensors> &dataset, const Iteration &iteration)
        : Stream(iteration), arrays_(dataset->arrays()), rows_(*dataset->size()) {}

  private:
    bool produce(Element &out) override {
        if (row_ == rows_) return false;
        out.set_row(arrays_, row_++);
        return true;
    }
    bool leave_out(uint64_t count, Element &scratch) override { return leap(count, scratch) == count; }
    uint64_t leap(uint64_t count, Element &) override {
        const uint64_t done = std::min(count, rows_ - row_);
        row_ += done;
        return done;
    }
    void rewind() override { row_ = 0; }

    std::shared_ptr<const Block> arrays_;
    uint64_t rows_;
    uint64_t row_ = 0;
};

Shape checked_array(const mdist_tensor_t &array, std::size_t index, uint64_t rows) {
    const std::string what = text("array ", index);
    checked_filled(array, what.c_str());
    const Shape shape = checked_on_host(array, what.c_str());
    if (shape.rank == 0) throw invalid(what + " is a scalar; elements are the rows of arrays of rank 1 or more");
    if (shape.dims[0] != rows)
        throw invalid(text(what, " of shape ", shape.text(), " has ", shape.dims[0], " rows and array 0 has ", rows,
                           "; all need the same number"));
    return shape;
}

} // namespace

std::shared_ptr<Dataset> make_from_tensors(const mdist_tensor_t *arrays, std::size_t count, const Memory &owner) {
    check_component_count(count, "arrays");
    if (arrays == nullptr) throw invalid("arrays is NULL");
    std::vector<Spec> spec;
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < count; ++i) {
        const Shape shape = checked_array(arrays[i], i, arrays[0].shape[0]);
        spec.push_back({arrays[i].dtype, shape.without_first()});
        tensors.push_back(Tensor::view(arrays[i].data, arrays[i].dtype, shape, owner));
    }
    return std::make_shared<FromTensors>(std::move(spec), std::make_shared<const Block>(std::move(tensors)));
}

} // namespace mdist
