// SPDX-License-Identifier: Apache-2.0
// Polling: how the host waits for a GPU. It never waits inside CUDA, which has no deadlines.
#pragma once

#include "util/function_ref.h"

#include <cstdint>

namespace mdist {

/// Waits until `done()` returns true. Returns false if that takes longer than `timeout_ns`. Looks continuously for a
/// moment, then every 20 to 200 us. Passes on what done() throws.
bool poll_until(FunctionRef<bool()> done, uint64_t timeout_ns);

} // namespace mdist
