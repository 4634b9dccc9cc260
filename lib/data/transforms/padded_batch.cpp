// SPDX-License-Identifier: Apache-2.0
// padded_batch: pads elements at the end of their dimensions, and joins consecutive ones along a new first dimension.
#include "data/transforms/batches.h"
#include "device/transfer/transfer.h"
#include "util/dtype.h"
#include "util/failure.h"
#include "util/text.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace mdist {
namespace {

/// How a component is padded.
struct Padding {
    Shape shape; // kUnknown: up to the longest of the batch
    std::array<char, sizeof(uint64_t)> value = {};
};

Padding checked_padding(const mdist_tensor_t &given, const Spec &component, std::size_t index) {
    if (given.dtype != component.dtype || given.rank != component.shape.rank)
        throw invalid(text("padding ", index, " is ", dtype_name(given.dtype), " of rank ", given.rank,
                           " and component ", index, " is ", dtype_name(component.dtype), " of rank ",
                           component.shape.rank, "; both must have the same type and rank"));
    Padding padding;
    padding.shape.rank = given.rank;
    mdist_tensor_t known = given;
    for (int32_t i = 0; i < given.rank; ++i) {
        padding.shape.dims[i] = given.shape[i];
        if (given.shape[i] == Spec::kUnknown) known.shape[i] = 1;
    }
    checked_on_host(known, text("padding ", index).c_str());
    if (given.data != nullptr) std::memcpy(padding.value.data(), given.data, dtype_size(given.dtype));
    return padding;
}

std::vector<Padding> checked_paddings(const Dataset &source, const mdist_tensor_t *paddings, std::size_t count) {
    std::vector<Padding> all;
    if (paddings == nullptr) {
        for (const Spec &component : source.spec()) {
            Padding padding;
            padding.shape = component.shape;
            std::fill_n(padding.shape.dims, padding.shape.rank, Spec::kUnknown);
            all.push_back(padding);
        }
        return all;
    }
    if (count != source.component_count())
        throw invalid(text("there are ", count, " paddings for ", source.component_count(),
                           " components; pass one per component"));
    for (std::size_t i = 0; i < count; ++i) all.push_back(checked_padding(paddings[i], source.spec()[i], i));
    return all;
}

std::vector<Spec> padded(std::vector<Spec> spec, const std::vector<Padding> &paddings, uint64_t rows) {
    for (std::size_t i = 0; i < spec.size(); ++i) {
        Shape &shape = spec[i].shape;
        for (int32_t d = 0; d < shape.rank; ++d)
            if (paddings[i].shape.dims[d] != Spec::kUnknown) shape.dims[d] = paddings[i].shape.dims[d];
        shape = shape.with_first(rows);
    }
    return spec;
}

class PaddedBatch final : public Streamed<PaddedBatch, class PaddedBatchStream, Rewritable<PaddedBatch, Batches>> {
  public:
    PaddedBatch(const Source &source, uint64_t batch_size, bool drop_remainder, std::vector<Padding> paddings)
        : Streamed(source, padded(source->spec(), paddings, drop_remainder ? batch_size : Spec::kUnknown), batch_size,
                   drop_remainder),
          paddings_(std::move(paddings)) {}

    Traits traits() const override {
        return {.text = text("padded_batch(", batch_size(), drop_remainder() ? ", whole ones: " : ": ", text_of(spec()),
                             ")"),
                .batch_size = batch_size()};
    }
    const Padding &padding(std::size_t component) const { return paddings_[component]; }

  private:
    std::vector<Padding> paddings_;
};

void fill(char *to, std::size_t bytes, const char *value, std::size_t size) {
    if (std::all_of(value, value + size, [](char byte) { return byte == 0; })) {
        std::memset(to, 0, bytes);
        return;
    }
    for (std::size_t at = 0; at < bytes; at += size) std::memcpy(to + at, value, size);
}

/// Copies an array of shape `from` to the beginning of one of shape `to`. `size`: bytes of one of their elements.
void copy_into(char *target, const Shape &to, const char *source, const Shape &from, std::size_t size) {
    if (from.elements() == 0) return;
    // The elements of the last dimension are contiguous in both arrays.
    const int32_t last = from.rank - 1;
    const std::size_t length = (from.rank == 0 ? 1 : from.dims[last]) * size;
    uint64_t index[MDIST_MAX_RANK] = {};
    for (;;) {
        uint64_t offset = 0;
        for (int32_t d = 0; d < from.rank; ++d) offset = offset * to.dims[d] + (d == last ? 0 : index[d]);
        std::memcpy(target + offset * size, source, length);
        source += length;
        int32_t d = last - 1;
        while (d >= 0 && ++index[d] == from.dims[d]) index[d--] = 0;
        if (d < 0) return;
    }
}

class PaddedBatchStream final : public Stage<PaddedBatch> {
  public:
    using Stage::Stage;

  private:
    bool produce(Element &out) override {
        std::vector<Element> elements;
        Element element;
        while (elements.size() < dataset_->batch_size() && upstream_->next(element)) elements.push_back(element);
        if (elements.empty()) return false;
        if (elements.size() < dataset_->batch_size() && dataset_->drop_remainder()) return false;
        std::vector<Tensor> joined;
        for (std::size_t i = 0; i < elements[0].count(); ++i) joined.push_back(join(elements, i));
        out = Element(std::move(joined));
        return true;
    }

    Tensor join(const std::vector<Element> &elements, std::size_t component) const {
        const Padding &padding = dataset_->padding(component);
        const Shape row = row_shape(elements, component);
        const int32_t dtype = elements[0].dtype(component);
        const std::size_t size = dtype_size(dtype);
        Tensor tensor = Tensor::allocate(*host(), dtype, row.with_first(elements.size()));
        const std::size_t row_bytes = tensor.bytes() / elements.size();
        auto *to = static_cast<char *>(tensor.data());
        for (const Element &element : elements) {
            if (!(element.shape(component) == row)) fill(to, row_bytes, padding.value.data(), size);
            copy_into(to, row, element.data(component), element.shape(component), size);
            to += row_bytes;
        }
        return tensor;
    }

    Shape row_shape(const std::vector<Element> &elements, std::size_t component) const {
        const Shape &wanted = dataset_->padding(component).shape;
        Shape row = elements[0].shape(component);
        for (std::size_t e = 0; e < elements.size(); ++e) {
            const Shape &shape = elements[e].shape(component);
            for (int32_t d = 0; d < row.rank; ++d) {
                row.dims[d] = wanted.dims[d] != Spec::kUnknown ? wanted.dims[d] : std::max(row.dims[d], shape.dims[d]);
                if (shape.dims[d] > row.dims[d])
                    throw Failure(MDIST_ERR_MISMATCH,
                                  text("component ", component, " of element ", e, " of a padded batch has shape ",
                                       shape.text(), ", which is larger in dimension ", d, " than the ", row.dims[d],
                                       " that its padding allows"));
            }
        }
        return row;
    }

    uint64_t leap(uint64_t count, Element &scratch) override { return dataset_->replay(*upstream_, count, scratch); }
};

} // namespace

std::shared_ptr<Dataset> make_padded_batch(const Source &source, uint64_t batch_size, bool drop_remainder,
                                           const mdist_tensor_t *paddings, std::size_t padding_count) {
    if (batch_size == 0) throw invalid("batch_size is 0; it must be 1 or more");
    return std::make_shared<PaddedBatch>(source, batch_size, drop_remainder,
                                         checked_paddings(*source, paddings, padding_count));
}

} // namespace mdist
