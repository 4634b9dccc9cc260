// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include "errors.h"
#include "faults.h"
#include "options.h"
#include "streams.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace fake_gpu {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kCanary = 256; // bytes on either side of an open block; a multiple of its alignment
constexpr int kCanaryByte = 0xA5;
constexpr int kUndefinedByte = 0xCD;
constexpr std::size_t kMostMarked = std::size_t{1} << 20; // bytes of a new block that are filled
constexpr std::size_t kKept = 256;                        // released mappings whose addresses stay inaccessible

enum class Sort { kBlock, kReservation, kPinned };

struct Block {
    Sort sort;
    int32_t device;        // -1: the host
    std::size_t bytes;     // that may be accessed
    std::ptrdiff_t behind; // distance from a public address to where the memory is
    char *mapping;
    std::size_t mapped;
};

struct MemoryTable {
    std::mutex lock;
    std::map<const char *, Block> blocks; // by first address
    std::deque<std::pair<char *, std::size_t>> released;
    std::map<int32_t, std::size_t> used;
    std::multimap<const char *, int32_t> copies; // under way, by first address of page-locked memory: their GPUs
};

MemoryTable &memory_table() {
    static MemoryTable &once = *new MemoryTable;
    return once;
}

std::size_t rounded(std::size_t bytes, std::size_t to) {
    return (bytes + to - 1) / to * to;
}

bool has_room(MemoryTable &all, int32_t device, std::size_t bytes) {
    return bytes <= (options().memory_mb << 20) - all.used[device];
}

/// Returns the block that contains an address, or ends right before it.
const std::pair<const char *const, Block> *block_of(const MemoryTable &all, const void *address) {
    auto next = all.blocks.upper_bound(static_cast<const char *>(address));
    if (next == all.blocks.begin()) return nullptr;
    --next;
    const auto offset = static_cast<std::size_t>(static_cast<const char *>(address) - next->first);
    return offset <= next->second.bytes ? &*next : nullptr;
}

bool was_released(const MemoryTable &all, const void *address) {
    return std::any_of(all.released.begin(), all.released.end(),
                       [&](const auto &one) { return address >= one.first && address < one.first + one.second; });
}

char *map(std::size_t bytes) {
    void *data = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return data == MAP_FAILED ? nullptr : static_cast<char *>(data);
}

/// Maps address space for a guarded block or a reservation. None of it can be accessed yet.
bool map_block(Block &block, std::size_t bytes) {
    const std::size_t pages = rounded(bytes, kPage);
    block.mapped = options().guarded ? 2 * pages + kPage : pages;
    block.behind = options().guarded ? static_cast<std::ptrdiff_t>(pages + kPage) : 0;
    block.mapping = map(block.mapped);
    return block.mapping != nullptr;
}

void mark_undefined(char *data, std::size_t bytes) {
    std::memset(data, kUndefinedByte, std::min(bytes, kMostMarked));
}

/// Keeps the block's addresses inaccessible for a while, so that a later use of one crashes.
void retire(MemoryTable &all, const Block &block) {
    mmap(block.mapping, block.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    all.released.emplace_back(block.mapping, block.mapped);
    if (all.released.size() <= kKept) return;
    munmap(all.released.front().first, all.released.front().second);
    all.released.pop_front();
}

/// Allocates from the heap, with canaries. So the sanitizers know the block, too.
char *open_block(Block &block, std::size_t bytes) {
    block.mapped = rounded(bytes, kCanary) + 2 * kCanary;
    block.mapping = static_cast<char *>(std::aligned_alloc(kCanary, block.mapped));
    if (block.mapping == nullptr) return nullptr;
    std::memset(block.mapping, kCanaryByte, kCanary);
    std::memset(block.mapping + kCanary + bytes, kCanaryByte, block.mapped - kCanary - bytes);
    return block.mapping + kCanary;
}

bool canaries_live(const Block &block) {
    const auto fine = [](char byte) { return static_cast<unsigned char>(byte) == kCanaryByte; };
    return std::all_of(block.mapping, block.mapping + kCanary, fine) &&
           std::all_of(block.mapping + kCanary + block.bytes, block.mapping + block.mapped, fine);
}

char *make_block(Block &block, std::size_t bytes) {
    block.bytes = bytes;
    if (block.sort == Sort::kPinned || !options().guarded) return open_block(block, bytes);
    if (!map_block(block, bytes)) return nullptr;
    mprotect(block.mapping + block.behind, rounded(bytes, kPage), PROT_READ | PROT_WRITE);
    return block.mapping;
}

int add_block(Sort sort, int32_t device, std::size_t bytes, void **memory) {
    *memory = nullptr;
    if (bytes == 0) return kOk;
    MemoryTable &all = memory_table();
    const std::lock_guard guard(all.lock);
    if (device >= 0 && !has_room(all, device, bytes)) return kOutOfMemory;
    Block block{sort, device, 0, 0, nullptr, 0};
    char *begin = make_block(block, bytes);
    if (begin == nullptr) return kOutOfMemory;
    mark_undefined(begin + block.behind, bytes);
    all.blocks.emplace(begin, block);
    all.used[device] += bytes;
    *memory = begin;
    return kOk;
}

int remove_block(Sort sort, int32_t device, void *memory) {
    if (memory == nullptr) return kOk;
    MemoryTable &all = memory_table();
    const std::lock_guard guard(all.lock);
    const auto found = all.blocks.find(static_cast<const char *>(memory));
    if (found == all.blocks.end() || found->second.sort != sort || found->second.device != device) {
        note_problem("released what is no such memory, or twice");
        return kInvalidValue;
    }
    const Block block = found->second;
    all.blocks.erase(found);
    all.used[device] -= block.bytes;
    if (sort == Sort::kBlock && options().guarded) return retire(all, block), kOk;
    if (!canaries_live(block)) note_problem("bytes beside a block of " + std::to_string(block.bytes) + " were written");
    std::memset(block.mapping, kUndefinedByte, block.mapped);
    std::free(block.mapping);
    return kOk;
}

constexpr int32_t kDevices = 64;
std::atomic<bool> let[kDevices][kDevices];

bool may_reach(int32_t device, const Block &block) {
    const bool near = device / options().island == block.device / options().island;
    return near && (block.sort == Sort::kReservation || let[device % kDevices][block.device % kDevices]);
}

char *resolve(const void *address, std::size_t bytes, int32_t device, bool kernel) {
    MemoryTable &all = memory_table();
    const std::lock_guard guard(all.lock);
    const auto *found = block_of(all, address);
    char *plain = const_cast<char *>(static_cast<const char *>(address));
    if (found == nullptr) {
        const bool known_bad = address == nullptr || was_released(all, address);
        return known_bad || (kernel && options().guarded) ? nullptr : plain;
    }
    const auto &[begin, block] = *found;
    if (bytes > block.bytes - static_cast<std::size_t>(plain - begin)) return nullptr;
    if (kernel && block.device >= 0 && block.device != device && !may_reach(device, block)) return nullptr;
    return plain + block.behind;
}

} // namespace

void let_reach(int32_t device, int32_t other) {
    let[device % kDevices][other % kDevices] = true;
}

int allocate(int32_t device, std::size_t bytes, void **memory) {
    return add_block(Sort::kBlock, device, bytes, memory);
}
int release(int32_t device, void *memory) {
    return remove_block(Sort::kBlock, device, memory);
}
int allocate_pinned(std::size_t bytes, void **memory) {
    return add_block(Sort::kPinned, -1, bytes, memory);
}
int release_pinned(void *memory) {
    return remove_block(Sort::kPinned, -1, memory);
}

int reserve(int32_t device, std::size_t bytes, void **base) {
    *base = nullptr;
    if (bytes == 0 || bytes % kGranularity != 0) return kInvalidValue;
    MemoryTable &all = memory_table();
    const std::lock_guard guard(all.lock);
    Block block{Sort::kReservation, device, 0, 0, nullptr, 0};
    if (!map_block(block, bytes)) return kOutOfMemory;
    all.blocks.emplace(block.mapping, block);
    *base = block.mapping;
    return kOk;
}

int commit(int32_t device, void *begin, std::size_t bytes) {
    MemoryTable &all = memory_table();
    const std::lock_guard guard(all.lock);
    const auto *found = block_of(all, begin);
    if (found == nullptr || found->second.sort != Sort::kReservation || found->second.device != device)
        return note_problem("committed what was not reserved"), kInvalidValue;
    Block &block = all.blocks.at(found->first);
    const auto offset = static_cast<std::size_t>(static_cast<char *>(begin) - block.mapping);
    const std::size_t reserved = options().guarded ? (block.mapped - kPage) / 2 : block.mapped;
    if (offset != block.bytes || bytes % kGranularity != 0 || bytes > reserved - offset)
        return note_problem("committed memory that is not next in its reservation"), kInvalidValue;
    if (!has_room(all, device, bytes)) return kOutOfMemory;
    char *data = block.mapping + block.behind + offset;
    if (mprotect(data, bytes, PROT_READ | PROT_WRITE) != 0) return kOutOfMemory;
    mark_undefined(data, bytes);
    block.bytes += bytes;
    all.used[device] += bytes;
    return kOk;
}

int unreserve(int32_t device, void *base, std::size_t, std::size_t committed) {
    MemoryTable &all = memory_table();
    const std::lock_guard guard(all.lock);
    const auto found = all.blocks.find(static_cast<const char *>(base));
    if (found == all.blocks.end() || found->second.sort != Sort::kReservation || found->second.device != device ||
        found->second.bytes != committed)
        return note_problem("unreserved what is not reserved like that"), kInvalidValue;
    const Block block = found->second;
    all.blocks.erase(found);
    all.used[device] -= committed;
    retire(all, block);
    return kOk;
}

int memory_kind(const void *address, int32_t *kind, int32_t *device) {
    MemoryTable &all = memory_table();
    const std::lock_guard guard(all.lock);
    const auto *found = block_of(all, address);
    *device = found != nullptr && found->second.device >= 0 ? found->second.device : -1;
    if (found != nullptr) {
        *kind = found->second.sort == Sort::kPinned ? MDIST_GPU_MEMORY_PINNED : MDIST_GPU_MEMORY_DEVICE;
    } else {
        *kind = options().guarded ? MDIST_GPU_MEMORY_HOST : MDIST_GPU_MEMORY_DEVICE;
    }
    return kOk;
}

int memory_info(int32_t device, uint64_t *free_bytes, uint64_t *total_bytes) {
    MemoryTable &all = memory_table();
    const std::lock_guard guard(all.lock);
    *total_bytes = options().memory_mb << 20;
    *free_bytes = *total_bytes - all.used[device];
    return kOk;
}

char *for_kernel(int32_t device, const void *address, std::size_t bytes) {
    return resolve(address, bytes, device, true);
}
char *for_copy(const void *address, std::size_t bytes) {
    return resolve(address, bytes, -1, false);
}

std::shared_ptr<void> use_pinned(int32_t device, const void *address) {
    MemoryTable &all = memory_table();
    const std::lock_guard guard(all.lock);
    const auto *found = block_of(all, address);
    if (found == nullptr || found->second.sort != Sort::kPinned) return nullptr;
    const auto use = all.copies.emplace(found->first, device);
    return std::shared_ptr<void>(&all, [use](MemoryTable *state) {
        const std::lock_guard end(state->lock);
        state->copies.erase(use);
    });
}

void check_unused(const void *memory) {
    std::vector<int32_t> devices;
    {
        MemoryTable &all = memory_table();
        const std::lock_guard guard(all.lock);
        const auto [begin, end] = all.copies.equal_range(static_cast<const char *>(memory));
        for (auto each = begin; each != end; ++each) devices.push_back(each->second);
    }
    for (const int32_t device : devices) // the jobs of a GPU that has failed are only dropped
        if (device_error(device) == kOk) note_problem("page-locked memory was released before a copy had used it");
}

LiveMemory live_memory() {
    MemoryTable &all = memory_table();
    const std::lock_guard guard(all.lock);
    LiveMemory live{};
    for (const auto &[begin, block] : all.blocks) {
        ++(block.sort == Sort::kBlock ? live.blocks : block.sort == Sort::kPinned ? live.pinned : live.reservations);
        live.bytes += block.bytes;
    }
    return live;
}

} // namespace fake_gpu
