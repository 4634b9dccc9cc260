// SPDX-License-Identifier: Apache-2.0
// Implements Stream::replay for transforms that join elements into batches.
#pragma once

#include "data/dataset.h"

namespace mdist {

/// Replays `count` batches of the elements of `upstream`, as Stream::replay does. `upstream` must stand at its
/// beginning or right behind a batch.
uint64_t replay_batches(Stream &upstream, uint64_t count, uint64_t batch_size, bool drop_remainder, Element &scratch);

} // namespace mdist
