// SPDX-License-Identifier: Apache-2.0
// PhysicalGpu: one card, as all strategies of the process share it: its memory, and its failures in words.
//
// There is one object for each GPU, made when first asked for and never destroyed, as memory may be given back whenever
// a program ends. Any thread.
#pragma once

#include "device/device.h"
#include "device/gpu/module.h"
#include "util/failure.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace mdist {

class Event;
class MemorySource;

class PhysicalGpu {
  public:
    /// Throws UNSUPPORTED (no_gpu) where there are none, INVALID_ARGUMENT for a number beyond those there are.
    static PhysicalGpu &at(int32_t index);

    int32_t index() const { return index_; }
    const mdist_gpu_api &api() const { return api_; }
    const mdist_gpu_info &info() const { return info_; }

    /// Kept for the next who asks for about as much when it is given back. 256-byte aligned. Throws OUT_OF_MEMORY.
    Memory allocate(std::size_t bytes);
    const std::shared_ptr<MemorySource> &memory_source();

    /// Throws what an error number of the module means, unless it is none: DEVICE with the number as native code, or
    /// OUT_OF_MEMORY. `what` says what was being done: "copying 4096 bytes to gpu:0".
    void check(int error, const char *what) const;
    Failure failure(int error, const std::string &what) const;
    /// After what no process recovers from (an illegal address): throws it again.
    void require_sound() const;

  private:
    PhysicalGpu(int32_t index, const mdist_gpu_api &api, const mdist_gpu_info &info);

    class Pool;

    const int32_t index_;
    const mdist_gpu_api &api_;
    const mdist_gpu_info info_;
    std::shared_ptr<Pool> pool_;
    std::shared_ptr<MemorySource> source_;
};

/// What an address is: of the host (page-locked too), or of which GPU. Cheap for the library's own memory. The host
/// where no module is loaded.
Place place_of(const void *address);

/// Between any two memories; done on return. Behind nothing: what a stream still has to do with them was waited for.
void copy_between(void *to, const Place &to_place, const void *from, const Place &from_place, std::size_t bytes);

/// Page-locked memory of the host, which GPUs copy from and to at full speed; ordinary memory where there are none.
Memory allocate_pinned(std::size_t bytes);

} // namespace mdist
