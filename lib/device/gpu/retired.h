// SPDX-License-Identifier: Apache-2.0
// Memory that goes back to CUDA. cudaFree waits for the work of a whole GPU, without a deadline. Therefore threads of
// the library's own call it, one for each GPU, so that a GPU that hangs holds up no memory of another. One more does it
// for page-locked memory, which waits for all GPUs.
//
// A thread starts with the first piece of memory, and ends when it has given back all that it was given. Only CUDA can
// end its wait for a GPU that hangs. The library is never unloaded, so the thread may take its time. Any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

namespace mdist {

/// What one thread has to give back. Never destroyed.
class RetiredQueue {
  public:
    /// Has the thread call `give_back`, after what it was given before. If there is no thread or no memory for this,
    /// the memory stays with the process.
    void retire(std::function<void()> give_back) noexcept;

    /// Returns how many pieces of memory the thread has given back.
    uint64_t count() noexcept;
    /// Waits until the thread has done everything that it was given, or for `timeout_ns`. Returns whether it has given
    /// anything back since count() returned `before`.
    bool wait(uint64_t before, uint64_t timeout_ns) noexcept;

  private:
    static void *main(void *self);
    bool none() noexcept;
    void work();

    std::mutex mutex_;                          // guards what follows
    std::deque<std::function<void()>> waiting_; // the first is being given back
    uint64_t done_ = 0;
    bool running_ = false;
};

} // namespace mdist
