// SPDX-License-Identifier: Apache-2.0
// Updates as the caller wrote them, called for one local replica after another.
#pragma once

#include "strategy/strategy.h"

#include <mdist/variable.h>

#include <cstddef>
#include <vector>

namespace mdist {

class Variable;

/// What they made, regrouped. `variable` nullptr: of what belongs to none. Throws CALLBACK for the first that fails.
/// The caller holds the turn.
std::vector<ValuePointer> update_copies(Strategy &strategy, const Variable *variable, mdist_update_fn function,
                                        void *user_data, const std::vector<ValuePointer> &arguments,
                                        std::size_t result_count);

} // namespace mdist
