// SPDX-License-Identifier: Apache-2.0
// ReservedMemory: memory of a GPU for what grows and never moves. Any thread.
#pragma once

#include "device/gpu/physical.h"
#include "device/memory_source.h"

#include <cstdint>
#include <map>
#include <mutex>

namespace mdist {

class ReservedMemory final : public MemorySource {
  public:
    explicit ReservedMemory(PhysicalGpu &gpu);

    Place place() const override { return {MDIST_DEVICE_GPU, gpu_.index()}; }
    Memory allocate(std::size_t bytes) override;
    Memory reserve(std::size_t bytes) override;
    std::size_t fair_reservation() const override;
    void commit(void *begin, std::size_t bytes) override;

  private:
    void unreserve(void *base, std::size_t bytes) noexcept;

    PhysicalGpu &gpu_;
    std::mutex mutex_;
    std::map<void *, std::size_t> committed_; // bytes, by the base of their reservation
};

} // namespace mdist
