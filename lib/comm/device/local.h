// SPDX-License-Identifier: Apache-2.0
// Local: a collective of one worker's GPUs, as what their lanes have to do.
//
// Reductions go along the canonical tree in one kernel, so their bits are those of the CPU. Where all GPUs reach each
// other, each does an equal share of a large reduction; else one does all, and fetches what it cannot reach. Whoever
// receives something in an exchange copies it himself.
#pragma once

#include "comm/call.h"

namespace mdist {

class GpuGroup;

/// calls[i] is local replica i's; alike on all, and checked. The lanes wait for everybody already. Throws DEVICE.
void give_to_lanes(GpuGroup &gpus, const Call *const *calls);

} // namespace mdist
