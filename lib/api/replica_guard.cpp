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
    if (strategy.worker_count() == 1 || strategy.group().failed()) return;
    try {
        Failure told = Failure(failure).about(function);
        if (told.operation().empty()) std::move(told).operation(function); // no assignment: it would be to itself
        strategy.group().fail(told);
    } catch (const std::exception &) {
        strategy.group().fail(failure);
    }
}

uint64_t timeout_of(const mdist_call_options_t *options) {
    const mdist_call_options_t known = read_options(options, "options");
    need_zero(known.flags, "options.flags");
    return known.timeout_ns;
}

} // namespace mdist
