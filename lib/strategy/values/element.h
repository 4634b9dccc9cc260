// SPDX-License-Identifier: Apache-2.0
// Converts elements of datasets to values, which share the elements' memory.
#pragma once

#include "data/dataset.h"
#include "strategy/values/value.h"

#include <vector>

namespace mdist {

/// Returns one value for each component: per-replica if the dataset is distributed, else plain.
std::vector<ValuePointer> values_of_element(const Dataset &dataset, const Element &element);
/// The same as one structure, with each component at its path. A single component without a name is returned as it is.
ValuePointer value_of_element(const Dataset &dataset, const Element &element);

} // namespace mdist
