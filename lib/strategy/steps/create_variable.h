// SPDX-License-Identifier: Apache-2.0
// Creation of variables inside a step.
#pragma once

#include "strategy/steps/replica.h"
#include "strategy/variables/variable.h"

namespace mdist {

/// Creates one variable. All local replicas call this in their steps; replica 0's `initial` counts.
std::shared_ptr<Variable> create_in_step(Replica &replica, const std::shared_ptr<VariableStore> &store,
                                         VariableSpec spec, const Tensor &initial, uint64_t timeout_ns);

} // namespace mdist
