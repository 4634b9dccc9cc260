// SPDX-License-Identifier: Apache-2.0
#include "strategy/job/groups.h"

#include "comm/workers/workers.h"

namespace mdist {

std::shared_ptr<ReplicaGroup> Groups::next(std::size_t &at) const noexcept {
    const std::lock_guard lock(mutex_);
    while (at < groups_.size())
        if (std::shared_ptr<ReplicaGroup> group = groups_[at++].lock()) return group;
    return nullptr;
}

void Groups::add(const std::shared_ptr<ReplicaGroup> &group) {
    const std::lock_guard lock(mutex_);
    std::erase_if(groups_, [](const auto &each) { return each.expired(); });
    groups_.push_back(group);
    any_.store(true, std::memory_order_release);
}

void Groups::keep(const std::shared_ptr<Workers> &workers) {
    const std::lock_guard lock(mutex_);
    workers_.push_back(workers);
}

void Groups::drop_unused() noexcept {
    const std::lock_guard lock(mutex_);
    std::erase_if(workers_, [](const auto &each) { return each.use_count() == 1; });
}

void Groups::leave() noexcept {
    const std::lock_guard lock(mutex_);
    for (const auto &workers : workers_) workers->leave();
    workers_.clear();
    groups_.clear();
    any_.store(false, std::memory_order_release);
}

} // namespace mdist
