// SPDX-License-Identifier: Apache-2.0
// ReservedMemory: memory of a GPU that grows and never moves. Any thread.
#pragma once

#include "device/gpu/card.h"
#include "device/gpu/immediate.h"
#include "device/gpu/pool.h"
#include "device/memory_source.h"

#include <map>
#include <mutex>

namespace mdist {

class ReservedMemory final : public MemorySource {
  public:
    ReservedMemory(GpuCard &card, GpuPool &pool, ImmediateWork &immediate);

    Place place() const override { return {MDIST_DEVICE_GPU, card_.index()}; }
    Memory allocate(std::size_t bytes) override;
    Memory reserve(std::size_t bytes) override;
    std::size_t fair_reservation() const override;
    void commit(void *begin, std::size_t bytes) override;

  private:
    void unreserve(void *base, std::size_t bytes) noexcept;

    GpuCard &card_;
    GpuPool &pool_;
    ImmediateWork &immediate_;
    std::mutex mutex_;
    std::map<void *, std::size_t> committed_; // bytes, by the base of the reservation
};

} // namespace mdist
