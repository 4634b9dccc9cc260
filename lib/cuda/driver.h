// SPDX-License-Identifier: Apache-2.0
// What is asked of CUDA's driver and not of its runtime. libcuda is never linked: the runtime says where functions are.
//
// Any thread.
#pragma once

#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace mdist::cuda {

struct Driver {
    int error = 0; // why the functions are not there
    PFN_cuInit_v2000 init = nullptr;
    PFN_cuDeviceGet_v2000 device_get = nullptr;
    PFN_cuDevicePrimaryCtxRetain_v7000 primary_context_retain = nullptr;
    PFN_cuCtxGetCurrent_v4000 context_get = nullptr;
    PFN_cuCtxPushCurrent_v4000 context_push = nullptr;
    PFN_cuCtxPopCurrent_v4000 context_pop = nullptr;
    PFN_cuPointerGetAttributes_v7000 pointer_attributes = nullptr;
    PFN_cuMemGetAllocationGranularity_v10020 granularity = nullptr;
    PFN_cuMemAddressReserve_v10020 address_reserve = nullptr;
    PFN_cuMemAddressFree_v10020 address_free = nullptr;
    PFN_cuMemCreate_v10020 create = nullptr;
    PFN_cuMemRelease_v10020 release = nullptr;
    PFN_cuMemMap_v10020 map = nullptr;
    PFN_cuMemUnmap_v10020 unmap = nullptr;
    PFN_cuMemSetAccess_v10020 set_access = nullptr;
};

/// Asks for the functions, the first time.
const Driver &driver();

/// While it lives, the primary context of a device is the thread's current one; afterwards the one found, even if that
/// was none. Going by contexts and not by cudaSetDevice() makes no context on a device that nobody wanted, which
/// putting device 0 back would.
class OnDevice {
  public:
    /// `device` -1: whatever is current; if nothing is, some context that there is.
    explicit OnDevice(int32_t device);
    ~OnDevice();
    OnDevice(const OnDevice &) = delete;
    OnDevice &operator=(const OnDevice &) = delete;

    int error() const { return error_; }

  private:
    int error_ = 0;
    bool pushed_ = false;
};

/// The number of an error, which leaves no trace in the runtime's last error if it is one that can be forgotten. The
/// driver's numbers are the runtime's.
int settled(int error);

/// f() on a device.
template <typename Function>
int on_device(int32_t device, Function f) {
    const OnDevice on(device);
    return on.error() != 0 ? on.error() : settled(static_cast<int>(f()));
}

} // namespace mdist::cuda
