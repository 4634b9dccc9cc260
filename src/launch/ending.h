// SPDX-License-Identifier: Apache-2.0
// Ending: how a job that does not end by itself is brought to its end: time to do so, SIGTERM, time again, SIGKILL.
// Says what to send and when; sends nothing. Plain data; any thread.
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
    // A century is for ever, and does not overflow.
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(count, 3e9)));
}

class Ending {
  public:
    explicit Ending(double grace_s) : grace_(seconds(grace_s)) {}

    /// A worker failed: the others find out by themselves; SIGTERM for those that do not.
    void let_end(Time now) { begin(SIGTERM, now + grace_); }
    /// Somebody wants an end and has told the workers; SIGKILL for those that do not listen.
    void have_asked(Time now) { begin(SIGKILL, now + grace_); }
    void end_now(Time now) { begin(SIGTERM, now); }
    void kill_now(Time now) { begin(SIGKILL, now); }

    /// When due() will have something.
    std::optional<Time> next() const { return signal_ != 0 ? std::optional(when_) : std::nullopt; }
    /// The signal that is to be sent now, or 0. SIGKILL comes again and again.
    int due(Time now) {
        if (signal_ == 0 || now < when_) return 0;
        kills_ += signal_ == SIGKILL ? 1 : 0;
        when_ = now + (kills_ == 0 ? grace_ : std::chrono::seconds(1));
        return std::exchange(signal_, SIGKILL);
    }
    /// How often due() has said SIGKILL.
    int kills() const { return kills_; }

  private:
    /// Never puts off what is on its way.
    void begin(int signal, Time when) {
        if (signal_ != SIGKILL) {
            signal_ = signal;
            when_ = when;
        } else if (signal == SIGKILL) {
            when_ = std::min(when_, when);
        }
    }

    Clock::duration grace_;
    int signal_ = 0; // the next; 0: none
    Time when_;
    int kills_ = 0;
};

} // namespace mdist
