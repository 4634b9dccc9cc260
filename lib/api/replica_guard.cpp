// SPDX-License-Identifier: Apache-2.0
#include "api/replica_guard.h"

#include "util/text.h"

namespace mdist {

void note_failure(Replica &replica, const char *function, const Failure &failure, bool together) noexcept {
    try {
        replica.last_failure = text(function, ": ", failure.message());
        if (!together) return;
        Failure cause = failure;
        if (cause.operation().empty()) std::move(cause).operation(function);
        if (cause.replica() < 0) std::move(cause).replica(static_cast<int32_t>(replica.id()));
        replica.strategy().group().release(cause);
    } catch (const std::bad_alloc &) {
        if (together) replica.strategy().group().release(Failure(MDIST_ERR_OUT_OF_MEMORY, "out of memory"));
    }
}

uint64_t timeout_of(const mdist_call_options_t *options) {
    const mdist_call_options_t known = read_options(options, "options");
    need_zero(known.flags, "options.flags");
    return known.timeout_ns;
}

} // namespace mdist
