// SPDX-License-Identifier: Apache-2.0
#include "strategy/job/leaving.h"

#include "comm/call/bad_message.h"
#include "comm/workers/workers.h"
#include "strategy/job/call_functions.h"
#include "strategy/job/job.h"

#include <mdist/membership.h>

#include <algorithm>
#include <array>
#include <vector>

namespace mdist {

void Leaving::announce(uint64_t grace_ns) noexcept {
    const uint64_t now = clock_.now_ns();
    uint64_t stays = 0;
    ends_ns_.compare_exchange_strong(stays, now + std::min(grace_ns, UINT64_MAX - now));
}

Leaving::Standing Leaving::own_standing() {
    const uint64_t now = clock_.now_ns(), ends = ends_ns_.load();
    if (last_check_ns_ != 0) longest_ns_ = std::max(longest_ns_, now - last_check_ns_);
    last_check_ns_ = now;
    if (ends == 0) return kStays;
    return ends <= now || ends - now <= 2 * longest_ns_ ? kMustEnd : kGoes;
}

/// Whether the store has told this worker of a newcomer that there is room for, or of one that was asked to leave.
bool Leaving::wants_regroup() const {
    const ElasticMembership *const membership = job_.elastic.membership();
    if (membership == nullptr) return false;
    const bool room = job_.replicas.worker_count() < job_.elastic.settings.max_workers;
    return (room && membership->newcomers() != 0) || membership->any_leaves();
}

Leaving::Answer Leaving::check(uint64_t timeout_ns) {
    job_.use.require_open();
    const bool elastic = job_.elastic.on();
    if (elastic) job_.require_sound();
    const std::array<uint8_t, 2> own = {own_standing(), wants_regroup()};
    uint32_t worker = own[0] == kStays ? MDIST_NONE : job_.replicas.worker(), leavers = own[0] == kStays ? 0 : 1;
    uint8_t most = own[0];
    bool regroup = own[1] != 0;
    if (Workers *const workers = job_.workers()) {
        Call call;
        call.kind = &calls::kCheckMembership;
        const Workers::Blobs all = workers->gather(call, own.data(), own.size(), job_.comm.timeout_or_own(timeout_ns));
        leavers = 0;
        for (uint32_t rank = workers->count(); rank-- > 0;) {
            const std::vector<char> &said = all[rank];
            if (said.size() != own.size() || said[0] < kStays || said[0] > kMustEnd)
                throw bad_message(rank, "bytes that do not say whether it must end");
            most = std::max(most, static_cast<uint8_t>(said[0]));
            regroup = regroup || said[1] != 0;
            if (said[0] == kStays) continue;
            worker = rank;
            ++leavers;
        }
    }
    const bool others_are_enough =
        elastic && job_.replicas.worker_count() >= leavers + std::max(1U, job_.elastic.settings.min_workers);
    if (regroup || (leavers != 0 && others_are_enough)) return {MDIST_VERDICT_REGROUP, worker};
    if (most == kMustEnd) return {MDIST_VERDICT_END, worker};
    const bool first = most == kGoes && !saved_;
    saved_ = saved_ || first;
    return {first ? MDIST_VERDICT_SAVE : MDIST_VERDICT_GO_ON, worker};
}

} // namespace mdist
