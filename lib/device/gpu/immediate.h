// SPDX-License-Identifier: Apache-2.0
// ImmediateWork: work that belongs to no strategy and is done on return. It uses a stream of its own on one GPU. Any
// thread.
#pragma once

#include "device/gpu/card.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace mdist {

/// Call it before a copy on that stream. For a copy of pageable host memory CUDA may wait, without a deadline, until
/// the stream reaches the copy; so this waits first, with a deadline. Returns false if that takes longer.
bool await_copy(GpuCard &card, const void *to, const void *from, mdist_gpu_stream *stream, uint64_t timeout_ns);

/// Waits for the stream's work so far, even if it cannot be marked: its memory's owner may free the memory afterwards.
/// Throws DEVICE, or TIMEOUT if it takes longer.
void finish_on(GpuCard &card, mdist_gpu_stream *stream, uint64_t timeout_ns, const char *what);

class ImmediateWork {
  public:
    explicit ImmediateWork(GpuCard &card) : card_(card) {}

    /// How long to wait for the work: the longest time that any strategy made so far waits for its own work; 600 s if
    /// there was none.
    uint64_t patience() const;
    void be_patient(uint64_t timeout_ns);

    /// Copies between any two memories; at least one must be this GPU's. Throws DEVICE, TIMEOUT.
    void copy(void *to, const void *from, std::size_t bytes);
    void zero(void *data, std::size_t bytes);

  private:
    mdist_gpu_stream *stream();

    GpuCard &card_;
    std::atomic<uint64_t> patience_ns_{0}; // 0: not set
    std::mutex mutex_;                     // guards everything below
    mdist_gpu_stream *stream_ = nullptr;   // made when first needed
};

} // namespace mdist
