// SPDX-License-Identifier: Apache-2.0
// Memory that programs have until mdist_free. Any thread.
#pragma once

#include "device/device.h"

namespace mdist {

/// Its address, for the program.
void *give_out(Memory memory);

} // namespace mdist
