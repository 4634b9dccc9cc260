// SPDX-License-Identifier: Apache-2.0
#include "membership/net/log_limit.h"

#include <algorithm>

#include "util/log.h"

namespace mdist {

void LogLimit::write(uint64_t now_ns, mdist_log_level_t level, const std::string &cause, std::string sentence) {
    if (!log::enabled(level)) return;
    Cause &self = causes_[cause];
    self.level = level;
    if (self.written >= kFirstLogged) {
        ++self.silent;
        self.last = std::move(sentence);
        return tick(now_ns);
    }
    ++self.written;
    self.next_ns = now_ns + kLogPauseNs;
    log::write(level, sentence);
}

void LogLimit::tick(uint64_t now_ns) {
    for (auto &[cause, self] : causes_) {
        if (now_ns < self.next_ns) continue;
        if (self.silent == 0) {
            self.written = 0; // it was quiet for so long that the next lines are news
        } else {
            log::write_parts(self.level, self.last, " (", self.silent, " like this since the last line)");
            self.silent = 0;
        }
        self.next_ns = now_ns + kLogPauseNs;
    }
    std::erase_if(causes_, [](const auto &entry) { return entry.second.written == 0; });
}

uint64_t LogLimit::next_tick_ns() const {
    uint64_t next = UINT64_MAX;
    for (const auto &[cause, self] : causes_) next = std::min(next, self.next_ns);
    return next;
}

} // namespace mdist
