// SPDX-License-Identifier: Apache-2.0
#include "strategy/loss.h"

#include "comm/collectives.h"
#include "strategy/strategy.h"

namespace mdist {

uint64_t count_together(Replica &replica, uint64_t own, uint64_t timeout_ns) {
    uint64_t total = 0;
    const mdist_buffer_t input = {&own, 1, MDIST_UINT64, 0};
    const mdist_buffer_t output = {&total, 1, MDIST_UINT64, 0};
    Call call;
    call.kind = CallKind::kAverageLoss;
    call.op = MDIST_SUM;
    call.inputs = &input;
    call.outputs = &output;
    call.buffer_count = 1;
    all_reduce(replica.strategy().group(), replica.local_index(), call, timeout_ns);
    return total;
}

} // namespace mdist
