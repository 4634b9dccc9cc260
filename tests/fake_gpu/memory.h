// SPDX-License-Identifier: Apache-2.0
// Memory of the fake's GPUs. Guarded, each block has two addresses: the one it is known by, where nobody may touch
// anything, and one behind it, where the fake does; so a host that touches memory of a GPU crashes on the spot, and a
// kernel that leaves its block is found out by its numbers. Open, they are one, and whatever is not known counts as
// memory of the GPU that is given it. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fake_gpu {

constexpr std::size_t kGranularity = std::size_t{2} << 20;

int allocate(int32_t device, std::size_t bytes, void **memory);
/// The caller has waited for the streams.
int release(int32_t device, void *memory);
int reserve(int32_t device, std::size_t bytes, void **base);
int commit(int32_t device, void *begin, std::size_t bytes);
int unreserve(int32_t device, void *base, std::size_t bytes, std::size_t committed);
int allocate_pinned(std::size_t bytes, void **memory);
int release_pinned(void *memory);
int memory_kind(const void *address, int32_t *kind, int32_t *device);
int memory_info(int32_t device, uint64_t *free_bytes, uint64_t *total_bytes);

/// Where a kernel of a GPU touches memory: its own, another's that it reaches, or page-locked. Null for any other.
char *for_kernel(int32_t device, const void *address, std::size_t bytes);
/// The same for copies: between GPUs that don't reach each other, and with any memory of the host.
char *for_copy(const void *address, std::size_t bytes);

struct LiveMemory {
    uint64_t blocks, reservations, pinned, bytes;
};
LiveMemory live_memory();

} // namespace fake_gpu
