// SPDX-License-Identifier: Apache-2.0
// How a caller waits for what the thread of a reactor achieves. A long wait is logged. Any thread.
#pragma once

#include "util/function_ref.h"
#include "util/long_wait.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace mdist {

using Deadline = std::chrono::steady_clock::time_point;
/// A timeout counts as 2^60 ns (36 years) at most, so that the sum does not overflow.
Deadline deadline_after(uint64_t timeout_ns);

/// Waits until ready(), which runs with the lock held. Returns false if the deadline comes first. `hold` has the
/// reactor's lock, and `changed` is notified when there is news. While a long wait is logged, the lock is free.
bool await(std::unique_lock<std::mutex> &hold, std::condition_variable &changed, Deadline deadline,
           FunctionRef<bool()> ready, LongWait::Describe describe);

} // namespace mdist
