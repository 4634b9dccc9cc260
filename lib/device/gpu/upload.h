// SPDX-License-Identifier: Apache-2.0
// Upload: copies host tensors to a GPU on a stream of its own, beside the replicas' work. All tensors of an element go
// through page-locked memory in one copy. One thread at a time.
#pragma once

#include "device/gpu/physical.h"
#include "device/gpu/replica_stream.h"
#include "device/tensor.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace mdist {

class Upload {
  public:
    explicit Upload(int32_t gpu) : physical_(PhysicalGpu::at(gpu)) {}
    Upload(const Upload &) = delete;
    Upload &operator=(const Upload &) = delete;

    /// Copies the tensors to the GPU. The copies share memory and are there on return. Throws DEVICE, OUT_OF_MEMORY,
    /// TIMEOUT.
    std::vector<Tensor> copies_of(const std::vector<Tensor> &tensors);

  private:
    PhysicalGpu &physical_;
    std::shared_ptr<ReplicaStream> stream_; // made when first needed
    Memory staging_;
    std::size_t staging_bytes_ = 0;
};

} // namespace mdist
