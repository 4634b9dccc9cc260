// SPDX-License-Identifier: Apache-2.0
// The devices that the configuration names. Any thread.
#pragma once

#include "cluster/devices.h"
#include "device/device.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace mdist {

class Config;

/// What applies to all GPUs of a strategy.
struct GpuSettings {
    bool blocking;
    uint64_t timeout_ns;
};
GpuSettings gpu_settings(const Config &config);
/// Whether the configuration names devices, if only by "auto".
bool names_devices(const Config &config);
/// The devices that it names: all CPUs, or all GPUs that this process has. "auto" is all visible GPUs, else one CPU.
/// Throws as open_devices() does.
std::vector<DeviceName> device_names(const Config &config);
/// Opens a GPU that device_names() may return.
std::shared_ptr<Device> open_gpu(const DeviceName &name, const GpuSettings &settings);

/// Opens one device for each local replica, all on the CPU or all on GPUs. Throws CONFIG if the two are mixed or a
/// device does not exist, and UNSUPPORTED (reason no_gpu) if GPUs are named and there are none.
std::vector<std::shared_ptr<Device>> open_devices(const Config &config);

} // namespace mdist
