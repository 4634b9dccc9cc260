// SPDX-License-Identifier: Apache-2.0
// Devices: the list that the key `devices` stands for. What it names is not looked for here: whether this build and
// this host have it is the strategy's to say. Pure functions, any thread.
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
    std::int32_t logical = 0; // which of the logical devices of one GPU, from 0

    bool operator==(const DeviceName &) const = default;
};

inline constexpr std::size_t kMostDevices = 1024;

/// One entry per replica, in order. "auto" (this version: one CPU), "cpu:0,cpu:1", "cpu*4" (cpu:0 to cpu:3), "gpu:0*2"
/// (two logical devices of one GPU); "cpu" and "gpu" alone are number 0; TensorFlow's "/device:CPU:0" is taken too.
/// Throws CONFIG, reason "bad_value"; no device comes twice.
std::vector<DeviceName> parse_devices(std::string_view devices);

/// gpu:0 to gpu:count-1; the CPU for none, as in TensorFlow. Throws as parse_devices().
std::vector<DeviceName> first_gpus(std::size_t count);

/// "cpu:3", "gpu:0", "gpu:0/1" for the second logical device of gpu:0.
std::string device_text(const DeviceName &device);

} // namespace mdist
