// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/replay_batches.h"

#include "util/sizes.h"

namespace mdist {

uint64_t replay_batches(Stream &upstream, uint64_t count, uint64_t batch_size, bool drop_remainder, Element &scratch) {
    const uint64_t passed = upstream.replay(saturated_product(count, batch_size), scratch);
    return passed / batch_size + (passed % batch_size != 0 && !drop_remainder ? 1 : 0);
}

} // namespace mdist
