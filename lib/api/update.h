// SPDX-License-Identifier: Apache-2.0
// Calls the caller's update function for one local replica after another.
#pragma once

#include "strategy/strategy.h"

#include <mdist/variable.h>

#include <cstddef>
#include <vector>

namespace mdist {

class Variable;

/// Returns the regrouped results. `variable` may be nullptr. Throws CALLBACK for the first call that fails. The caller
/// holds the turn.
std::vector<ValuePointer> update_copies(Job &job, const Variable *variable, mdist_update_fn function, void *user_data,
                                        const std::vector<ValuePointer> &arguments, std::size_t result_count);

} // namespace mdist
