// SPDX-License-Identifier: Apache-2.0
// Memory of simulated GPUs. Any thread.
//
// Guarded: each block has two addresses. Callers know the public one, which nobody can access. So a host that touches
// GPU memory crashes at once. Kernels translate it to the other one, so they notice accesses outside of the block.
// Open: the two addresses are the same. An unknown address counts as memory of the GPU that receives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace fake_gpu {

constexpr std::size_t kGranularity = std::size_t{2} << 20;

int allocate(int32_t device, std::size_t bytes, void **memory);
/// The caller must have waited for the streams.
int release(int32_t device, void *memory);
int reserve(int32_t device, std::size_t bytes, void **base);
int commit(int32_t device, void *begin, std::size_t bytes);
int unreserve(int32_t device, void *base, std::size_t bytes, std::size_t committed);
int allocate_pinned(std::size_t bytes, void **memory);
int release_pinned(void *memory);
int memory_kind(const void *address, int32_t *kind, int32_t *device);
int memory_info(int32_t device, uint64_t *free_bytes, uint64_t *total_bytes);

/// Lets kernels of a GPU access blocks of another one from now on, as can_reach() does. Reserved memory of a GPU in
/// reach needs no such call: it is given to all of them when it is committed.
void let_reach(int32_t device, int32_t other);
/// Returns where a kernel of that GPU accesses the memory: the GPU's own, that of a GPU that it was let reach, or
/// page-locked memory. Null for any other memory.
char *for_kernel(int32_t device, const void *address, std::size_t bytes);
/// The same for copies, which may use any memory.
char *for_copy(const void *address, std::size_t bytes);

/// Marks page-locked memory as used by a copy on that GPU, for as long as what it returns exists. Null for other
/// memory.
std::shared_ptr<void> use_pinned(int32_t device, const void *address);
/// Notes a problem if page-locked memory is to be released that a copy has yet to use. Call it before waiting.
void check_unused(const void *memory);

struct LiveMemory {
    uint64_t blocks, reservations, pinned, bytes;
};
LiveMemory live_memory();

} // namespace fake_gpu
