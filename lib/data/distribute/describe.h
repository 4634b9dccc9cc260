// SPDX-License-Identifier: Apache-2.0
// How a dataset is made, in lines for people.
#pragma once

#include "data/dataset.h"

#include <string>

namespace mdist {

/// A line for each dataset, from the sources to `dataset` itself; those of several sources stand indented and numbered.
/// Of very long ones the first.
std::string pipeline_of(const Dataset &dataset);

/// The same, and what the elements look like.
std::string describe(const Dataset &dataset);

} // namespace mdist
