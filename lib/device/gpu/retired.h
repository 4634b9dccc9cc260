// SPDX-License-Identifier: Apache-2.0
// Memory that goes back to CUDA. cudaFree waits for the work of a whole GPU, without a deadline. Therefore a thread of
// its own calls it, which starts with the first piece of memory and stays. Any thread.
#pragma once

#include <cstdint>
#include <functional>

namespace mdist {

/// Has the thread call `give_back`, after what it was given before. If there is no thread or no memory for this, the
/// GPU's memory stays with the process.
void retire(std::function<void()> give_back) noexcept;

/// Returns how many pieces of memory the thread has given back.
uint64_t count_retired() noexcept;
/// Waits until the thread has done everything that it was given, or for `timeout_ns`. Returns whether it has given
/// anything back since count_retired() returned `before`.
bool await_retired(uint64_t before, uint64_t timeout_ns) noexcept;

} // namespace mdist
