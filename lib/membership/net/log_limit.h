// SPDX-License-Identifier: Apache-2.0
// LogLimit: limits log lines that strangers can cause as often as they like. It writes the first kFirstLogged lines of
// each cause. After those it writes one line every kLogPauseNs, with the last line and the count of the others. Pure
// state; one thread at a time.
#pragma once

#include <mdist/log.h>

#include <cstdint>
#include <map>
#include <string>

namespace mdist {

inline constexpr uint32_t kFirstLogged = 3;
inline constexpr uint64_t kLogPauseNs = 10'000'000'000;

class LogLimit {
  public:
    /// `cause`: one of few, since each has its own count. `sentence`: "the store refused a connection: ..."
    void write(uint64_t now_ns, mdist_log_level_t level, const std::string &cause, std::string sentence);
    /// Writes the summaries that are due.
    void tick(uint64_t now_ns);
    uint64_t next_tick_ns() const;

  private:
    struct Cause {
        mdist_log_level_t level = MDIST_LOG_WARN;
        uint32_t written = 0;
        uint64_t silent = 0; // not written since the last line
        uint64_t next_ns = 0;
        std::string last;
    };
    std::map<std::string, Cause> causes_;
};

} // namespace mdist
