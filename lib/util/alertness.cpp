// SPDX-License-Identifier: Apache-2.0
#include "util/alertness.h"

#include <sched.h>

namespace mdist {
namespace {

/// If the core is away for longer than this, somebody computes on it. Mates that wait give it back after microseconds.
constexpr uint64_t kTakenNs = 500'000;
/// So it is if it has been away for this long in one wait.
constexpr uint64_t kMostAwayNs = 2'000'000;
/// What a wait saves that found something: a sleep, a wake, and often a core that is idle meanwhile.
constexpr uint64_t kSavedNs = 30'000;

} // namespace

void Alertness::give_core_away() {
    sched_yield();
}

bool Alertness::look(uint64_t timeout_ns, FunctionRef<bool()> ready) {
    if (awake_ns_ == 0 || account_.rests()) return false;
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
        account_.lose(away);
    else if (found)
        account_.save(kSavedNs);
    else if (awake >= awake_ns_)
        account_.lose(awake);
    return found;
}

} // namespace mdist
