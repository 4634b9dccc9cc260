// SPDX-License-Identifier: Apache-2.0
// Parts: the moves of a plan as messages between workers, after the workers have told each other the lengths of their
// pieces.
//
// What a worker gives need not wait for that:
// - Where the workers agree directly, what it gives to each follows the header at once, if it knows it without the
// others'
//   lengths (gathers, all-to-all). The others receive it when they have all lengths, and so know where it belongs.
// - Else it goes along with its lengths, to all workers, if it is small: its inputs, or its partials of a
// reduce-scatter. What did neither is sent afterwards. Each worker decides by what all know, or by its own lengths,
// which the others see then.
#pragma once

#include "comm/workers/collective.h"

namespace mdist::workers {

/// Any collective. It must run within a reduce::FloatEnvironment.
void perform_parts(const Collective &collective);
/// The same in the plain way: nothing is sent before all lengths are known.
void perform_plan(const Collective &collective);

} // namespace mdist::workers
