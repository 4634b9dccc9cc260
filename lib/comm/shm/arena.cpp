// SPDX-License-Identifier: Apache-2.0
#include "comm/shm/arena.h"

#include "util/cache_line.h"
#include "util/failure.h"
#include "util/round_up.h"
#include "util/text.h"

#include <algorithm>
#include <cstring>
#include <new>

#include <fcntl.h>
#include <sys/mman.h>

namespace mdist {
namespace {

/// The unit in which memory is taken. Larger blocks have granules of their own.
constexpr std::size_t kGranule = 65536;
/// Blocks of this size or more return their memory to the system.
constexpr std::size_t kReturned = std::size_t{1} << 20;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

Failure no_memory(std::size_t bytes) {
    return {MDIST_ERR_OUT_OF_MEMORY, text("cannot allocate ", bytes, " bytes of memory that other workers can read")};
}

} // namespace

std::shared_ptr<ShmArena> ShmArena::of(const ShmMates &mates) {
    const std::size_t bytes = mates.layout().sizes().arena_bytes / kGranule * kGranule;
    if (!mates.segment() || bytes == 0) return nullptr;
    return std::shared_ptr<ShmArena>(new ShmArena(mates.segment(), mates.layout().arena(), bytes));
}

ShmArena::ShmArena(std::shared_ptr<OwnSegment> segment, std::size_t offset, std::size_t bytes)
    : segment_(std::move(segment)), offset_(offset), bytes_(bytes), free_{{0, bytes}}, backed_(bytes / kGranule) {}

Memory ShmArena::allocate(std::size_t bytes) {
    if (bytes > bytes_) throw no_memory(bytes);
    const std::size_t alignment = bytes < kGranule ? kCacheLine : kGranule;
    const std::size_t extent = round_up(std::max<std::size_t>(bytes, 1), alignment);
    const std::size_t offset = take(extent, alignment);
    Memory block = memory(offset, extent);
    if (bytes >= 2 * kHugePage) madvise(block.get(), extent, MADV_HUGEPAGE); // only a hint; most systems refuse it
    back(offset, extent);
    return block;
}

Memory ShmArena::reserve(std::size_t bytes) {
    const std::size_t extent = round_up(std::max<std::size_t>(bytes, 1), kGranule);
    {
        const std::lock_guard lock(mutex_);
        if (bytes > bytes_ || reserved_ + extent > bytes_ / 2) throw no_memory(bytes); // half is for allocate()
        reserved_ += extent;
    }
    Memory block;
    try {
        block = memory(take(extent, kGranule), extent);
    } catch (...) {
        const std::lock_guard lock(mutex_);
        reserved_ -= extent;
        throw;
    }
    return Memory(block.get(), [block, extent, self = shared_from_this()](void *) {
        const std::lock_guard lock(self->mutex_);
        self->reserved_ -= extent;
    });
}

std::size_t ShmArena::fair_reservation() const {
    return bytes_ / 32 / kGranule * kGranule;
}

void ShmArena::commit(void *begin, std::size_t bytes) {
    back(static_cast<std::size_t>(static_cast<char *>(begin) - segment_->data()) - offset_, bytes);
}

std::size_t ShmArena::free_bytes() const {
    const std::lock_guard lock(mutex_);
    std::size_t sum = 0;
    for (const auto &[offset, bytes] : free_) sum += bytes;
    return sum;
}

Memory ShmArena::memory(std::size_t offset, std::size_t bytes) {
    return Memory(segment_->data() + offset_ + offset,
                  [self = shared_from_this(), offset, bytes](void *) { self->give_back(offset, bytes); });
}

/// Takes the first free place that is large enough.
std::size_t ShmArena::take(std::size_t bytes, std::size_t alignment) {
    const std::lock_guard lock(mutex_);
    for (auto free = free_.begin(); free != free_.end(); ++free) {
        const auto [begin, size] = *free;
        const std::size_t offset = round_up(begin, alignment);
        if (offset - begin > size || size - (offset - begin) < bytes) continue;
        const std::size_t behind = begin + size - (offset + bytes);
        if (behind != 0) free_.emplace(offset + bytes, behind); // may throw, so it comes first
        if (offset != begin) free->second = offset - begin;
        if (offset == begin) free_.erase(free);
        return offset;
    }
    throw no_memory(bytes);
}

void ShmArena::give_back(std::size_t offset, std::size_t bytes) noexcept {
    // Whole granules only: a neighbour has a part of the others.
    const std::size_t first = (offset + kGranule - 1) / kGranule;
    const std::size_t end = (offset + bytes) / kGranule;
    const bool returned = bytes >= kReturned && punch(first * kGranule, (end - first) * kGranule);

    const std::lock_guard lock(mutex_);
    for (std::size_t granule = first; returned && granule < end; ++granule) backed_[granule] = false;
    auto after = free_.lower_bound(offset);
    if (after != free_.end() && after->first == offset + bytes) {
        bytes += after->second;
        after = free_.erase(after);
    }
    if (after != free_.begin() && std::prev(after)->first + std::prev(after)->second == offset) {
        std::prev(after)->second += bytes;
    } else {
        try {
            free_.emplace_hint(after, offset, bytes);
        } catch (const std::bad_alloc &) { // only address space is lost
        }
    }
}

/// Gives memory to a range that belongs to the caller, and fills it with zeros.
void ShmArena::back(std::size_t offset, std::size_t bytes) {
    const std::size_t end = offset + bytes;
    while (offset < end) {
        const std::size_t granule = offset / kGranule;
        std::size_t last = granule + 1; // end of a row of granules of the same kind
        bool backed = false;
        {
            const std::lock_guard lock(mutex_);
            backed = backed_[granule];
            while (last * kGranule < end && backed_[last] == backed) ++last;
        }
        const std::size_t until = std::min(last * kGranule, end);
        if (backed) {
            std::memset(segment_->data() + offset_ + offset, 0, until - offset);
        } else {
            populate(granule, last);
        }
        offset = until;
    }
}

/// Gives memory to granules that have none. Two threads may do so at once with one that their blocks share.
void ShmArena::populate(std::size_t granule, std::size_t end) {
    const std::size_t bytes = (end - granule) * kGranule;
    const int error = segment_->back(offset_ + granule * kGranule, bytes);
    if (error != 0) throw no_memory(bytes).native(error);
    const std::lock_guard lock(mutex_); // only now: otherwise the next use of them could be SIGBUS
    std::fill(backed_.begin() + granule, backed_.begin() + end, true);
}

bool ShmArena::punch(std::size_t offset, std::size_t bytes) noexcept {
    return fallocate(segment_->fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                     static_cast<off_t>(segment_->file_offset(offset_ + offset)), static_cast<off_t>(bytes)) == 0;
}

} // namespace mdist
