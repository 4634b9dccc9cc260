// SPDX-License-Identifier: Apache-2.0
// Overdue: what streams had to do when somebody gave up waiting for them. Until it has happened, whoever waits for a
// whole GPU may wait for ever, and nobody can say what uses memory that was not given out for a stream. Any thread.
#pragma once

#include "device/gpu/event.h"

#include <atomic>
#include <mutex>
#include <vector>

namespace mdist {

class Overdue {
  public:
    void add(PhysicalGpu &physical, mdist_gpu_stream *stream) noexcept;
    /// What a GPU had to do that has failed is overdue for ever.
    bool any() noexcept;

  private:
    std::atomic<bool> any_{false};
    std::mutex mutex_;
    std::vector<Event> marks_;
    bool for_ever_ = false;
};

} // namespace mdist
