// SPDX-License-Identifier: Apache-2.0
// PhysicalGpu: one GPU with its memory, shared by all strategies of the process.
//
// There is one object per GPU. It is made when first asked for and never destroyed, because memory may be given back as
// late as the end of the program. Any thread.
#pragma once

#include "device/gpu/card.h"
#include "device/gpu/immediate.h"
#include "device/gpu/pool.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace mdist {

class PhysicalGpu : public GpuCard {
  public:
    /// The object of a GPU. Throws UNSUPPORTED (no_gpu) if there are no GPUs, INVALID_ARGUMENT if the number is too
    /// large.
    static PhysicalGpu &at(int32_t index);

    /// Allocates memory, 256-byte aligned. When it is given back, it is kept for the next caller that asks for about as
    /// much. With a stream, it may be given back while that stream will still use it; without one, only when nobody
    /// uses it. Throws OUT_OF_MEMORY.
    Memory allocate(std::size_t bytes, std::shared_ptr<ReplicaStream> stream = nullptr);
    /// A source of memory that grows and never moves. New memory is zero.
    const std::shared_ptr<MemorySource> &memory_source() const { return source_; }

    // These are documented in ImmediateWork:
    uint64_t patience() const { return immediate_.patience(); }
    void be_patient(uint64_t timeout_ns) { immediate_.be_patient(timeout_ns); }
    void copy_now(void *to, const void *from, std::size_t bytes) { immediate_.copy(to, from, bytes); }
    void zero_now(void *data, std::size_t bytes) { immediate_.zero(data, bytes); }

  private:
    PhysicalGpu(int32_t index, const mdist_gpu_api &api, const mdist_gpu_info &info);
    ~PhysicalGpu() = default;

    GpuPool pool_;
    ImmediateWork immediate_;
    std::shared_ptr<MemorySource> source_;
};

/// Where an address lies: on the host (page-locked memory too), or on which GPU. Cheap for the library's own memory.
/// The host if no GPU has been used. Throws if CUDA cannot tell. Memory of no particular GPU counts as GPU `asking`'s;
/// only a simulated GPU has such memory.
Place place_of(const void *address, int32_t asking = 0);
/// Whether a GPU has been used.
bool gpus_used();

/// Copies between any two memories; done on return. It waits for no stream: wait before for any work that uses them.
void copy_between(void *to, const Place &to_place, const void *from, const Place &from_place, std::size_t bytes);

/// Allocates page-locked host memory, which GPUs copy at full speed. Ordinary memory if there are no GPUs.
Memory allocate_pinned(std::size_t bytes);

} // namespace mdist
