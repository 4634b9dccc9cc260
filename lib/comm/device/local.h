// SPDX-License-Identifier: Apache-2.0
// Collectives of one worker's GPUs: turns the plan of a collective into work for their lanes.
//
// One kernel reduces along the canonical tree, so the bits are those of the CPU. If all GPUs reach each other, each
// does an equal share of a large reduction. Otherwise one GPU does everything, and fetches what it cannot reach. In an
// exchange each receiver copies its own data.
#pragma once

#include "comm/call/call.h"
#include "comm/device/lanes.h"

namespace mdist {

/// Gives the collective to the lanes. calls[i] belongs to local replica i; the calls are the same on all workers, and
/// checked. The lanes already wait for all parties. Throws DEVICE.
void give_to_lanes(Lanes &lanes, const Call *const *calls);

} // namespace mdist
