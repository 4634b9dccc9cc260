// SPDX-License-Identifier: Apache-2.0
// The jobs of simulated streams on memory. They use the library's own code for the CPU, so the bits are the same.
// Addresses are checked when the job runs. Memory that belongs to no GPU is an illegal address.
#pragma once

#include "device/gpu/module.h"

#include "streams.h"

#include <cstddef>
#include <cstdint>

namespace fake_gpu {

Job copy_job(int32_t device, void *to, const void *from, std::size_t bytes);
Job fill_job(int32_t device, void *to, int32_t byte, std::size_t bytes);
Job copy_many_job(int32_t device, const mdist_gpu_stretch *stretches, std::size_t count);
Job reduce_job(int32_t device, const mdist_gpu_reduction *reductions, std::size_t count);
Job divide_job(int32_t device, int32_t dtype, void *to, uint64_t divisor, uint64_t elements);
Job squares_job(int32_t device, const mdist_gpu_squares *items, size_t count, void *room);
Job cast_job(int32_t device, int32_t to_dtype, void *to, int32_t from_dtype, const void *from, double factor,
             uint64_t elements);
Job spin_job(uint64_t microseconds);

} // namespace fake_gpu
