// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/reserved_memory.h"

#include "device/gpu/overdue.h"
#include "device/gpu/owned_ranges.h"
#include "util/process_wide.h"
#include "util/text.h"

#include <iterator>
#include <new>

namespace mdist {

ReservedMemory::ReservedMemory(GpuCard &card, GpuPool &pool, ImmediateWork &immediate)
    : card_(card), pool_(pool), immediate_(immediate) {}

Memory ReservedMemory::allocate(std::size_t bytes) {
    Memory memory = pool_.allocate(bytes, nullptr);
    immediate_.zero(memory.get(), bytes);
    return memory;
}

std::size_t ReservedMemory::fair_reservation() const {
    return static_cast<std::size_t>(card_.info().memory_bytes);
}

Memory ReservedMemory::reserve(std::size_t bytes) {
    std::size_t granularity = 0;
    card_.check(card_.api().reservation_granularity(card_.index(), &granularity), "asking for the size of its pages");
    if (granularity == 0 || bytes % granularity != 0)
        throw Failure(MDIST_ERR_INTERNAL,
                      text("gpu:", card_.index(), ": ", bytes,
                           " bytes of address space are not a multiple of its page size ", granularity));
    void *base = nullptr;
    card_.check(card_.api().reserve(card_.index(), bytes, &base), "reserving address space");
    try {
        const std::lock_guard lock(mutex_);
        committed_.emplace(base, 0);
        process_wide<OwnedRanges>().add(base, bytes, card_.index());
    } catch (...) {
        unreserve(base, bytes);
        throw;
    }
    return Memory(base, [this, bytes](void *begin) { unreserve(begin, bytes); });
}

void ReservedMemory::commit(void *begin, std::size_t bytes) {
    const int error = card_.ask_for_memory([&] { return card_.api().commit(card_.index(), begin, bytes); });
    card_.check(error, "giving memory to variables");
    {
        const std::lock_guard lock(mutex_);
        std::prev(committed_.upper_bound(begin))->second += bytes;
    }
    immediate_.zero(begin, bytes);
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
    if (keeps_memory()) return;
    process_wide<OwnedRanges>().remove(base);
    try {
        card_.retired().retire(
            [&card = card_, base, bytes, committed] { card.api().unreserve(card.index(), base, bytes, committed); });
    } catch (const std::bad_alloc &) {
        // As for what retire() has no memory for.
    }
}

} // namespace mdist
