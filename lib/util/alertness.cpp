// SPDX-License-Identifier: Apache-2.0
#include "util/alertness.h"

#include <algorithm>

#include <sched.h>

namespace mdist {
namespace {

/// If the core is away for longer than this, somebody computes on it. Mates that wait give it back after microseconds.
constexpr uint64_t kTakenNs = 500'000;
/// So it is if it has been away for this long in one wait.
constexpr uint64_t kMostAwayNs = 2'000'000;
/// The most that one wait can lose: some time slices. A process that was stopped for longer learns nothing from that.
constexpr uint64_t kMostLostNs = 40'000'000;
/// What a wait saves that found something: a sleep, a wake, and often a core that is idle meanwhile.
constexpr int64_t kSavedNs = 30'000;
/// What waits have saved counts up to here: enough for one loss now and then.
constexpr int64_t kMostSavedNs = 3'000'000;
/// How much of a loss a wait that sleeps makes good. So losses cost no wait more than this, on average.
constexpr int64_t kMadeGoodNs = 2000;

} // namespace

void Alertness::give_core_away() {
    sched_yield();
}

bool Alertness::look(uint64_t timeout_ns, FunctionRef<bool()> ready) {
    if (awake_ns_ == 0 || rests()) return false;
    uint64_t awake = 0, away = 0, from = clock_.now_ns();
    bool found = false, taken = false;
    while (!(found = ready()) && !taken && awake < awake_ns_ && awake + away < timeout_ns) {
        const uint64_t given = clock_.now_ns();
        give_away_();
        const uint64_t back = clock_.now_ns();
        awake += given - from;
        away += back - given;
        taken = back - given >= kTakenNs || away >= kMostAwayNs;
        from = back;
    }
    if (taken)
        saved_ns_ -= static_cast<int64_t>(std::min(away, kMostLostNs));
    else if (found)
        saved_ns_ = std::min(saved_ns_ + kSavedNs, kMostSavedNs);
    else if (awake >= awake_ns_)
        saved_ns_ -= static_cast<int64_t>(awake);
    return found;
}

/// Whether this wait should sleep at once.
bool Alertness::rests() {
    if (saved_ns_ >= 0) return false;
    saved_ns_ += kMadeGoodNs;
    return true;
}

} // namespace mdist
