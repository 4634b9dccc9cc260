// SPDX-License-Identifier: Apache-2.0
// Describes how a dataset is made, in lines for people.
#pragma once

#include "data/dataset.h"

#include <string>

namespace mdist {

/// Writes a line for each dataset, from the sources to `dataset` itself. The branches of a dataset with several sources
/// are indented and numbered. A very long description is cut off.
std::string pipeline_of(const Dataset &dataset);

/// The same, and what the elements look like.
std::string describe(const Dataset &dataset);

} // namespace mdist
