// SPDX-License-Identifier: Apache-2.0
// Ending: brings a job to its end that does not end by itself. The steps are time to end, SIGTERM, more time, SIGKILL.
// It tells what to send and when, and sends nothing itself. Plain data; any thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <signal.h>

namespace mdist {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

inline Clock::duration seconds(double count) {
    // A limit of about a century, which does not overflow.
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(count, 3e9)));
}

class Ending {
  public:
    explicit Ending(double grace_s) : grace_(seconds(grace_s)) {}

    /// A worker failed. The others should find out by themselves; those that do not get SIGTERM.
    void let_end(Time now) { begin(SIGTERM, now + grace_); }
    /// A signal requested an end and has reached the workers. Those that do not end get SIGKILL.
    void have_asked(Time now) { begin(SIGKILL, now + grace_); }
    void end_now(Time now) { begin(SIGTERM, now); }
    void kill_now(Time now) { begin(SIGKILL, now); }

    /// When due() will next return a signal.
    std::optional<Time> next() const { return signal_ != 0 ? std::optional(when_) : std::nullopt; }
    /// The signal to send now, or 0. SIGKILL is repeated.
    int due(Time now) {
        if (signal_ == 0 || now < when_) return 0;
        kills_ += signal_ == SIGKILL ? 1 : 0;
        when_ = now + (kills_ == 0 ? grace_ : std::chrono::seconds(1));
        return std::exchange(signal_, SIGKILL);
    }
    /// How often due() has returned SIGKILL.
    int kills() const { return kills_; }

  private:
    /// Never delays a signal that is already planned.
    void begin(int signal, Time when) {
        if (signal_ != SIGKILL) {
            signal_ = signal;
            when_ = when;
        } else if (signal == SIGKILL) {
            when_ = std::min(when_, when);
        }
    }

    Clock::duration grace_;
    int signal_ = 0; // to send next; 0: none
    Time when_;
    int kills_ = 0;
};

} // namespace mdist
