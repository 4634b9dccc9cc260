// SPDX-License-Identifier: Apache-2.0
// Memory that the program owns until mdist_free. Any thread.
#pragma once

#include "device/device.h"

namespace mdist {

/// Keeps the memory for the program, and returns its address.
void *give_out(Memory memory);

} // namespace mdist
