// SPDX-License-Identifier: Apache-2.0
#include "comm/joint/whole.h"

#include "comm/parts.h"

namespace mdist::joint {

Whole::Whole(Workers &workers, const Call *const *calls, uint64_t timeout_ns)
    : table_(Parts::table_of(calls, workers.replicas_per_worker())),
      operation_(workers, *calls[0], table_.data(), table_.size() * sizeof(uint64_t), timeout_ns),
      parts_(operation_.blobs(), workers.replicas_per_worker(), calls[0]->buffer_count) {
    try {
        parts_.check(*calls[0]);
        for (uint32_t local = 0; local < workers.replicas_per_worker(); ++local) {
            const uint32_t replica = workers.self() * workers.replicas_per_worker() + local;
            for (std::size_t b = 0; b < calls[local]->buffer_count; ++b)
                check_place(*calls[local], replica, b, parts_.offset(replica, b));
        }
    } catch (const Failure &failure) {
        operation().fail(failure);
    }
}

} // namespace mdist::joint
