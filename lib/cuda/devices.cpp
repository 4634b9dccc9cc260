// SPDX-License-Identifier: Apache-2.0
// The functions that list and describe GPUs.
#include "cuda/driver.h"
#include "cuda/tables.h"

#include <atomic>
#include <cstring>

namespace mdist::cuda {
namespace {

// The first driver that takes kernels with more than 4 KB of parameters (copy_chunk.h, reduce_chunk.h). The runtime of
// a later CUDA 12 would start on an older one, and fail when the kernels are loaded.
constexpr int kOldestDriver = 12010;

int device_count(int32_t *count) {
    *count = 0;
    int found = 0;
    int version = 0;
    int error = settled(cudaGetDeviceCount(&found));
    if (error == 0) error = settled(cudaDriverGetVersion(&version));
    if (error != 0) return error;
    if (version < kOldestDriver) return cudaErrorInsufficientDriver;
    if (found == 0) return cudaErrorNoDevice;
    *count = found;
    return 0;
}

int device_info(int32_t device, mdist_gpu_info *info) {
    std::memset(info, 0, sizeof *info);
    cudaDeviceProp properties = {};
    int error = settled(cudaGetDeviceProperties(&properties, device));
    if (error != 0) return error;
    static_assert(sizeof info->name == sizeof properties.name);
    std::memcpy(info->name, properties.name, sizeof info->name);
    info->name[sizeof info->name - 1] = '\0';
    info->memory_bytes = properties.totalGlobalMem;
    info->compute_major = properties.major;
    info->compute_minor = properties.minor;
    info->multiprocessors = properties.multiProcessorCount;
    error = settled(cudaDeviceGetPCIBusId(info->bus_id, sizeof info->bus_id, device));
    if (error == 0) error = settled(cudaDriverGetVersion(&info->driver_version));
    if (error == 0) error = settled(cudaRuntimeGetVersion(&info->runtime_version));
    return error;
}

int memory_info(int32_t device, uint64_t *free_bytes, uint64_t *total_bytes) {
    std::size_t free = 0;
    std::size_t total = 0;
    const int error = on_device(device, [&] { return cudaMemGetInfo(&free, &total); });
    *free_bytes = free;
    *total_bytes = total;
    return error;
}

/// What is known about a pair of devices. Collectives ask for this again and again.
enum class Reach : uint8_t { kUnknown, kNo, kYes };
constexpr int32_t kDevices = 64;
std::atomic<Reach> known[kDevices][kDevices];

int make_reach(int32_t device, int32_t other, int32_t *can) {
    int possible = 0;
    int error = settled(cudaDeviceCanAccessPeer(&possible, device, other));
    if (error != 0 || possible == 0) return error;
    error = OnDevice(other).error(); // makes its context, which the other device's context is connected to
    if (error != 0) return error;
    error = on_device(device, [&] { return cudaDeviceEnablePeerAccess(other, 0); });
    // A device has only so many connections (eight without NVSwitch). Copies between the others still work.
    if (error == cudaErrorTooManyPeers || error == cudaErrorPeerAccessUnsupported) return 0;
    if (error != 0 && error != cudaErrorPeerAccessAlreadyEnabled) return error;
    *can = 1;
    return 0;
}

int can_reach(int32_t device, int32_t other, int32_t *can) {
    *can = device == other;
    if (device == other) return 0;
    const bool kept = device >= 0 && device < kDevices && other >= 0 && other < kDevices;
    const Reach reach = kept ? known[device][other].load(std::memory_order_acquire) : Reach::kUnknown;
    *can = reach == Reach::kYes;
    if (reach != Reach::kUnknown) return 0;
    const int error = make_reach(device, other, can);
    if (error == 0 && kept) known[device][other].store(*can ? Reach::kYes : Reach::kNo, std::memory_order_release);
    return error;
}

} // namespace

void fill_devices(mdist_gpu_api &api) {
    api.device_count = device_count;
    api.device_info = device_info;
    api.memory_info = memory_info;
    api.can_reach = can_reach;
}

} // namespace mdist::cuda
