// SPDX-License-Identifier: Apache-2.0
// Descriptors: every descriptor that membership has opened, so that a forked child closes its copies: with them it
// would keep the connections of a dead parent alive, and peers would wait for the heartbeat limit to learn of that.
// (It closes only; shutting down would end the parent's connections too.) A descriptor that somebody closed by himself
// is told by its file having changed. Any thread.
#pragma once

namespace mdist {

/// Lists it and returns it; a negative one is passed through. Throws bad_alloc, having closed it.
int list_descriptor(int descriptor);
/// Closes it and forgets it. A negative one: nothing.
void close_descriptor(int descriptor) noexcept;

} // namespace mdist
