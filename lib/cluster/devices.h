// SPDX-License-Identifier: Apache-2.0
// Devices: reads the list in the key `devices`. It does not look for the devices: the strategy checks whether this
// build and this host have them. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mdist {

enum class DeviceKind { kCpu, kGpu };

struct DeviceName {
    DeviceKind kind = DeviceKind::kCpu;
    std::int32_t index = 0;
    std::int32_t logical = 0; // number of a logical device of one GPU, from 0

    bool operator==(const DeviceName &) const = default;
};

inline constexpr std::size_t kMostDevices = 1024;

/// Returns one entry per replica, in order:
///   "auto"              one CPU here; the strategy takes all visible GPUs instead, if there are any
///   "cpu:0,cpu:1"       these devices
///   "cpu*4"             cpu:0 to cpu:3
///   "gpu:0*2"           two logical devices of one GPU
///   "cpu", "gpu"        number 0
///   "/device:CPU:0"     TensorFlow's form is taken too
/// Throws CONFIG, reason "bad_value", also for a device that comes twice.
std::vector<DeviceName> parse_devices(std::string_view devices);

/// Returns gpu:0 to gpu:count-1, or one CPU for count 0, as in TensorFlow. Throws as parse_devices().
std::vector<DeviceName> first_gpus(std::size_t count);

/// Returns "cpu:3", "gpu:0", or "gpu:0/1" for the second logical device of gpu:0.
std::string device_text(const DeviceName &device);

} // namespace mdist
