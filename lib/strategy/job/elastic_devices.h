// SPDX-License-Identifier: Apache-2.0
// ElasticDevices: the devices of a worker of an elastic job. How many replicas the worker has changes with each
// generation; what it computes on does not.
//
// The key `devices` names its cards, and the replicas take them in turns. Without it, each replica has a CPU device.
// Local replica i has the same device in every generation. So its stream and its memory stay where they are, and work
// that an old generation has left there comes before that of the next. Needs the turn.
#pragma once

#include "cluster/devices.h"
#include "device/device.h"
#include "strategy/job/devices.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace mdist {

class Config;

class ElasticDevices {
  public:
    /// Opens each card once. Throws as open_devices() does.
    explicit ElasticDevices(const Config &config);

    mdist_device_kind_t kind() const { return cards_.empty() ? MDIST_DEVICE_CPU : MDIST_DEVICE_GPU; }
    /// The devices of local replicas 0 to count - 1. Throws DEVICE.
    std::vector<std::shared_ptr<Device>> first(uint32_t count);

  private:
    std::shared_ptr<Device> make(uint32_t local) const;

    std::vector<DeviceName> cards_; // empty: CPUs
    const GpuSettings settings_;
    std::vector<std::shared_ptr<Device>> made_;
};

} // namespace mdist
