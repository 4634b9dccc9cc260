// SPDX-License-Identifier: Apache-2.0
// Where elements come from. Each function checks its arguments (INVALID_ARGUMENT) and may be called from any thread.
#pragma once

#include "data/dataset.h"
#include "data/user_data.h"

namespace mdist {

/// Row i of each of `count` arrays is element i. The arrays are kept, not copied; `user_data` is released with the last
/// reference to any of their rows, or at once if this throws.
std::shared_ptr<Dataset> make_from_tensors(const mdist_tensor_t *arrays, std::size_t count, UserData user_data);

} // namespace mdist
