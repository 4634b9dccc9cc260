// SPDX-License-Identifier: Apache-2.0
// Groups: the groups of replicas that the program has made (replica_group.h), as their job knows them. Any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace mdist {

class ReplicaGroup;
class Workers;

class Groups {
  public:
    /// The next of the groups that are in use; nullptr: no more. Begin with `at` = 0. For a step: no group is made
    /// meanwhile.
    std::shared_ptr<ReplicaGroup> next(std::size_t &at) const noexcept;
    bool any() const { return any_.load(std::memory_order_acquire); }
    void add(const std::shared_ptr<ReplicaGroup> &group);
    /// Keeps the workers of a group, longer than the group: others may still be in its last operation, and read what is
    /// theirs. Their links are closed when the job is left.
    void keep(const std::shared_ptr<Workers> &workers);
    /// Drops those of groups that are gone. Call it when all workers have met since.
    void drop_unused() noexcept;
    /// Leaves the other workers, and forgets all groups.
    void leave() noexcept;

  private:
    mutable std::mutex mutex_;
    std::vector<std::weak_ptr<ReplicaGroup>> groups_;
    std::atomic<bool> any_{false};
    std::vector<std::shared_ptr<Workers>> workers_;
};

} // namespace mdist
