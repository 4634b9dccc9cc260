// SPDX-License-Identifier: Apache-2.0
// Replicas: who takes part in a job: the replicas of each worker, and this worker's own with their devices. An elastic
// job has new ones with each generation.
#pragma once

#include "device/device.h"
#include "reduce/spans.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace mdist {

class Replicas {
  public:
    /// Of a job of one worker.
    explicit Replicas(std::vector<std::shared_ptr<Device>> devices)
        : Replicas(Spans::even(1, static_cast<uint32_t>(devices.size())), 0, devices) {}
    Replicas(Spans spans, uint32_t worker, std::vector<std::shared_ptr<Device>> devices)
        : spans_(std::move(spans)), worker_(worker), devices_(std::move(devices)) {}

    /// Counts the replicas of all workers.
    uint32_t count() const { return spans_.replicas(); }
    uint32_t worker_count() const { return spans_.workers(); }
    /// This worker's rank.
    uint32_t worker() const { return worker_; }
    /// The replicas of each worker.
    const Spans &spans() const { return spans_; }
    const Span &span_of(uint32_t worker) const { return spans_[worker]; }
    uint32_t local_count() const { return static_cast<uint32_t>(devices_.size()); }
    /// Id of local replica 0.
    uint32_t first_id() const { return spans_[worker_].first; }

    const std::vector<std::shared_ptr<Device>> &devices() const { return devices_; }
    Device &device(uint32_t local) const { return *devices_[local]; }
    /// Waits for all work given to the local replicas' devices, so that a function of cross-replica context has
    /// finished its work when it returns. Throws DEVICE, TIMEOUT.
    void finish_devices() const {
        for (const auto &device : devices_) device->finish();
    }

  private:
    Spans spans_;
    uint32_t worker_;
    std::vector<std::shared_ptr<Device>> devices_;
};

} // namespace mdist
