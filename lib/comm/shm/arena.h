// SPDX-License-Identifier: Apache-2.0
// ShmArena: memory in this worker's segment, for buffers that its mates are to read without a copy.
//
// It lives as long as anything that it gave out. It has plenty of address space, and takes memory only when it gives
// something out. It takes the page tables then, too, so a lack of memory is an error at that point and not a signal
// later. A block that is given back is merged with its neighbours; large blocks return their memory to the system. Any
// thread.
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
    /// The arena of a segment, which has at most one. nullptr if this worker has none.
    static std::shared_ptr<ShmArena> of(const ShmMates &mates);

    Memory allocate(std::size_t bytes) override;
    Memory reserve(std::size_t bytes) override;
    std::size_t fair_reservation() const override;
    void commit(void *begin, std::size_t bytes) override;

    /// Bytes that are neither given out nor reserved.
    std::size_t free_bytes() const;

  private:
    ShmArena(std::shared_ptr<OwnSegment> segment, std::size_t offset, std::size_t bytes);

    // All offsets are relative to the arena.
    std::size_t take(std::size_t bytes, std::size_t alignment);
    void give_back(std::size_t offset, std::size_t bytes) noexcept;
    Memory memory(std::size_t offset, std::size_t bytes);
    void back(std::size_t offset, std::size_t bytes);
    void populate(std::size_t granule, std::size_t end);
    bool punch(std::size_t offset, std::size_t bytes) noexcept;

    const std::shared_ptr<OwnSegment> segment_;
    const std::size_t offset_; // of the arena in the segment
    const std::size_t bytes_;
    mutable std::mutex mutex_;
    std::map<std::size_t, std::size_t> free_; // offset -> bytes; no two touch
    std::size_t reserved_ = 0;
    std::vector<bool> backed_; // by granule: whether it has memory; its content may be anything
};

} // namespace mdist
