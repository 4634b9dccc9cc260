// SPDX-License-Identifier: Apache-2.0
#include "strategy/preemption.h"

#include "comm/call/bad_message.h"
#include "comm/workers/workers.h"
#include "strategy/job/call_functions.h"

#include <mdist/preemption.h>

#include <algorithm>

namespace mdist {

void Preemption::announce() noexcept {
    uint64_t not_yet = 0;
    announced_ns_.compare_exchange_strong(not_yet, clock_.now_ns());
}

Preemption::Standing Preemption::own_standing() {
    const uint64_t now = clock_.now_ns(), announced = announced_ns_.load();
    if (last_check_ns_ != 0) longest_ns_ = std::max(longest_ns_, now - last_check_ns_);
    last_check_ns_ = now;
    if (announced == 0) return kStays;
    const uint64_t gone = now - std::min(announced, now); // a signal may arrive between the two reads
    return gone + 2 * longest_ns_ >= grace_ns_ ? kMustEnd : kGoes;
}

Preemption::Answer Preemption::check(uint64_t timeout_ns) {
    job_->use.require_open();
    const Standing own = own_standing();
    Standing most = own;
    uint32_t worker = own == kStays ? MDIST_NONE : job_->replicas.worker();
    if (Workers *const workers = job_->workers()) {
        Call call;
        call.kind = &calls::kCheckPreemption;
        const Workers::Blobs all = workers->gather(call, &own, sizeof own, job_->comm.timeout_or_own(timeout_ns));
        for (uint32_t rank = workers->count(); rank-- > 0;) {
            if (all[rank].size() != sizeof own || all[rank][0] < kStays || all[rank][0] > kMustEnd)
                throw bad_message(rank, "bytes that do not say whether it must end");
            const auto theirs = static_cast<Standing>(all[rank][0]);
            most = std::max(most, theirs);
            if (theirs != kStays) worker = rank;
        }
    }
    if (most == kMustEnd) return {MDIST_PREEMPTION_END, worker};
    const bool first = most == kGoes && !saved_;
    saved_ = saved_ || first;
    return {first ? MDIST_PREEMPTION_SAVE : MDIST_PREEMPTION_GO_ON, worker};
}

} // namespace mdist
