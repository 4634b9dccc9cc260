// SPDX-License-Identifier: Apache-2.0
// Where elements come from. Each function checks its arguments (INVALID_ARGUMENT) and may be called from any thread.
#pragma once

#include "data/dataset.h"

namespace mdist {

/// Row i of each of `count` arrays is element i. The arrays are kept, not copied; `owner` is let go of with the last
/// reference to any of their rows, or null.
std::shared_ptr<Dataset> make_from_tensors(const mdist_tensor_t *arrays, std::size_t count, const Memory &owner);

} // namespace mdist
