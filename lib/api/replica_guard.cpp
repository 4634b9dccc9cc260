// SPDX-License-Identifier: Apache-2.0
#include "api/replica_guard.h"

#include "comm/device/gpu_group.h"
#include "device/transfer.h"
#include "util/text.h"

#include <cstddef>

namespace mdist {

void note_failure(Replica &replica, const char *function, const Failure &failure, bool together) noexcept {
    try {
        replica.last_failure = text(function, ": ", failure.message());
    } catch (const std::bad_alloc &) {
        // The words are a help; the failure itself goes on without them.
    }
    if (together) release_failure(replica.strategy().group(), function, replica.id(), failure);
}

void tell_workers(Strategy &strategy, const char *function, const Failure &failure) noexcept {
    if (strategy.span().workers > 1) strategy.fail_workers(function, failure);
}

namespace {

/// Completed and checked.
mdist_call_options_t known_options(const mdist_call_options_t *options, bool nccl = false) {
    constexpr size_t kFirstSize = offsetof(mdist_call_options_t, bytes_per_pack);
    const mdist_call_options_t known = read_options(options, "options", kFirstSize);
    need_zero(known.flags, "options.flags");
    need_zero(known.reserved, "options.reserved");
    if (known.bytes_per_pack < 0)
        throw invalid(text("options.bytes_per_pack is ", known.bytes_per_pack,
                           "; it must be a number of bytes, or 0 for the strategy's packs"));
    if (known.implementation < MDIST_IMPLEMENTATION_AUTO || known.implementation > MDIST_IMPLEMENTATION_NCCL)
        throw invalid(text("options.implementation is ", known.implementation,
                           "; take MDIST_IMPLEMENTATION_AUTO (0), _RING (1) or _NCCL (2)"));
    if (known.implementation == MDIST_IMPLEMENTATION_NCCL && !nccl)
        throw Failure(MDIST_ERR_UNSUPPORTED,
                      "options.implementation is MDIST_IMPLEMENTATION_NCCL (2), and this strategy does not use NCCL, "
                      "which is for collectives of replicas with a GPU each; take MDIST_IMPLEMENTATION_AUTO (0)")
            .reason("no_nccl");
    return known;
}

bool uses_nccl(const Strategy &strategy) {
    return strategy.gpus() != nullptr && strategy.gpus()->uses_nccl();
}

} // namespace

uint64_t timeout_of(const mdist_call_options_t *options) {
    return options == nullptr ? 0 : known_options(options).timeout_ns;
}

uint64_t timeout_of(const Strategy &strategy, const mdist_call_options_t *options) {
    if (options == nullptr) return 0;
    const mdist_call_options_t known = known_options(options, uses_nccl(strategy));
    if (known.implementation == MDIST_IMPLEMENTATION_RING && uses_nccl(strategy))
        throw Failure(MDIST_ERR_UNSUPPORTED,
                      "options.implementation is MDIST_IMPLEMENTATION_RING (1), and the collectives of this strategy's "
                      "GPUs are NCCL's; the key communication.implementation says ring for all of them");
    return known.timeout_ns;
}

Packing packing_of(const Strategy &strategy, const mdist_call_options_t *options) {
    const uint64_t bytes =
        options == nullptr ? 0 : static_cast<uint64_t>(known_options(options, uses_nccl(strategy)).bytes_per_pack);
    return bytes == 0 ? strategy.packing() : Packing{bytes, 1};
}

void need_no_packs(const mdist_call_options_t *options) {
    if (options == nullptr || known_options(options, true).bytes_per_pack == 0) return;
    throw Failure(MDIST_ERR_UNSUPPORTED, text("options.bytes_per_pack is ", options->bytes_per_pack,
                                              ", and what is started is one operation; start one for each pack"));
}

void need_reachable(const Replica &replica, const Call &call) {
    if (replica.strategy().gpus() != nullptr) return; // there it is part of the call
    for (std::size_t b = 0; b < call.buffer_count; ++b)
        for (const mdist_buffer_t *const each : {&call.inputs[b], &call.outputs[b]})
            if (const int32_t gpu = gpu_of(each->data); gpu >= 0)
                throw invalid(text("buffer ", b, " lies on gpu:", gpu, ", and replica ", replica.id(),
                                   " is on the CPU; give it memory of the host, or the strategy GPUs (key `devices`)"));
}

} // namespace mdist
