// SPDX-License-Identifier: Apache-2.0
// GPU memory, and page-locked host memory.
//
// Reserved memory is given back when nothing uses it any more. cuMemUnmap does not wait for that. cudaDeviceSynchronize
// does, but it fails while any thread records a stream of the device, and spoils that recording, whatever its mode
// ("it is invalid to synchronize a broader handle which encompasses an active stream capture"). cudaFree waits, too,
// and is allowed then. So each reservation has a small block of its own, and freeing that is the wait.
#include "cuda/driver.h"
#include "cuda/tables.h"

#include <exception>
#include <map>
#include <mutex>

namespace mdist::cuda {
namespace {

CUdeviceptr pointer(const void *address) {
    return reinterpret_cast<CUdeviceptr>(address);
}

CUmemAllocationProp memory_of(int32_t device) {
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    return properties;
}

int allocate(int32_t device, std::size_t bytes, void **memory) {
    *memory = nullptr;
    return on_device(device, [&] { return cudaMalloc(memory, bytes); });
}

int release(int32_t device, void *memory) {
    return on_device(device, [&] { return cudaFree(memory); });
}

int reservation_granularity(int32_t device, std::size_t *bytes) {
    const CUmemAllocationProp properties = memory_of(device);
    return on_device(device,
                     [&] { return driver().granularity(bytes, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM); });
}

/// The blocks of the reservations, by their base. Never destroyed: memory may be given back at the very end.
class Blocks {
  public:
    bool add(CUdeviceptr base, void *block) noexcept {
        try {
            const std::lock_guard lock(mutex_);
            blocks_[base] = block;
            return true;
        } catch (const std::exception &) {
            return false;
        }
    }
    /// Returns the block once; nullptr afterwards.
    void *take(CUdeviceptr base) noexcept {
        const std::lock_guard lock(mutex_);
        const auto found = blocks_.find(base);
        if (found == blocks_.end()) return nullptr;
        void *const block = found->second;
        blocks_.erase(found);
        return block;
    }

  private:
    std::mutex mutex_;
    std::map<CUdeviceptr, void *> blocks_;
};
Blocks &blocks() {
    static Blocks &once = *new Blocks;
    return once;
}

int reserve_with_block(std::size_t bytes, CUdeviceptr &base) {
    void *block = nullptr;
    int error = cudaMalloc(&block, 1);
    if (error != 0) return error;
    CUdeviceptr begin = 0;
    error = driver().address_reserve(&begin, bytes, 0, 0, 0);
    if (error == 0 && !blocks().add(begin, block)) {
        driver().address_free(begin, bytes);
        error = cudaErrorMemoryAllocation;
    }
    if (error == 0)
        base = begin;
    else
        cudaFree(block);
    return error;
}

int reserve(int32_t device, std::size_t bytes, void **base) {
    CUdeviceptr begin = 0;
    const int error = on_device(device, [&] { return reserve_with_block(bytes, begin); });
    *base = reinterpret_cast<void *>(begin);
    return error;
}

/// Lets the device itself, and all other devices that can, read and write mapped memory.
int give_access(int32_t device, CUdeviceptr begin, std::size_t bytes) {
    int count = 0;
    int error = cudaGetDeviceCount(&count);
    for (int32_t other = 0; other < count && error == 0; ++other) {
        int can = other == device;
        if (other != device) error = cudaDeviceCanAccessPeer(&can, other, device);
        if (error != 0 || can == 0) continue;
        const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, other}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
        error = driver().set_access(begin, bytes, &access, 1);
    }
    return error;
}

int map_new_memory(int32_t device, CUdeviceptr begin, std::size_t bytes) {
    const CUmemAllocationProp properties = memory_of(device);
    CUmemGenericAllocationHandle handle = 0;
    int error = driver().create(&handle, bytes, &properties, 0);
    if (error != 0) return error;
    error = driver().map(begin, bytes, 0, handle, 0);
    driver().release(handle); // mapped memory stays
    if (error != 0) return error;
    error = give_access(device, begin, bytes);
    if (error != 0) driver().unmap(begin, bytes);
    return error;
}

int commit(int32_t device, void *begin, std::size_t bytes) {
    return on_device(device, [&] { return map_new_memory(device, pointer(begin), bytes); });
}

int unreserve(int32_t device, void *base, std::size_t bytes, std::size_t committed) {
    return on_device(device, [&]() -> int {
        int error = cudaFree(blocks().take(pointer(base)));
        if (error == 0 && committed != 0) error = driver().unmap(pointer(base), committed);
        return error != 0 ? error : driver().address_free(pointer(base), bytes);
    });
}

int allocate_pinned(std::size_t bytes, void **memory) {
    *memory = nullptr;
    return on_device(-1, [&] { return cudaHostAlloc(memory, bytes, cudaHostAllocPortable); });
}

int release_pinned(void *memory) {
    return on_device(-1, [&] { return cudaFreeHost(memory); });
}

int memory_kind(const void *address, int32_t *kind, int32_t *device) {
    *kind = MDIST_GPU_MEMORY_HOST;
    *device = -1;
    const OnDevice on(OnDevice::kOwn); // the program may have destroyed what it made current
    if (on.error() != 0) return on.error();
    CUmemorytype type = {};
    int ordinal = -1;
    unsigned managed = 0;
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                    CU_POINTER_ATTRIBUTE_IS_MANAGED};
    void *found[] = {&type, &ordinal, &managed};
    const int error = driver().pointer_attributes(3, wanted, found, pointer(address));
    // If there is no context at all, no memory belongs to a GPU.
    if (error == cudaErrorDeviceUninitialized || error == cudaErrorInvalidValue) return 0;
    if (error != 0) return settled(error);
    if (managed != 0)
        *kind = MDIST_GPU_MEMORY_MANAGED;
    else if (type == CU_MEMORYTYPE_DEVICE)
        *kind = MDIST_GPU_MEMORY_DEVICE;
    else if (type == CU_MEMORYTYPE_HOST)
        *kind = MDIST_GPU_MEMORY_PINNED;
    if (*kind == MDIST_GPU_MEMORY_DEVICE || *kind == MDIST_GPU_MEMORY_MANAGED) *device = ordinal;
    return 0;
}

} // namespace

void fill_memory(mdist_gpu_api &api) {
    api.allocate = allocate;
    api.release = release;
    api.reservation_granularity = reservation_granularity;
    api.reserve = reserve;
    api.commit = commit;
    api.unreserve = unreserve;
    api.allocate_pinned = allocate_pinned;
    api.release_pinned = release_pinned;
    api.memory_kind = memory_kind;
}

} // namespace mdist::cuda
