// SPDX-License-Identifier: Apache-2.0
// Region: memory that grows and never moves, for one device's share of something.
//
// It reserves address space for as much as the host or GPU could ever hold, and gives it memory as needed. So data in
// it keeps its address. New memory is zero. Not thread-safe: the owner must lock.
#pragma once

#include "device/memory_source.h"

#include <cstddef>
#include <memory>

namespace mdist {

class Region {
  public:
    /// Uses the source's memory if there is a source, and it has room or belongs to a GPU. Throws OUT_OF_MEMORY.
    explicit Region(std::shared_ptr<MemorySource> source = nullptr);
    ~Region();
    Region(const Region &) = delete;
    Region &operator=(const Region &) = delete;

    char *base() const { return base_; }
    /// Where its memory lies.
    Place place() const { return source_ ? source_->place() : Place(); }
    /// Makes the first `bytes` usable, if they are not yet. If it throws (OUT_OF_MEMORY), nothing has changed.
    void commit(std::size_t bytes);
    /// Gives the memory back to the system where it can. Addresses stay usable, and all bytes become zero. Not on GPUs.
    void clear() noexcept;

  private:
    bool reserve_from_source();
    void reserve();
    bool make_usable(std::size_t bytes, int &error);

    std::shared_ptr<MemorySource> source_;
    Memory reservation_; // from the source
    char *base_ = nullptr;
    std::size_t reserved_ = 0;
    std::size_t committed_ = 0;
};

/// Makes all bytes zero, and gives whole pages back to the system where it can. The memory stays usable. It must belong
/// to this process alone.
void clear_pages(void *data, std::size_t bytes) noexcept;

} // namespace mdist
