// SPDX-License-Identifier: Apache-2.0
// ShmArena: memory in this worker's segment, given out to whoever wants its mates to read it without a copy.
//
// It lives as long as anything that it gave out. Address space is plenty; memory is taken when something is given out,
// page tables included, so that want of memory is an error then and not a signal later. What is given back is merged
// with its neighbours; large blocks return their memory to the system. Any thread.
#pragma once

#include "comm/shm/mates.h"
#include "device/memory_source.h"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace mdist {

class ShmArena final : public MemorySource, public std::enable_shared_from_this<ShmArena> {
  public:
    /// Nullptr where this worker has no arena. One for each segment.
    static std::shared_ptr<ShmArena> of(const ShmMates &mates);

    Memory allocate(std::size_t bytes) override;
    Memory reserve(std::size_t bytes) override;
    std::size_t fair_reservation() const override;
    void commit(void *begin, std::size_t bytes) override;

    /// Bytes that are not given out or reserved.
    std::size_t free_bytes() const;

  private:
    ShmArena(std::shared_ptr<OwnSegment> segment, std::size_t offset, std::size_t bytes);

    // All offsets are in the arena.
    std::size_t take(std::size_t bytes, std::size_t alignment);
    void give_back(std::size_t offset, std::size_t bytes) noexcept;
    Memory memory(std::size_t offset, std::size_t bytes);
    void back(std::size_t offset, std::size_t bytes);
    void populate(std::size_t offset, std::size_t bytes);
    bool punch(std::size_t offset, std::size_t bytes) noexcept;

    const std::shared_ptr<OwnSegment> segment_;
    const std::size_t offset_; // of the arena in the segment
    const std::size_t bytes_;
    mutable std::mutex mutex_;
    std::map<std::size_t, std::size_t> free_; // offset -> bytes; no two touch
    std::size_t reserved_ = 0;
    std::vector<bool> backed_; // by granule: has memory, whatever is in it
};

} // namespace mdist
