// SPDX-License-Identifier: Apache-2.0
// Elements of datasets as values. They share the elements' memory.
#pragma once

#include "data/dataset.h"
#include "strategy/values/value.h"

#include <vector>

namespace mdist {

/// One value for each component: plain or, if the dataset is distributed, per-replica.
std::vector<ValuePointer> values_of_element(const Dataset &dataset, const Element &element);
/// The same as one structure, each component at its path; or the only one, if it has no name.
ValuePointer value_of_element(const Dataset &dataset, const Element &element);

} // namespace mdist
