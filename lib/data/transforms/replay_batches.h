// SPDX-License-Identifier: Apache-2.0
// Stream::replay of batches of elements.
#pragma once

#include "data/dataset.h"

namespace mdist {

/// As Stream::replay, of batches that `upstream` is cut into; which it has not been cut into so far, or ends with one.
uint64_t replay_batches(Stream &upstream, uint64_t count, uint64_t batch_size, bool drop_remainder, Element &scratch);

} // namespace mdist
