// SPDX-License-Identifier: Apache-2.0
// Reductions and copies of values in cross-replica context. The caller holds the turn.
#pragma once

#include "comm/call.h"
#include "strategy/strategy.h"

#include <string>
#include <vector>

namespace mdist {

/// Which public function asks, for the others' messages, and how long it waits for other workers.
struct Asker {
    /// `timeout_ns` 0: as the strategy was configured.
    Asker(const Strategy &strategy, CallKind call_kind, uint64_t call_timeout_ns)
        : kind(call_kind), timeout_ns(strategy.timeout_or_own(call_timeout_ns)) {}
    Asker with(std::string what) const {
        Asker copy = *this;
        copy.subject = std::move(what);
        return copy;
    }

    CallKind kind;
    uint64_t timeout_ns;
    std::string subject; // what else all workers must mean: a variable's name, or where the result goes
};

/// One tensor from one per replica of the job, of which `tensors` are the local ones: element by element along the
/// canonical tree; equal shapes and dtypes.
Tensor reduce_tensors(Strategy &strategy, const Asker &asker, int32_t op, const std::vector<Tensor> &tensors);

/// The same over axes of each tensor first; MEAN divides by the true number of elements. `workers` nullptr: of the
/// local ones alone.
Tensor reduce_axes(Workers *workers, const Asker &asker, int32_t op, const std::vector<Tensor> &tensors,
                   const std::vector<int32_t> &axes);

/// `inputs` and `outputs` by local replica, then by buffer.
void all_reduce_local(Strategy &strategy, const Asker &asker, int32_t op, const mdist_buffer_t *inputs,
                      const mdist_buffer_t *outputs, std::size_t buffer_count);

ValuePointer reduce_value(Strategy &strategy, const Asker &asker, int32_t op, const Value &value,
                          const std::vector<int32_t> &axes);
/// `destination` "": the devices the value came from.
ValuePointer reduce_value_to(Strategy &strategy, const Asker &asker, int32_t op, const Value &value,
                             const std::string &destination);
ValuePointer broadcast_value(Strategy &strategy, const Tensor &tensor);
/// One tensor from one per replica of the job, of which `tensors` are the local ones.
Tensor gather_tensors(Strategy &strategy, const Asker &asker, const std::vector<Tensor> &tensors, int32_t axis);
ValuePointer gather_value(Strategy &strategy, const Asker &asker, const Value &value, int32_t axis);

} // namespace mdist
