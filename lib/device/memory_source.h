// SPDX-License-Identifier: Apache-2.0
// MemorySource: memory with a property that memory from anywhere else lacks: that other processes can read it, or that
// it lies on a GPU. Any thread.
#pragma once

#include "device/device.h"

#include <cstddef>

namespace mdist {

class MemorySource {
  public:
    virtual ~MemorySource() = default;

    /// Of its memory. What is not of the host, no other memory can stand for.
    virtual Place place() const { return {}; }

    /// At least one byte, 64-byte aligned, zero. Throws OUT_OF_MEMORY; there may be other memory then.
    virtual Memory allocate(std::size_t bytes) = 0;

    /// Address space for memory that grows and never moves; throws OUT_OF_MEMORY.
    virtual Memory reserve(std::size_t bytes) = 0;
    /// As much as one reservation should take.
    virtual std::size_t fair_reservation() const = 0;
    /// Gives memory, zero, to a part of a reservation that has none. Throws OUT_OF_MEMORY.
    virtual void commit(void *begin, std::size_t bytes) = 0;
};

} // namespace mdist
