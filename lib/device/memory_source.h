// SPDX-License-Identifier: Apache-2.0
// MemorySource: a source of memory with a property that other memory lacks. For example, other processes can read it,
// or it lies on a GPU. Any thread.
#pragma once

#include "device/device.h"
#include "util/failure.h"

#include <cstddef>

namespace mdist {

class MemorySource {
  public:
    virtual ~MemorySource() = default;

    /// Where its memory lies. If that is not the host, no other memory can replace it.
    virtual Place place() const { return {}; }

    /// Allocates at least one byte, 64-byte aligned, filled with zeros. Throws OUT_OF_MEMORY; other memory may still be
    /// available then.
    virtual Memory allocate(std::size_t bytes) = 0;

    /// The same, but returns null where other memory has to do.
    Memory try_allocate(std::size_t bytes) {
        try {
            return allocate(bytes);
        } catch (const Failure &failure) {
            if (failure.status() != MDIST_ERR_OUT_OF_MEMORY) throw;
            return nullptr;
        }
    }

    /// Reserves address space for memory that grows and never moves. Throws OUT_OF_MEMORY.
    virtual Memory reserve(std::size_t bytes) = 0;
    /// The most that one reservation should take.
    virtual std::size_t fair_reservation() const = 0;
    /// Gives memory, filled with zeros, to a part of a reservation that has none. Throws OUT_OF_MEMORY.
    virtual void commit(void *begin, std::size_t bytes) = 0;
};

} // namespace mdist
