// SPDX-License-Identifier: Apache-2.0
// Reductions and copies of values in cross-replica context. The caller holds the turn.
#pragma once

#include "strategy/strategy.h"

#include <string>
#include <vector>

namespace mdist {

/// One tensor from one per replica, element by element along the canonical tree; equal shapes and dtypes.
/// `replica_count` is what MEAN divides by.
Tensor reduce_tensors(int32_t op, const std::vector<Tensor> &tensors, uint64_t replica_count);

/// The same over axes of each tensor first; MEAN divides by the true number of elements.
Tensor reduce_axes(int32_t op, const std::vector<Tensor> &tensors, const std::vector<int32_t> &axes);

/// `inputs` and `outputs` by local replica, then by buffer.
void all_reduce_local(Strategy &strategy, int32_t op, const mdist_buffer_t *inputs, const mdist_buffer_t *outputs,
                      std::size_t buffer_count);

ValuePointer reduce_value(Strategy &strategy, int32_t op, const Value &value, const std::vector<int32_t> &axes);
/// `destination` "": the devices the value came from.
ValuePointer reduce_value_to(Strategy &strategy, int32_t op, const Value &value, const std::string &destination);
ValuePointer broadcast_value(Strategy &strategy, const Tensor &tensor);
ValuePointer gather_value(Strategy &strategy, const Value &value, int32_t axis);

} // namespace mdist
