// SPDX-License-Identifier: Apache-2.0
// ForkJoin: the minimal way to let a second thread do something and to wait for it. It is the floor for mdist_run.
//
// The second thread waits for its command by spinning or asleep in a futex. The caller always spins for the answer. One
// thread calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace mdist {

class ForkJoin {
  public:
    enum class Wait : uint32_t { kSpin, kFutex, kQuit };

    /// Starts the second thread, asleep.
    ForkJoin();
    ~ForkJoin();
    ForkJoin(const ForkJoin &) = delete;
    ForkJoin &operator=(const ForkJoin &) = delete;

    void wait_by(Wait how);
    /// Sends the second thread a command and waits for the answer, `batch` times.
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
