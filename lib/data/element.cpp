// SPDX-License-Identifier: Apache-2.0
#include "data/element.h"

#include "util/dtype.h"

namespace mdist {

Block::Block(std::vector<Tensor> tensors, std::shared_ptr<const StepRows> step_rows)
    : step_rows_(std::move(step_rows)) {
    parts_.reserve(tensors.size());
    for (Tensor &tensor : tensors) add(std::move(tensor));
}

void Block::add(Tensor tensor) {
    const Shape row = tensor.shape().without_first();
    const std::size_t row_bytes = row.elements() * dtype_size(tensor.dtype());
    parts_.push_back({std::move(tensor), row, row_bytes});
}

Element::Element(std::vector<Tensor> tensors) : block_(std::make_shared<const Block>(std::move(tensors))) {}

Element::Element(std::vector<Tensor> tensors, std::shared_ptr<const StepRows> step_rows)
    : block_(std::make_shared<const Block>(std::move(tensors), std::move(step_rows))) {}

Element::Element(Tensor tensor) : block_(std::make_shared<const Block>(std::move(tensor))) {}

} // namespace mdist
