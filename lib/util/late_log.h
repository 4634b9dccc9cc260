// SPDX-License-Identifier: Apache-2.0
// LateLog: writes the log lines of a thread that must not wait, on a thread of its own. A sink may take as long as it
// likes, for example if stderr is a stopped terminal. Heartbeats must go out meanwhile. Any thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <pthread.h>

#include "util/log.h"

namespace mdist {

class LateLog final : public log::Collector {
  public:
    static constexpr std::size_t kMostLines = 256; // waiting lines; more are lost, and their count is logged

    LateLog() = default;
    /// Waits until the sink has taken what was logged.
    ~LateLog();
    LateLog(const LateLog &) = delete;
    LateLog &operator=(const LateLog &) = delete;

    /// Adds a line. The first line starts the thread. If there is no memory or no thread, the line is lost.
    void add(mdist_log_level_t level, std::string_view message) noexcept override;

  private:
    static void *run(void *self);
    void write_all();

    std::mutex lock_;
    std::condition_variable changed_;
    std::vector<std::pair<mdist_log_level_t, std::string>> lines_;
    std::size_t lost_ = 0;
    bool running_ = false;
    bool ending_ = false;
    pthread_t thread_ = {};
};

} // namespace mdist
