// SPDX-License-Identifier: Apache-2.0
// The devices of a strategy's replicas, as configured.
#pragma once

#include "device/device.h"

#include <memory>
#include <vector>

namespace mdist {

class Config;

/// One for each local replica: all on the CPU or all on GPUs. Throws CONFIG where they are mixed or do not exist,
/// UNSUPPORTED (reason no_gpu) where GPUs are named and there are none.
std::vector<std::shared_ptr<Device>> open_devices(const Config &config);

/// Waits for what all of them were given. Throws DEVICE, TIMEOUT.
void finish_all(const std::vector<std::shared_ptr<Device>> &devices);

} // namespace mdist
