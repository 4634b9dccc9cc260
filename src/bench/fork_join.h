// SPDX-License-Identifier: Apache-2.0
// ForkJoin: the barest way to have a second thread do something and wait for it, as a floor for mdist_run.
//
// The second thread waits for its command either spinning or asleep in a futex; the caller always spins for the answer.
// One thread calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace mdist {

class ForkJoin {
  public:
    enum class Wait : uint32_t { kSpin, kFutex, kQuit };

    /// The second thread sleeps.
    ForkJoin();
    ~ForkJoin();
    ForkJoin(const ForkJoin &) = delete;
    ForkJoin &operator=(const ForkJoin &) = delete;

    void wait_by(Wait how);
    /// `batch` times there and back.
    void run(unsigned batch);

  private:
    void serve();
    void command();

    alignas(64) std::atomic<uint32_t> command_{0};
    std::atomic<Wait> wait_{Wait::kFutex};
    alignas(64) std::atomic<uint32_t> done_{0};
    std::thread thread_;
};

} // namespace mdist
