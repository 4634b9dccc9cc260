// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/physical.h"

#include "device/gpu/loader.h"
#include "device/gpu/overdue.h"
#include "device/gpu/owned_ranges.h"
#include "device/gpu/reserved_memory.h"
#include "device/gpu/retired.h"
#include "util/process_wide.h"
#include "util/text.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mdist {
namespace {

/// nullptr until a GPU is used: before that no address belongs to a GPU.
std::atomic<const mdist_gpu_api *> api_in_use{nullptr};

mdist_gpu_info info_of(const mdist_gpu_api &api, int32_t index) {
    mdist_gpu_info info = {};
    const int error = api.device_info(index, &info);
    if (error == 0) return info;
    throw gpu_failure(api, error, text("gpu:", index, ": reading its properties"));
}

} // namespace

PhysicalGpu &PhysicalGpu::at(int32_t index) {
    static std::mutex mutex;
    static auto &made = *new std::vector<PhysicalGpu *>(); // never destroyed
    const mdist_gpu_api &api = gpu_api(text("gpu:", index));
    const int32_t count = gpu_support().count;
    if (index < 0 || index >= count)
        throw invalid(text("gpu:", index, ": this process has ", count, count == 1 ? " GPU, gpu:0" : " GPUs, gpu:0 to ",
                           count == 1 ? std::string() : text("gpu:", count - 1)));
    const std::lock_guard lock(mutex);
    made.resize(static_cast<std::size_t>(count));
    PhysicalGpu *&gpu = made[static_cast<std::size_t>(index)];
    if (gpu == nullptr) gpu = new PhysicalGpu(index, api, info_of(api, index));
    api_in_use = &api;
    return *gpu;
}

PhysicalGpu::PhysicalGpu(int32_t index, const mdist_gpu_api &api, const mdist_gpu_info &info)
    : GpuCard(index, api, info),
      pool_(*this),
      immediate_(*this),
      source_(std::make_shared<ReservedMemory>(*this, pool_, immediate_)) {}

Memory PhysicalGpu::allocate(std::size_t bytes, std::shared_ptr<ReplicaStream> stream) {
    return pool_.allocate(bytes, std::move(stream));
}

bool gpus_used() {
    return api_in_use.load(std::memory_order_acquire) != nullptr;
}

Place place_of(const void *address, int32_t asking) {
    const mdist_gpu_api *const api = api_in_use.load(std::memory_order_acquire);
    if (api == nullptr || address == nullptr) return {};
    if (const std::optional<int32_t> own = process_wide<OwnedRanges>().find(address)) return {MDIST_DEVICE_GPU, *own};
    int32_t kind = MDIST_GPU_MEMORY_HOST;
    int32_t device = -1;
    if (const int error = api->memory_kind(address, &kind, &device))
        throw gpu_failure(*api, error, "asking CUDA where an address lies");
    if (kind != MDIST_GPU_MEMORY_DEVICE && kind != MDIST_GPU_MEMORY_MANAGED) return {};
    return {MDIST_DEVICE_GPU, device < 0 ? asking : device};
}

void copy_between(void *to, const Place &to_place, const void *from, const Place &from_place, std::size_t bytes) {
    if (bytes == 0) return;
    if (to_place.on_host() && from_place.on_host())
        std::memcpy(to, from, bytes);
    else
        PhysicalGpu::at(to_place.on_host() ? from_place.index : to_place.index).copy_now(to, from, bytes);
}

Memory allocate_pinned(std::size_t bytes) {
    if (gpu_support().count == 0) return host()->allocate(bytes);
    const mdist_gpu_api &api = gpu_api("page-locked memory");
    auto &retired = process_wide<RetiredQueue>(); // its thread waits for all GPUs
    void *memory = nullptr;
    const int error = api.allocate_pinned(bytes == 0 ? 1 : bytes, &memory);
    if (error != 0) throw gpu_failure(api, error, text("page-locking ", bytes, " bytes of the host"));
    return Memory(memory, [&api, &retired](void *begin) {
        if (!keeps_memory()) retired.retire([&api, begin] { api.release_pinned(begin); });
    });
}

} // namespace mdist
