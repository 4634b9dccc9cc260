// SPDX-License-Identifier: Apache-2.0
// Carried bytes: a quicker way for gathers, scatters, transposes and scattered sums. Their bytes travel with the
// operation headers, so they take one trip instead of two, and each peer is written to once.
//
// - In a gather or transpose, a worker knows what it gives to each. It sends that right behind its header. The others
//   receive it when they have all lengths, and so know where it belongs.
// - In a sum to a root, the partials are the payload of the header, if they are small.
// - In a scatter or reduce-scatter, the giver must know the lengths of the others' pieces. It takes those of its last
//   call that looked the same. The bytes are the payload of the header, if they are small, with a hash of these
//   lengths. If the lengths turn out to be others, nobody uses the bytes.
// What did not go along is sent afterwards, as in the plan. Workers need not agree about what they remember: the hash
// says it.
#pragma once

#include "comm/workers/collective.h"

namespace mdist::workers {

/// Whether the call may be done this way. The same on all workers.
bool may_carry(const Collective &asked);
void perform_carrying(const Collective &asked);

} // namespace mdist::workers
