// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/reserved_memory.h"

#include "device/gpu/owned_ranges.h"
#include "util/forever.h"
#include "util/text.h"

#include <iterator>

namespace mdist {

ReservedMemory::ReservedMemory(PhysicalGpu &gpu) : gpu_(gpu) {}

Memory ReservedMemory::allocate(std::size_t bytes) {
    Memory memory = gpu_.allocate(bytes);
    gpu_.zero_now(memory.get(), bytes);
    return memory;
}

std::size_t ReservedMemory::fair_reservation() const {
    return static_cast<std::size_t>(gpu_.info().memory_bytes);
}

Memory ReservedMemory::reserve(std::size_t bytes) {
    std::size_t granularity = 0;
    gpu_.check(gpu_.api().reservation_granularity(gpu_.index(), &granularity), "asking for the size of its pages");
    if (granularity == 0 || bytes % granularity != 0)
        throw Failure(MDIST_ERR_INTERNAL, text("gpu:", gpu_.index(), ": ", bytes,
                                               " bytes of address space are no multiple of its pages' ", granularity));
    void *base = nullptr;
    gpu_.check(gpu_.api().reserve(gpu_.index(), bytes, &base), "reserving address space");
    try {
        const std::lock_guard lock(mutex_);
        committed_.emplace(base, 0);
        forever<OwnedRanges>().add(base, bytes, gpu_.index());
    } catch (...) {
        unreserve(base, bytes);
        throw;
    }
    return Memory(base, [this, bytes](void *begin) { unreserve(begin, bytes); });
}

void ReservedMemory::commit(void *begin, std::size_t bytes) {
    gpu_.check(gpu_.api().commit(gpu_.index(), begin, bytes), "giving memory to variables");
    {
        const std::lock_guard lock(mutex_);
        std::prev(committed_.upper_bound(begin))->second += bytes;
    }
    gpu_.zero_now(begin, bytes);
}

void ReservedMemory::unreserve(void *base, std::size_t bytes) noexcept {
    std::size_t committed = 0;
    {
        const std::lock_guard lock(mutex_);
        if (const auto found = committed_.find(base); found != committed_.end()) {
            committed = found->second;
            committed_.erase(found);
        }
    }
    if (PhysicalGpu::keeps_memory()) return;
    forever<OwnedRanges>().remove(base);
    gpu_.api().unreserve(gpu_.index(), base, bytes, committed);
}

} // namespace mdist
