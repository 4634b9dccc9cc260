// SPDX-License-Identifier: Apache-2.0
// The functions of CUDA's driver that its runtime does not offer. libcuda is never linked: the runtime says where the
// functions are. Any thread.
#pragma once

#include "device/gpu/module.h"

#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace mdist::cuda {

struct Driver {
    int error = 0; // why the functions are missing; 0 if they are there
    PFN_cuInit_v2000 init = nullptr;
    PFN_cuDeviceGet_v2000 device_get = nullptr;
    PFN_cuDevicePrimaryCtxRetain_v7000 primary_context_retain = nullptr;
    PFN_cuCtxGetCurrent_v4000 context_get = nullptr;
    PFN_cuCtxPushCurrent_v4000 context_push = nullptr;
    PFN_cuCtxPopCurrent_v4000 context_pop = nullptr;
    PFN_cuThreadExchangeStreamCaptureMode_v10010 exchange_capture_mode = nullptr;
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

/// The functions, looked up at the first call.
const Driver &driver();

/// OnDevice: while it exists, the primary context of a device is the thread's current one. Afterwards the previous
/// context is current again, or none if there was none. It switches contexts instead of calling cudaSetDevice(),
/// because setting device 0 again would create a context there that nobody wanted.
///
/// The thread's calls also take no part in what others record. If the program records a stream of its own in CUDA's
/// default mode, calls such as cudaMalloc and cudaEventQuery would otherwise fail on all threads, and spoil that
/// recording. The library's threads make such calls at any time.
class OnDevice {
  public:
    /// `device` -1 keeps the current context; if there is none, it takes some context of this module. kOwn takes one of
    /// this module if there is one, whatever the program has made current.
    static constexpr int32_t kOwn = -2;
    explicit OnDevice(int32_t device);
    ~OnDevice();
    OnDevice(const OnDevice &) = delete;
    OnDevice &operator=(const OnDevice &) = delete;

    int error() const { return error_; }

  private:
    int error_ = 0;
    bool pushed_ = false;
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED; // after the exchange: the thread's previous mode
};

/// Returns the number of an error. If the error is one that can be forgotten, also clears it from the runtime's last
/// error. The driver uses the runtime's numbers.
int settled(int error);

/// The table's streams and events are the runtime's.
inline cudaStream_t of(mdist_gpu_stream *stream) {
    return reinterpret_cast<cudaStream_t>(stream);
}
inline cudaEvent_t of(mdist_gpu_event *event) {
    return reinterpret_cast<cudaEvent_t>(event);
}

/// Calls f() with a device current.
template <typename Function>
int on_device(int32_t device, Function f) {
    const OnDevice on(device);
    return on.error() != 0 ? on.error() : settled(static_cast<int>(f()));
}

} // namespace mdist::cuda
