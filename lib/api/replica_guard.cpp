// SPDX-License-Identifier: Apache-2.0
#include "api/replica_guard.h"

#include "util/text.h"

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

uint64_t timeout_of(const mdist_call_options_t *options) {
    const mdist_call_options_t known = read_options(options, "options");
    need_zero(known.flags, "options.flags");
    return known.timeout_ns;
}

} // namespace mdist
