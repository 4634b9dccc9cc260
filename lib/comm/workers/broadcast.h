// SPDX-License-Identifier: Apache-2.0
// Broadcasts of one replica's buffers to all replicas of all workers.
#pragma once

#include "comm/workers/collective.h"

namespace mdist::workers {

/// Whether all bytes go along with the root's header. The same on all workers.
bool is_small_broadcast(const Collective &collective);
void broadcast_with_headers(const Collective &collective);
/// The root gives each other worker some chunks, and that passes them on.
void broadcast_in_chunks(const Collective &collective);

} // namespace mdist::workers
