// SPDX-License-Identifier: Apache-2.0
#include "util/late_log.h"

#include <new>

#include "util/thread.h"

namespace mdist {

LateLog::~LateLog() {
    if (!running_) return;
    {
        const std::lock_guard<std::mutex> hold(lock_);
        ending_ = true;
    }
    changed_.notify_one();
    pthread_join(thread_, nullptr);
}

void LateLog::add(mdist_log_level_t level, std::string_view message) noexcept try {
    const std::lock_guard<std::mutex> hold(lock_);
    if (!running_) running_ = start_thread(&thread_, run, this, "mdist log") == 0;
    if (!running_ || lines_.size() >= kMostLines) {
        ++lost_;
        return;
    }
    lines_.emplace_back(level, message);
    changed_.notify_one();
} catch (const std::bad_alloc &) {
    return;
}

void *LateLog::run(void *self) {
    static_cast<LateLog *>(self)->write_all();
    return nullptr;
}

void LateLog::write_all() {
    std::unique_lock<std::mutex> hold(lock_);
    for (;;) {
        changed_.wait(hold, [this] { return ending_ || !lines_.empty(); });
        if (lines_.empty()) return;
        const auto lines = std::exchange(lines_, {});
        const std::size_t lost = std::exchange(lost_, 0);
        hold.unlock();
        for (const auto &[level, line] : lines) log::write(level, line);
        if (lost > 0) log_warn(lost, " more lines were lost, because writing the log took too long");
        hold.lock();
    }
}

} // namespace mdist
