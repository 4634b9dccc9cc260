// SPDX-License-Identifier: Apache-2.0
// Region: memory that grows and never moves, for one device's share of something.
//
// Address space for as much as the host or GPU could ever hold is reserved at the start and given memory as it is
// needed, so what lies in it keeps its address. New memory is zero. Not thread-safe: its owner locks.
#pragma once

#include "device/memory_source.h"

#include <cstddef>
#include <memory>

namespace mdist {

class Region {
  public:
    /// Of the source's memory, if there is one and it has room or is a GPU's. Throws OUT_OF_MEMORY.
    explicit Region(std::shared_ptr<MemorySource> source = nullptr);
    ~Region();
    Region(const Region &) = delete;
    Region &operator=(const Region &) = delete;

    char *base() const { return base_; }
    /// Makes the first `bytes` usable, if they are not yet; throws OUT_OF_MEMORY and changes nothing.
    void commit(std::size_t bytes);

  private:
    bool reserve_from_source();
    void reserve();
    bool make_usable(std::size_t bytes, int &error);

    std::shared_ptr<MemorySource> source_;
    Memory reservation_; // of the source
    char *base_ = nullptr;
    std::size_t reserved_ = 0;
    std::size_t committed_ = 0;
};

} // namespace mdist
