// SPDX-License-Identifier: Apache-2.0
// DoneCalls: functions that the program wants to be called when a started operation is over.
//
// An operation ends under locks, in whatever call notices it. Its functions therefore only come here, and the same call
// makes them once it holds no lock. Any thread may use it.
#pragma once

#include <mdist/status.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>

namespace mdist {

class DoneCalls {
  public:
    struct One {
        std::function<void(mdist_status_t)> function;
        mdist_status_t status = MDIST_OK;
    };
    using List = std::list<One>;

    /// Takes over the functions of an operation that ended with this status.
    void add(List &functions, mdist_status_t status) noexcept;
    /// Makes the calls that there are. Does nothing inside of one.
    void make() noexcept;
    /// Makes the calls that there are, and returns when none is under way on another thread. Inside of one it does not
    /// wait.
    void finish() noexcept;

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    List waiting_;
    std::size_t running_ = 0;
    std::atomic<std::size_t> open_{0}; // waiting and running
};

} // namespace mdist
