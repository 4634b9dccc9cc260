// SPDX-License-Identifier: Apache-2.0
#include "strategy/job/elastic_devices.h"

#include <algorithm>

namespace mdist {

ElasticDevices::ElasticDevices(const Config &config) : settings_(gpu_settings(config)) {
    if (names_devices(config)) cards_ = device_names(config);
    if (cards_.empty() || cards_[0].kind == DeviceKind::kCpu)
        cards_.clear();
    else
        first(static_cast<uint32_t>(cards_.size()));
}

/// The replicas of a card are its logical devices.
std::shared_ptr<Device> ElasticDevices::make(uint32_t local) const {
    if (cards_.empty()) return make_cpu_device(static_cast<int32_t>(local));
    const int32_t index = cards_[local % cards_.size()].index;
    const auto before =
        std::count_if(made_.begin(), made_.end(), [&](const auto &device) { return device->index() == index; });
    return open_gpu({DeviceKind::kGpu, index, static_cast<int32_t>(before)}, settings_);
}

std::vector<std::shared_ptr<Device>> ElasticDevices::first(uint32_t count) {
    while (made_.size() < count) made_.push_back(make(static_cast<uint32_t>(made_.size())));
    return {made_.begin(), made_.begin() + count};
}

} // namespace mdist
