// SPDX-License-Identifier: Apache-2.0
#include "api/replica_guard.h"

#include "comm/device/gpu_group.h"
#include "strategy/job/release.h"
#include "util/callback.h"
#include "util/text.h"

#include <cstddef>

namespace mdist {

void note_failure(Replica &replica, const char *function, const Failure &failure, Others others) {
    try {
        replica.last_failure.note(failed_call_text(function, failure));
    } catch (const std::bad_alloc &) {
        // The sentence only helps; the failure is reported without it.
    }
    // The statuses of what a call refuses before it does anything come first. Where all replicas were in one
    // collective, its failure has ended the group.
    if (others == Others::kMeet && failure.status() >= MDIST_ERR_UNSUPPORTED && replica.job().comm.group().ready())
        release_refusal(replica, function, failure);
    else if (others != Others::kAway)
        release_failure(replica.job().comm.group(), function, replica.id(), failure);
}

void tell_workers(Job &job, const char *function, const Failure &failure) noexcept {
    if (job.reach.view().workers > 1) job.comm.fail_workers(function, failure);
}

void tell_workers(Job &job, const char *function, const Failure &failure, uint64_t entered) noexcept {
    if (job.reach.view().workers > 1 && job.comm.operations_entered() == entered &&
        job.comm.all_refuse(function, failure))
        return;
    tell_workers(job, function, failure);
}

namespace {

/// Completes and checks the options.
mdist_call_options_t known_options(const mdist_call_options_t *options, bool nccl = false) {
    constexpr size_t kFirstSize = offsetof(mdist_call_options_t, bytes_per_pack);
    const mdist_call_options_t known = read_options(options, "options", kFirstSize);
    need_zero(known.flags, "options.flags");
    need_zero(known.reserved, "options.reserved");
    if (known.bytes_per_pack < 0)
        throw invalid(text("options.bytes_per_pack is ", known.bytes_per_pack,
                           "; it must be a number of bytes, or 0 for the strategy's setting"));
    if (known.implementation < MDIST_IMPLEMENTATION_AUTO || known.implementation > MDIST_IMPLEMENTATION_NCCL)
        throw invalid(text("options.implementation is ", known.implementation,
                           "; use MDIST_IMPLEMENTATION_AUTO (0), _RING (1) or _NCCL (2)"));
    if (known.implementation == MDIST_IMPLEMENTATION_NCCL && !nccl)
        throw Failure(MDIST_ERR_UNSUPPORTED,
                      "options.implementation is MDIST_IMPLEMENTATION_NCCL (2), but this strategy does not use NCCL. "
                      "NCCL needs a GPU for each replica. Use MDIST_IMPLEMENTATION_AUTO (0)")
            .reason("no_nccl");
    return known;
}

bool uses_nccl(const Job &job) {
    return job.comm.gpus() != nullptr && job.comm.gpus()->uses_nccl();
}

} // namespace

void need_no_group(const mdist_call_options_t *options) {
    if (options == nullptr || known_options(options, true).group == nullptr) return;
    throw Failure(MDIST_ERR_UNSUPPORTED,
                  "options.group is set, but this function is for all replicas. Only the "
                  "collectives of a step take a group. Set it to NULL")
        .reason("no_group");
}

void need_no_group_in_message(const mdist_call_options_t *options) {
    if (options == nullptr || known_options(options, true).group == nullptr) return;
    throw Failure(MDIST_ERR_UNSUPPORTED,
                  "options.group is set, but a message belongs to no group: its two replicas are named by their ids in "
                  "the job, members of a group or not. Set it to NULL")
        .reason("no_group");
}

uint64_t timeout_of(const mdist_call_options_t *options, bool takes_group) {
    if (options == nullptr) return 0;
    if (!takes_group) need_no_group(options);
    return known_options(options).timeout_ns;
}

uint64_t timeout_of(const Job &job, const mdist_call_options_t *options) {
    if (options == nullptr) return 0;
    const mdist_call_options_t known = known_options(options, uses_nccl(job));
    if (known.implementation == MDIST_IMPLEMENTATION_RING && known.group == nullptr && uses_nccl(job))
        throw Failure(MDIST_ERR_UNSUPPORTED,
                      "options.implementation is MDIST_IMPLEMENTATION_RING (1), but this strategy's collectives use "
                      "NCCL. To use ring for all of them, set the key communication.implementation to ring");
    return known.timeout_ns;
}

Packing packing_of(const Job &job, const mdist_call_options_t *options) {
    const uint64_t bytes =
        options == nullptr ? 0 : static_cast<uint64_t>(known_options(options, uses_nccl(job)).bytes_per_pack);
    return bytes == 0 ? job.comm.packing : Packing{bytes, 1};
}

void need_no_packs(const mdist_call_options_t *options) {
    if (options == nullptr || known_options(options, true).bytes_per_pack == 0) return;
    throw Failure(
        MDIST_ERR_UNSUPPORTED,
        text("options.bytes_per_pack is ", options->bytes_per_pack,
             ", but a started operation is never split into packs. Set it to 0, or start one operation per pack"));
}

} // namespace mdist
