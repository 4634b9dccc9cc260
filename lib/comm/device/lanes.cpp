// SPDX-License-Identifier: Apache-2.0
#include "comm/device/lanes.h"

#include <algorithm>
#include <utility>

namespace mdist {

Lanes::Lanes(std::vector<Gpu *> gpus) : gpus_(std::move(gpus)) {
    for (const Gpu *gpu : gpus_) {
        const auto same = [&](const auto &lane) { return &lane->gpu() == &gpu->physical(); };
        const auto lane = std::find_if(lanes_.begin(), lanes_.end(), same);
        lane_index_.push_back(static_cast<std::size_t>(lane - lanes_.begin()));
        if (lane == lanes_.end()) lanes_.push_back(std::make_unique<Lane>(gpu->physical()));
    }
}

const std::vector<Lane *> &Lanes::reducers() {
    if (!reducers_.empty()) return reducers_;
    const auto reaches_all = [&](Lane &lane) {
        return std::all_of(lanes_.begin(), lanes_.end(), [&](const auto &other) { return lane.reaches(other->gpu()); });
    };
    for (const auto &lane : lanes_)
        if (reducer_ < 0 && reaches_all(*lane)) reducers_.push_back(lane.get());
    if (reducers_.size() != lanes_.size()) reducers_ = {&lane_of(static_cast<uint32_t>(std::max(reducer_, 0)))};
    return reducers_;
}

} // namespace mdist
