// SPDX-License-Identifier: Apache-2.0
#include "strategy/job/check_membership.h"

#include "comm/call/bad_message.h"
#include "comm/workers/workers.h"
#include "strategy/job/call_functions.h"

#include <mdist/membership.h>

#include <algorithm>
#include <string>

namespace mdist {
namespace {

/// Whether the store has told this worker of a newcomer that there is room for, or of one that was asked to leave.
bool wants_regroup(const Job &job) {
    const ElasticMembership *const membership = job.elastic.membership();
    if (membership == nullptr) return false;
    const bool room = job.replicas.worker_count() < job.elastic.settings.max_workers;
    return (room && membership->newcomers() != 0) || membership->any_leaves();
}

/// What the workers have said, together.
struct Tally {
    uint8_t most = Leaving::kStays;
    bool regroup = false;
    uint32_t leavers = 0;
    uint32_t first_leaver = MDIST_NONE;

    void add(uint32_t rank, uint8_t standing, bool wants) {
        most = std::max(most, standing);
        regroup = regroup || wants;
        if (standing == Leaving::kStays) return;
        ++leavers;
        first_leaver = std::min(first_leaver, rank);
    }
};

Tally tally_of(Job &job, uint8_t standing, uint64_t timeout_ns) {
    const std::string own = {static_cast<char>(standing), wants_regroup(job)};
    Tally all;
    Workers *const workers = job.workers();
    if (workers == nullptr) {
        all.add(job.replicas.worker(), standing, own[1] != 0);
        return all;
    }
    Call call;
    call.kind = &calls::kCheckMembership;
    const Blobs said = workers->gather(call, own, job.comm.timeout_or_own(timeout_ns));
    for (uint32_t rank = 0; rank < workers->count(); ++rank) {
        const std::string &one = said[rank];
        if (one.size() != own.size() || one[0] < Leaving::kStays || one[0] > Leaving::kMustEnd)
            throw bad_message(rank, "bytes that do not say whether it must end");
        all.add(rank, static_cast<uint8_t>(one[0]), one[1] != 0);
    }
    return all;
}

} // namespace

MembershipAnswer check_membership(Job &job, Leaving &leaving, uint64_t timeout_ns) {
    static_assert(MDIST_NONE == UINT32_MAX);
    job.use.require_open();
    const bool elastic = job.elastic.on();
    if (elastic) job.require_sound();
    const Tally all = tally_of(job, leaving.check(), timeout_ns);
    const bool others_are_enough =
        elastic && job.replicas.worker_count() >= all.leavers + std::max(1U, job.elastic.settings.min_workers);
    if (all.regroup || (all.leavers != 0 && others_are_enough)) return {MDIST_VERDICT_REGROUP, all.first_leaver};
    if (all.most == Leaving::kMustEnd) return {MDIST_VERDICT_END, all.first_leaver};
    const bool saves = all.most == Leaving::kGoes && leaving.first_save();
    return {saves ? MDIST_VERDICT_SAVE : MDIST_VERDICT_GO_ON, all.first_leaver};
}

} // namespace mdist
