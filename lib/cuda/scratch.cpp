// SPDX-License-Identifier: Apache-2.0
// Scratch memory comes from a pool of the module's own. The device's default pool returns its memory to the driver
// whenever something was waited for, so every step would have to map it again. How much that pool keeps is the
// program's decision.
#include "cuda/scratch.h"

#include <atomic>

namespace mdist::cuda {
namespace {

constexpr int32_t kDevices = 256;
std::atomic<cudaMemPool_t> pools[kDevices]; // made when first needed, never destroyed

int make_pool(int32_t device, cudaMemPool_t &pool) {
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device;
    const int error = cudaMemPoolCreate(&pool, &properties);
    if (error != 0) return error;
    uint64_t kept = UINT64_MAX;
    return cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept);
}

int pool_of(int32_t device, cudaMemPool_t &pool) {
    if (device < 0 || device >= kDevices) return cudaErrorInvalidDevice;
    pool = pools[device].load(std::memory_order_acquire);
    if (pool != nullptr) return 0;
    int supported = 0;
    int error = cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device);
    if (error == 0 && supported == 0) error = cudaErrorNotSupported;
    if (error == 0) error = make_pool(device, pool);
    if (error != 0) return error;
    cudaMemPool_t first = nullptr;
    if (pools[device].compare_exchange_strong(first, pool, std::memory_order_acq_rel)) return 0;
    cudaMemPoolDestroy(pool); // another thread has stored its pool first
    pool = first;
    return 0;
}

} // namespace

int take_scratch(int32_t device, std::size_t bytes, cudaStream_t stream, Scratch &scratch) {
    cudaMemPool_t pool = nullptr;
    const int error = pool_of(device, pool);
    scratch.ordered = error != cudaErrorNotSupported;
    if (error != 0 && scratch.ordered) return error;
    return scratch.ordered ? cudaMallocFromPoolAsync(&scratch.data, bytes, pool, stream)
                           : cudaMalloc(&scratch.data, bytes);
}

int give_back(const Scratch &scratch, cudaStream_t stream) {
    return scratch.ordered ? cudaFreeAsync(scratch.data, stream) : cudaFree(scratch.data);
}

} // namespace mdist::cuda
