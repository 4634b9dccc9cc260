// SPDX-License-Identifier: Apache-2.0
// Random bytes that nobody can guess. Any thread.
#pragma once

#include <cstddef>

namespace mdist {

/// Fills the bytes with random numbers from the kernel. Throws RESOURCE.
void system_random(void *bytes, std::size_t count);

} // namespace mdist
