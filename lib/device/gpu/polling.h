// SPDX-License-Identifier: Apache-2.0
// Polling: how the host waits for a GPU. Never inside CUDA, which knows no deadlines.
#pragma once

#include "util/function_ref.h"

#include <cstdint>

namespace mdist {

/// True once `done()` is, false if that takes longer than `timeout_ns`. Looks all the time for a moment, then every 20
/// to 200 us. Passes on what done() throws.
bool poll_until(FunctionRef<bool()> done, uint64_t timeout_ns);

} // namespace mdist
