// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/replay_batches.h"

namespace mdist {

uint64_t replay_batches(Stream &upstream, uint64_t count, uint64_t batch_size, bool drop_remainder, Element &scratch) {
    uint64_t elements = 0; // as many as there can be, if there can't be so many
    if (__builtin_mul_overflow(count, batch_size, &elements)) elements = UINT64_MAX;
    const uint64_t passed = upstream.replay(elements, scratch);
    return passed / batch_size + (passed % batch_size != 0 && !drop_remainder ? 1 : 0);
}

} // namespace mdist
