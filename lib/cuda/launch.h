// SPDX-License-Identifier: Apache-2.0
// Loads and starts the kernels. The code that nvcc compiles is behind these functions; each returns an error number.
#pragma once

#include "cuda/copy_chunk.h"
#include "cuda/reduce_plan.h"
#include "cuda/squares.h"
#include "cuda/transform_chunk.h"

#include <cuda_runtime_api.h>

namespace mdist::cuda {

struct Grid {
    unsigned blocks;
    cudaStream_t stream;
};

int launch_reduce(const ReduceWay &way, const SumBatch &batch, Grid grid);
int launch_reduce(const ReduceWay &way, const AnyBatch &batch, Grid grid);
int launch_copies(const SmallCopyBatch &batch, Grid grid);
int launch_copies(const LargeCopyBatch &batch, Grid grid);
int launch_cast(int32_t to, int32_t from, const CastWork &work, Grid grid);
int launch_divide(unsigned element_size, const DivideWork &work, Grid grid);
/// The order of the sum fixes the number of blocks, so this takes no grid.
int launch_squares(int32_t dtype, const SquaresBatch &batch, cudaStream_t stream);
int launch_spin(uint64_t nanoseconds, cudaStream_t stream);

// Load the kernels into the current context. CUDA would load each at its first launch, which may wait until the GPU is
// idle. That wait has no deadline, and would never end behind a kernel that hangs. It would also spoil what a stream
// records.
int load_reductions();
int load_sums();
int load_transforms();

} // namespace mdist::cuda
