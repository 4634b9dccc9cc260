// SPDX-License-Identifier: Apache-2.0
// PhysicalGpu: one card, as all strategies of the process share it: its memory, and its failures in words.
//
// There is one object for each GPU, made when first asked for and never destroyed, as memory may be given back whenever
// a program ends. Any thread.
#pragma once

#include "device/device.h"
#include "device/gpu/module.h"
#include "util/failure.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mdist {

class Event;
class GpuPool;
class MemorySource;
class ReplicaStream;

class PhysicalGpu {
  public:
    /// Throws UNSUPPORTED (no_gpu) where there are none, INVALID_ARGUMENT for a number beyond those there are.
    static PhysicalGpu &at(int32_t index);

    int32_t index() const { return index_; }
    const mdist_gpu_api &api() const { return api_; }
    const mdist_gpu_info &info() const { return info_; }

    /// 256-byte aligned; kept for the next who asks for about as much when it is given back. With a stream it may be
    /// given back while that stream is still to use it, without one only when nobody is. Throws OUT_OF_MEMORY.
    Memory allocate(std::size_t bytes, std::shared_ptr<ReplicaStream> stream = nullptr);
    /// For memory that grows and never moves, and is zero when it is new.
    const std::shared_ptr<MemorySource> &memory_source() const { return source_; }

    /// How long is waited for copies that belong to no strategy: as long as the most patient one that has been made
    /// waits for its own, or 600 s.
    uint64_t patience() const;
    void be_patient(uint64_t timeout_ns);

    /// Between any two memories, of which at least one is this GPU's; done on return. Throws DEVICE, TIMEOUT.
    void copy_now(void *to, const void *from, std::size_t bytes);
    void zero_now(void *data, std::size_t bytes);

    /// Before a copy on that stream: CUDA may wait, without a deadline, until a stream comes to a copy of pageable
    /// memory of the host, so this waits first. False if that takes longer.
    bool await_copy(const void *to, const void *from, mdist_gpu_stream *stream, uint64_t timeout_ns);
    /// Until a stream has nothing to do any more; false if that takes longer. Throws what is wrong with the GPU.
    bool wait_for_stream(mdist_gpu_stream *stream, uint64_t timeout_ns, const char *what) const;

    /// Events (of no time) that are used again. By Event.
    mdist_gpu_event *take_event();
    void keep_event(mdist_gpu_event *event) noexcept;

    /// Throws what an error number of the module means, unless it is none: DEVICE with the number as native code, or
    /// OUT_OF_MEMORY. `what` says what was being done: "copying", of which the failure makes "gpu:0: copying failed:
    /// cudaErrorIllegalAddress: ...".
    void check(int error, const char *what) const {
        if (error != 0) throw failure(error, what);
    }
    Failure failure(int error, const std::string &what) const;
    /// After what no process recovers from (an illegal address, on any of its GPUs): throws it again.
    void require_sound() const;

    /// TIMEOUT, for `what` on a stream of this GPU. Until that is done, no memory is given back to CUDA, which would
    /// wait for it too.
    Failure not_done(mdist_gpu_stream *stream, const std::string &what, uint64_t timeout_ns);
    static bool keeps_memory() noexcept;

  private:
    PhysicalGpu(int32_t index, const mdist_gpu_api &api, const mdist_gpu_info &info);
    ~PhysicalGpu();

    bool is_pageable(const void *address) const;
    mdist_gpu_stream *stream_for_now();
    void wait_for_now(const char *what);

    const int32_t index_;
    const mdist_gpu_api &api_;
    const mdist_gpu_info info_;
    std::unique_ptr<GpuPool> pool_;
    std::shared_ptr<MemorySource> source_;
    std::atomic<uint64_t> patience_ns_{0};  // 0: nobody has said
    std::mutex mutex_;                      // guards what follows
    std::vector<mdist_gpu_event *> events_; // that nobody has
    mdist_gpu_stream *now_ = nullptr;       // of copy_now and zero_now; made when first needed
};

/// What an address is: of the host (page-locked too), or of which GPU. Cheap for the library's own memory. The host
/// where no GPU has been used. Memory of no GPU in particular (a fake's, where all is alike) counts as GPU `asking`'s.
Place place_of(const void *address, int32_t asking = 0);

/// Between any two memories; done on return. Behind nothing: what a stream still has to do with them was waited for.
void copy_between(void *to, const Place &to_place, const void *from, const Place &from_place, std::size_t bytes);

/// Page-locked memory of the host, which GPUs copy from and to at full speed; ordinary memory where there are none.
Memory allocate_pinned(std::size_t bytes);

} // namespace mdist
